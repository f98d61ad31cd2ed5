// The full configuration of a rotation, under config.json's own keys. It is flat: readers have already resolved nesting and
// legacy names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"

namespace ropewalk {

// Which two elements of a head form a pair. The wrong pairing raises no shape error, but ruins the model.
//
//   half                  rotary_dim = 8: [c c c c s s s s]  pairs (j, j + rotary_dim/2)  NeoX, Hugging Face Llama
//   interleaved           rotary_dim = 8: [c s c s c s c s]  pairs (2j, 2j + 1)           GPT-J, Meta Llama, GGUF Llama
//   interleaved_to_half   reads interleaved, writes half                                  DeepSeek-V3 in transformers
enum class Pairing : int { half, interleaved, interleaved_to_half };

// The scaling types. Each has a file in plans/.
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
  axial,
};

constexpr RopeType kLastRopeType = RopeType::axial;

// The system to reproduce where transformers, llama.cpp and vLLM give different numbers.
enum class Compat : int { hf, llama_cpp, vllm };

// exact: f64, rounded once. hf: every step rounded to f32 where PyTorch rounds, as in transformers.
enum class Precision : int { exact, hf };

// The transition of NTK-by-parts and YaRN from kept to interpolated frequencies.
//   pair_index  one ramp over the pair index: every shipped implementation
//   rotations   one ramp over the rotations within the window: the YaRN paper's definition
//   two_ramps   from kept to NTK-aware, then to interpolated: the YaRN authors' first NTK-by-parts, with fixed ends
enum class Ramp : int { pair_index, rotations, two_ramps };

// How pairs are assigned to position axes.
//   chunked      t…t h…h w…w            Qwen2-VL
//   interleaved  t h w t h w … t        Qwen3-VL
//   ernie        h w h w … t…t          Ernie-4.5-VL
//   vision       h…h w…w, with frequencies that restart in each section: Qwen2-VL's image encoder
enum class MropeLayout : int { chunked, interleaved, ernie, vision };

// How the pairs of the axial type are laid out.
//   chunked      t…t h…h w…w, where the frequencies restart on each axis: FLUX, Wan, Qwen-Image, DINOv3, Qwen2-VL's image encoder
//   interleaved  t h w t h w …, the same frequencies in turn: Kimi-K2.5's image encoder
//   shared       h…h w…w, where the frequencies of the whole width are dealt to the axes in turn: Pixtral
enum class AxesLayout : int { chunked, interleaved, shared };

// Model families that interpret YaRN's keys in their own way.
//   deepseek  softmax scale times g(factor, mscale_all_dim)²; llama.cpp does not read its betas
//   mistral, grok  their llama.cpp loaders read the betas; most others don't
enum class Family : int { other, deepseek, mistral, grok };

constexpr int kMaxHeadDim = 8192;
constexpr int kMaxAxes = 4;
// Positions are accepted on [-2^31, 2^31).
constexpr double kPositionLimit = 2147483648.0;

// Lists are views of the caller's memory. They must stay valid until make_plan or Rope::configure returns.
struct RopeConfig {
  int head_dim = 0;       // elements per head
  int rotary_dim = 0;     // rotated elements, even; 0 means head_dim
  int rotary_offset = 0;  // first rotated element
  int frequency_dim = 0;  // d in base^(-2j/d); 0 means rotary_dim. An odd width of transformers, of which rotary_dim is rounded up
  bool reversed = false;  // pairs turn by the negative angle (nanochat)
  Pairing pairing = Pairing::half;
  RopeType rope_type = RopeType::default_;
  Compat compat = Compat::hf;
  Precision precision = Precision::exact;
  Family family = Family::other;
  double rope_theta = 10000;

  std::optional<double> factor;                            // extended length / original length, >= 1
  std::optional<double> max_position_embeddings;           // positions
  std::optional<double> original_max_position_embeddings;  // positions before extension
  std::optional<double> context_length;                    // positions that the system is configured for
  std::optional<double> attention_factor;                  // multiplies cos and sin
  std::optional<double> attn_factor;                       // multiplies cos and sin in llama.cpp, on top of YaRN's own factor
  std::optional<double> beta_fast;                         // rotations, default 32
  std::optional<double> beta_slow;                         // rotations, default 1
  std::optional<double> mscale;
  std::optional<double> mscale_all_dim;
  std::optional<double> extrapolation_factor;  // multiplies the kept share, default 1
  bool truncate = true;                        // round the correction range outward
  bool finetuned = false;                      // dynamic_yarn starts at factor instead of 1
  Ramp ramp = Ramp::pair_index;
  std::optional<double> low_freq_factor;
  std::optional<double> high_freq_factor;
  std::optional<double> alpha;
  std::optional<double> mixed_b;
  std::optional<double> short_mscale;
  std::optional<double> long_mscale;
  std::optional<double> partial_rotary_factor;  // proportional: share of head_dim that is rotated
  std::optional<double> softmax_scale;          // without YaRN's factor; default 1/sqrt(head_dim)
  std::optional<double> xpos_scale_base;        // positions per power of zeta; absent: no xPos
  double xpos_center = 0;
  std::optional<double> query_temperature_scale;  // absent: no temperature
  double query_temperature_floor_scale = 1;
  double query_temperature_offset = 0;

  std::span<const double> short_factor;   // [rotary_dim/2]
  std::span<const double> long_factor;    // [rotary_dim/2]
  std::span<const double> inv_freq;       // [max(1, lengths)][rotary_dim/2], custom
  std::span<const double> lengths;        // custom: the longest sequence for each list of frequencies, increasing; empty: one list
  std::span<const double> freq_factors;   // [rotary_dim/2], divisors of the frequencies
  std::span<const double> axes_dim;       // axial: rotated elements per axis, even
  std::span<const double> mrope_section;  // pairs per axis; empty: one axis
  MropeLayout mrope_layout = MropeLayout::chunked;
  AxesLayout axes_layout = AxesLayout::chunked;
};

// Checks ranges and combinations of keys. Returns Status::ok, or the status of the first invalid key.
Status validate(const RopeConfig& config);

// Returns the number of rotated elements: rotary_dim, or head_dim if rotary_dim is 0.
inline int resolved_rotary_dim(const RopeConfig& config) { return config.rotary_dim == 0 ? config.head_dim : config.rotary_dim; }

// Returns the width that the exponents of the frequencies are relative to.
inline int resolved_frequency_dim(const RopeConfig& config) {
  return config.frequency_dim == 0 ? resolved_rotary_dim(config) : config.frequency_dim;
}

}  // namespace ropewalk
