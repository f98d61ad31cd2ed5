// The scaling types: two functions for each (config_fields.def), and what they share.
#pragma once

#include "rope/plan.h"

namespace ropewalk::plans {

// Rounds each step to f32 under Precision::hf, as PyTorch does with an f32 tensor. A Python number is f64 until it meets a tensor, and
// then rounded to f32 by itself. Does nothing under Precision::exact.
class Rounding {
 public:
  explicit Rounding(Precision precision) : to_float_(precision == Precision::hf) {}
  double operator()(double value) const { return to_float_ ? static_cast<double>(static_cast<float>(value)) : value; }

  // number / element. PyTorch takes the reciprocal of the element, and multiplies it by the number.
  double quotient(double number, double element) const {
    return to_float_ ? (*this)((*this)(1 / element) * (*this)(number)) : number / element;
  }

 private:
  bool to_float_;
};

// base^(2j/dim) for j in [0, count): 1 / w_j.
void default_powers(double base, double dim, int count, Precision precision, double* powers);

// w_j = base^(-2j/dim) for j in [0, count). RoFormer, section 3.2.2.
void default_frequencies(double base, double dim, int count, Precision precision, double* inv_freq);

// The frequencies without scaling, and their reciprocals. They restart in each section of a vision encoder, and on each axis of the axial
// type.
void unscaled_powers(const RopeConfig& config, double base, double* powers);
void unscaled_frequencies(const RopeConfig& config, double base, double* inv_freq);

// The frequencies of base · scale^(d/(d-2)): the first is unchanged, the last is divided by `scale`.
void ntk_frequencies(const RopeConfig& config, double scale, double* inv_freq);

// What a config of each type must have besides valid ranges.
#define ROPEWALK_SCALING_TYPE(name, systems, needed, optional, traits) Status check_##name(const RopeConfig& config);
#include "rope/config_fields.def"

// What each type changes in a plan without scaling: frequencies, factors, the lengths that vLLM serves, and for a type that depends on the
// length of the sequence plan.valid_from and plan.valid_to.
#define ROPEWALK_SCALING_TYPE(name, systems, needed, optional, traits) \
  void name(const RopeConfig& config, double sequence_length, FrequencyPlan& plan);
#include "rope/config_fields.def"

// zeta_j = (2j + 0.4 d) / (1.4 d): the scale of xPos (Sun et al. 2022, section 3.2; lucidrains, flash-attention).
void xpos(const RopeConfig& config, FrequencyPlan& plan);

// Shared by the YaRN family.
namespace yarn_parts {

// Rows of vLLM's table per position of the config.
double position_factor(const RopeConfig& config);

// The temperature of the YaRN paper: 1 if factor <= 1, else 0.1 · mscale · ln(factor) + 1.
double temperature(double factor, double mscale);

struct Range {
  double low;
  double high;
};

// The pairs with `fast` and `slow` rotations over the original window, rounded outward if the system of config.compat does so.
Range pair_range(const RopeConfig& config, double fast, double slow);

// The ends of the ramp, as pairs (or as rotations with Ramp::rotations).
Range correction_range(const RopeConfig& config);

// 0 up to the range's low end, 1 from its high end on, linear in between. An empty or reversed range is a step in llama.cpp. The other
// systems widen an empty range, and keep every pair if it is reversed.
double ramp(double position, Range range, Compat compat, Rounding rounded);

// Blends interpolated and kept frequencies along the ramp, and stores the range in the plan.
void blend(const RopeConfig& config, double factor, FrequencyPlan& plan);

// Checks the keys that the family shares. Only NTK-by-parts may have two ramps.
Status check(const RopeConfig& config);

// The factor on cos and sin, by the rules of config.compat.
double attention_factor(const RopeConfig& config, double factor);

// The additional factor on the softmax scale: g(factor, mscale_all_dim)² for DeepSeek, 1 for other families.
double softmax_factor(const RopeConfig& config, double factor);

// Extended / original length: config.factor, else max_position_embeddings / original_max_position_embeddings.
double factor(const RopeConfig& config);

}  // namespace yarn_parts
}  // namespace ropewalk::plans
