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

// The scaling types (config_fields.def).
enum class RopeType : int {
#define ROPEWALK_SCALING_TYPE(name, systems, needed, optional, traits) name,
#include "rope/config_fields.def"
};

constexpr int kRopeTypes = 0
#define ROPEWALK_SCALING_TYPE(name, systems, needed, optional, traits) +1
#include "rope/config_fields.def"
    ;

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

// Methods that change positions in attention (plans/position_map.h).
enum class MapType : int { none, self_extend, rerope, dual_chunk, lm_infinite };

// Model families that interpret YaRN's keys in their own way.
//   deepseek  softmax scale times g(factor, mscale_all_dim)²; llama.cpp does not read its betas
//   mistral, grok  their llama.cpp loaders read the betas; most others don't
enum class Family : int { other, deepseek, mistral, grok };

constexpr int kMaxHeadDim = 8192;
constexpr int kMaxAxes = 4;
constexpr double kLargest = 1e30;  // products and powers of a config's values stay finite below this
// Positions are accepted on [-2^31, 2^31).
constexpr double kPositionLimit = 2147483648.0;

#include "base/fields.h"
#include "rope/config_fields.def"

// Checks ranges and combinations of keys. Returns Status::ok, or the status of the first invalid key.
Status validate(const RopeConfig& config);

// Whether the system of config.compat has the scaling type of the config.
bool is_in_system(const RopeConfig& config);

// Returns the number of rotated elements: rotary_dim, or head_dim if rotary_dim is 0.
inline int resolved_rotary_dim(const RopeConfig& config) { return config.rotary_dim == 0 ? config.head_dim : config.rotary_dim; }

// Returns the width that the exponents of the frequencies are relative to.
inline int resolved_frequency_dim(const RopeConfig& config) {
  return config.frequency_dim == 0 ? resolved_rotary_dim(config) : config.frequency_dim;
}

}  // namespace ropewalk
