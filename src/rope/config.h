// Everything that decides a rotation, with config.json's own keys. One flat level: readers have already resolved nesting and legacy names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"

namespace ropewalk {

// Which elements of a head turn together. Taking the other one raises no shape error and ruins the model, so there is no default.
//
//   half                  rotary_dim = 8: [c c c c s s s s]  pairs (j, j + rotary_dim/2)  NeoX, Hugging Face Llama
//   interleaved           rotary_dim = 8: [c s c s c s c s]  pairs (2j, 2j + 1)           GPT-J, Meta Llama, GGUF Llama
//   interleaved_to_half   reads interleaved, writes half                                  DeepSeek-V3 in transformers
enum class Pairing : int { half, interleaved, interleaved_to_half };

// The scaling families, one file each in plans/.
enum class RopeType : int {
  default_,
  linear,
  dynamic,
  yarn,
  longrope,
  llama3,
  proportional,
  ntk,
  ntk_mix,
  ntk_alpha,
  ntk_by_parts,
  dynamic_yarn,
  custom,
};

// Whose rules hold where transformers, llama.cpp and vLLM differ in a number.
enum class Compat : int { hf, llama_cpp, vllm };

// exact: f64, rounded once. hf: every step rounded to f32, as transformers computes.
enum class Precision : int { exact, hf };

// How NTK-by-parts and YaRN go from keeping to interpolating.
//   pair_index  one ramp over the pair index: every shipped implementation
//   rotations   one ramp over the rotations inside the window: the paper's text
//   two_ramps   from keeping to NTK-aware and on to interpolating: the YaRN authors' first NTK-by-parts, with its fixed ends
enum class Ramp : int { pair_index, rotations, two_ramps };

// How pairs are shared among position axes.
//   chunked      t…t h…h w…w            Qwen2-VL
//   interleaved  t h w t h w … t        Qwen3-VL
//   ernie        h w h w … t…t          Ernie-4.5-VL
//   vision       h…h w…w, frequencies restarting with each section: Qwen2-VL's image encoder
enum class MropeLayout : int { chunked, interleaved, ernie, vision };

// Families whose code treats YaRN's keys in a way of its own.
//   deepseek  softmax scale times g(factor, mscale_all_dim)²; llama.cpp does not read its betas
//   mistral, grok  the two whose llama.cpp loaders read the betas
enum class Family : int { other, deepseek, mistral, grok };

constexpr int kMaxHeadDim = 8192;
constexpr int kMaxAxes = 4;
// Positions are accepted on [-2^31, 2^31).
constexpr double kPositionLimit = 2147483648.0;

// Lists are views of the caller's memory, needed until make_plan or Rope::configure returns.
struct RopeConfig {
  int head_dim = 0;       // elements of a head
  int rotary_dim = 0;     // rotated elements, even; 0 means head_dim
  int rotary_offset = 0;  // first rotated element
  Pairing pairing = Pairing::half;
  RopeType rope_type = RopeType::default_;
  Compat compat = Compat::hf;
  Precision precision = Precision::exact;
  Family family = Family::other;
  double rope_theta = 10000;

  std::optional<double> factor;                            // extended over original length, >= 1
  std::optional<double> max_position_embeddings;           // positions
  std::optional<double> original_max_position_embeddings;  // positions before extension
  std::optional<double> context_length;                    // positions the system is started for
  std::optional<double> attention_factor;                  // multiplies cos and sin
  std::optional<double> attn_factor;                       // vLLM's and GGUF's multiplier on YaRN's own factor
  std::optional<double> beta_fast;                         // rotations, 32
  std::optional<double> beta_slow;                         // rotations, 1
  std::optional<double> mscale;
  std::optional<double> mscale_all_dim;
  std::optional<double> extrapolation_factor;  // multiplies the kept share, 1
  bool truncate = true;                        // round the correction range outwards
  bool finetuned = false;                      // dynamic_yarn starts at factor, not at 1
  Ramp ramp = Ramp::pair_index;
  std::optional<double> low_freq_factor;
  std::optional<double> high_freq_factor;
  std::optional<double> alpha;
  std::optional<double> mixed_b;
  std::optional<double> short_mscale;
  std::optional<double> long_mscale;
  std::optional<double> partial_rotary_factor;  // proportional: share of head_dim with a frequency
  std::optional<double> softmax_scale;          // before YaRN's share; 1/sqrt(head_dim)
  std::optional<double> xpos_scale_base;        // positions a power of zeta; absent: no xPos
  double xpos_center = 0;
  std::optional<double> query_temperature_scale;  // absent: no temperature
  double query_temperature_floor_scale = 1;
  double query_temperature_offset = 0;

  std::span<const double> short_factor;   // [rotary_dim/2]
  std::span<const double> long_factor;    // [rotary_dim/2]
  std::span<const double> inv_freq;       // [rotary_dim/2], custom
  std::span<const double> freq_factors;   // [rotary_dim/2], divide the frequencies
  std::span<const double> mrope_section;  // pairs per axis; empty: one axis
  MropeLayout mrope_layout = MropeLayout::chunked;
};

// Checks ranges and combinations. Returns the first thing that is wrong, Status::ok otherwise.
Status validate(const RopeConfig& config);

// The number of rotated elements: rotary_dim, or head_dim where it is 0.
inline int resolved_rotary_dim(const RopeConfig& config) { return config.rotary_dim == 0 ? config.head_dim : config.rotary_dim; }

}  // namespace ropewalk
