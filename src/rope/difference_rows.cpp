#include "rope/difference_rows.h"

#include <cmath>
#include <cstring>

#include "base/reproducible_math.h"
#include "base/sin_cos.h"

namespace ropewalk {
namespace {

bool are_equal(const Buffer<double>& a, const Buffer<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// Whether the plans have the same frequencies, so that the difference of two angles is a multiple of the difference of positions.
bool is_one_plan(const FrequencyPlan& a, const FrequencyPlan& b) {
  return a.precision != Precision::hf && b.precision != Precision::hf && are_equal(a.inv_freq, b.inv_freq);
}

// Returns the angle of a key, rounded as its plan rounds.
double angle_at(const FrequencyPlan& plan, std::size_t pair, double position) {
  if (plan.precision == Precision::hf) return static_cast<float>(plan.inv_freq[pair]) * static_cast<float>(position);
  return plan.inv_freq[pair] * position;
}

double key_scale(const FrequencyPlan& plan, std::size_t pair, double position) {
  if (plan.xpos_scale.empty()) return plan.attention_factor;
  const double power = -(position - plan.xpos_center) / plan.xpos_scale_base;
  return plan.attention_factor * reproducible_pow(plan.xpos_scale[pair], power);
}

// Makes a plan with the differences of two plans' angles.
bool subtract(const FrequencyPlan& from, const FrequencyPlan& to, FrequencyPlan& difference) {
  const std::size_t pairs = to.inv_freq.size();
  if (!difference.inv_freq.resize(pairs) || !difference.axis_of_pair.resize(pairs)) return false;
  for (std::size_t j = 0; j < pairs; ++j) {
    difference.inv_freq[j] = to.inv_freq[j] - from.inv_freq[j];
    difference.axis_of_pair[j] = to.axis_of_pair[j];
  }
  difference.rotary_dim = to.rotary_dim;
  difference.axes = to.axes;
  difference.attention_factor = to.attention_factor / from.attention_factor;
  return true;
}

}  // namespace

bool have_same_geometry(const FrequencyPlan& a, const FrequencyPlan& b) {
  if (a.head_dim != b.head_dim || a.rotary_dim != b.rotary_dim || a.rotary_offset != b.rotary_offset || a.pairing != b.pairing ||
      a.axes != b.axes) {
    return false;
  }
  return std::memcmp(a.axis_of_pair.data(), b.axis_of_pair.data(), a.axis_of_pair.size()) == 0;
}

bool rotate_alike(const FrequencyPlan& a, const FrequencyPlan& b) {
  return have_same_geometry(a, b) && a.precision == b.precision && are_equal(a.inv_freq, b.inv_freq) &&
         a.attention_factor == b.attention_factor && are_equal(a.xpos_scale, b.xpos_scale) && a.xpos_scale_base == b.xpos_scale_base &&
         a.xpos_center == b.xpos_center && a.position_map == b.position_map;
}

Status DifferenceRows::prepare(const FrequencyPlan& from, const FrequencyPlan& to, bool composes) {
  if (!have_same_geometry(from, to)) return Status::plans_differ;
  const std::size_t pairs = to.inv_freq.size();
  if (!angle_.resize(pairs) || !scale_.resize(pairs) || !cos_.resize(pairs) || !sin_.resize(pairs)) return Status::out_of_memory;
  from_ = &from;
  to_ = &to;
  has_row_ = false;
  is_one_plan_ = is_one_plan(from, to);
  const bool is_exact = from.precision == Precision::exact && to.precision == Precision::exact;
  const bool has_xpos = !from.xpos_scale.empty() || !to.xpos_scale.empty();
  composes_ = composes && is_exact && !has_xpos && !is_one_plan_;
  if (!composes_) return Status::ok;
  if (!subtract(from, to, difference_)) return Status::out_of_memory;
  return composed_.prepare(difference_);
}

bool DifferenceRows::stays(const double* from_position, const double* to_position) const {
  for (int axis = 0; axis < to_->axes; ++axis) {
    if (from_position[axis] != to_position[axis] || to_position[axis] != std::floor(to_position[axis])) return false;
  }
  return true;
}

bool DifferenceRows::write(const double* from_position, const double* to_position, float* cos, float* sin) {
  if (!composes_ || !stays(from_position, to_position)) return write_directly(from_position, to_position, cos, sin);
  bool changes = difference_.attention_factor != 1;
  for (std::size_t j = 0; j < difference_.inv_freq.size() && !changes; ++j) {
    changes = difference_.inv_freq[j] * to_position[difference_.axis_of_pair[j]] != 0;
  }
  if (changes) composed_.compute(to_position, Purpose{}, cos, sin);
  return changes;
}

bool DifferenceRows::write_directly(const double* from_position, const double* to_position, float* cos, float* sin) {
  const std::size_t pairs = to_->inv_freq.size();
  bool moves = false, is_new = false;
  for (std::size_t j = 0; j < pairs; ++j) {
    const double old_position = from_position[to_->axis_of_pair[j]], new_position = to_position[to_->axis_of_pair[j]];
    // within one plan the difference of positions is exact, so the angle of an unmoved key is exactly 0
    const double angle = is_one_plan_ ? to_->inv_freq[j] * (new_position - old_position)
                                      : angle_at(*to_, j, new_position) - angle_at(*from_, j, old_position);
    is_new = is_new || !has_row_ || angle != angle_[j];
    angle_[j] = angle;
    scale_[j] = key_scale(*to_, j, new_position) / key_scale(*from_, j, old_position);
    moves = moves || angle != 0 || scale_[j] != 1;
  }
  if (!moves) {
    has_row_ = false;
    return false;
  }
  if (is_new) sin_cos(angle_.data(), static_cast<int>(pairs), sin_.data(), cos_.data());  // a shift has one angle for all tokens
  has_row_ = true;
  for (std::size_t j = 0; j < pairs; ++j) {
    cos[j] = static_cast<float>(cos_[j] * scale_[j]);
    sin[j] = static_cast<float>(sin_[j] * scale_[j]);
  }
  return true;
}

}  // namespace ropewalk
