#include "rope/cos_sin_rows.h"

#include <cmath>

#include "base/reproducible_math.h"
#include "base/sin_cos.h"

namespace ropewalk {
namespace {

constexpr int kFinePositions = 64;

void store_floats(const double* values, int pairs, float* target) {
  for (int j = 0; j < pairs; ++j) target[j] = static_cast<float>(values[j]);
}

// Returns the largest multiple of kFinePositions that is at most the position.
double coarse_part(double position) { return std::floor(position / kFinePositions) * kFinePositions; }

}  // namespace

bool CosSinRows::reserve(std::uint64_t pairs) {
  return angles_.resize(pairs) && cos_.resize(pairs) && sin_.resize(pairs) && coarse_cos_.resize(pairs) && coarse_sin_.resize(pairs);
}

Status CosSinRows::use_plan(const FrequencyPlan& plan) {
  if (!reserve(plan.inv_freq.size())) return Status::out_of_memory;
  plan_ = &plan;
  for (double& position : coarse_position_) position = NAN;
  return Status::ok;
}

Status CosSinRows::prepare(const FrequencyPlan& plan) {
  const std::size_t pairs = plan.inv_freq.size(), fine = kFinePositions * pairs;
  if (!fine_.resize(2 * std::uint64_t{fine})) return Status::out_of_memory;
  if (const Status status = use_plan(plan); status != Status::ok) return status;
  double *fine_cos = fine_.data(), *fine_sin = fine_cos + fine;
  fine_cos_ = fine_cos;
  fine_sin_ = fine_sin;
  for (int position = 0; position < kFinePositions; ++position) {
    for (std::size_t j = 0; j < pairs; ++j) angles_[j] = plan.inv_freq[j] * position;
    sin_cos(angles_.data(), static_cast<int>(pairs), fine_sin + position * pairs, fine_cos + position * pairs);
  }
  return Status::ok;
}

Status CosSinRows::share(const CosSinRows& other) {
  fine_cos_ = other.fine_cos_;
  fine_sin_ = other.fine_sin_;
  return use_plan(*other.plan_);
}

void CosSinRows::compute(const double* position, Purpose purpose) {
  compute_angles(position);
  scale(position, purpose);
}

void CosSinRows::compute(const double* position, Purpose purpose, float* cos, float* sin) {
  if (plan_->axes == 1 && plan_->xpos_scale.empty() && is_composable(position)) {
    compose_floats(position[0], purpose, cos, sin);
    return;
  }
  compute(position, purpose);
  store_floats(cos_.data(), static_cast<int>(cos_.size()), cos);
  store_floats(sin_.data(), static_cast<int>(sin_.size()), sin);
}

void CosSinRows::compute_angles(const double* position) {
  if (plan_->precision == Precision::hf) {
    compute_in_f32(position);
  } else if (is_composable(position)) {
    compose(position);
  } else {
    compute_directly(position);
  }
}

bool CosSinRows::is_composable(const double* position) const {
  if (plan_->precision == Precision::hf) return false;
  for (int axis = 0; axis < plan_->axes; ++axis) {
    if (position[axis] != std::floor(position[axis])) return false;
  }
  return true;
}

// Computes coarse_cos_ and coarse_sin_ for `coarse` (one position per axis), unless they are already there.
void CosSinRows::use_coarse(const double* coarse) {
  const int pairs = static_cast<int>(plan_->inv_freq.size());
  bool is_same = true;
  for (int axis = 0; axis < plan_->axes; ++axis) is_same = is_same && coarse[axis] == coarse_position_[axis];
  if (is_same) return;
  for (int axis = 0; axis < plan_->axes; ++axis) coarse_position_[axis] = coarse[axis];
  for (int j = 0; j < pairs; ++j) angles_[j] = plan_->inv_freq[j] * coarse[plan_->axis_of_pair[j]];
  sin_cos(angles_.data(), pairs, coarse_sin_.data(), coarse_cos_.data());
}

// cos(a + b) = cos a cos b − sin a sin b,  sin(a + b) = sin a cos b + cos a sin b
void CosSinRows::compose(const double* position) {
  const int pairs = static_cast<int>(plan_->inv_freq.size());
  double coarse[kMaxAxes];
  int fine[kMaxAxes];
  for (int axis = 0; axis < plan_->axes; ++axis) {
    coarse[axis] = coarse_part(position[axis]);
    fine[axis] = static_cast<int>(position[axis] - coarse[axis]);
  }
  use_coarse(coarse);
  for (int j = 0; j < pairs; ++j) {
    const std::size_t entry = fine[plan_->axis_of_pair[j]] * pairs + j;
    cos_[j] = coarse_cos_[j] * fine_cos_[entry] - coarse_sin_[j] * fine_sin_[entry];
    sin_[j] = coarse_sin_[j] * fine_cos_[entry] + coarse_cos_[j] * fine_sin_[entry];
  }
}

// The same for one axis, with scaling and rounding in the same pass. Tables spend most of their time here.
void CosSinRows::compose_floats(double position, Purpose purpose, float* cos, float* sin) {
  const int pairs = static_cast<int>(plan_->inv_freq.size());
  const double coarse = coarse_part(position);
  use_coarse(&coarse);
  const double* fine_cos = &fine_cos_[static_cast<std::size_t>(position - coarse) * pairs];
  const double* fine_sin = &fine_sin_[static_cast<std::size_t>(position - coarse) * pairs];
  const double cos_factor = factor(purpose), sin_factor = purpose.inverse ? -cos_factor : cos_factor;

  const auto two = [&](int j, v128_t& two_cos, v128_t& two_sin) {
    const v128_t coarse_c = wasm_v128_load(&coarse_cos_[j]), coarse_s = wasm_v128_load(&coarse_sin_[j]);
    const v128_t fine_c = wasm_v128_load(fine_cos + j), fine_s = wasm_v128_load(fine_sin + j);
    const v128_t c = wasm_f64x2_sub(wasm_f64x2_mul(coarse_c, fine_c), wasm_f64x2_mul(coarse_s, fine_s));
    const v128_t s = wasm_f64x2_add(wasm_f64x2_mul(coarse_s, fine_c), wasm_f64x2_mul(coarse_c, fine_s));
    two_cos = wasm_f32x4_demote_f64x2_zero(wasm_f64x2_mul(c, wasm_f64x2_splat(cos_factor)));
    two_sin = wasm_f32x4_demote_f64x2_zero(wasm_f64x2_mul(s, wasm_f64x2_splat(sin_factor)));
  };
  int j = 0;
  for (; j + 4 <= pairs; j += 4) {
    v128_t low_cos, low_sin, high_cos, high_sin;
    two(j, low_cos, low_sin);
    two(j + 2, high_cos, high_sin);
    wasm_v128_store(cos + j, wasm_i64x2_shuffle(low_cos, high_cos, 0, 2));
    wasm_v128_store(sin + j, wasm_i64x2_shuffle(low_sin, high_sin, 0, 2));
  }
  for (; j < pairs; ++j) {
    cos[j] = static_cast<float>((coarse_cos_[j] * fine_cos[j] - coarse_sin_[j] * fine_sin[j]) * cos_factor);
    sin[j] = static_cast<float>((coarse_sin_[j] * fine_cos[j] + coarse_cos_[j] * fine_sin[j]) * sin_factor);
  }
}

void CosSinRows::compute_directly(const double* position) {
  const std::size_t pairs = plan_->inv_freq.size();
  for (std::size_t j = 0; j < pairs; ++j) angles_[j] = plan_->inv_freq[j] * position[plan_->axis_of_pair[j]];
  sin_cos(angles_.data(), static_cast<int>(pairs), sin_.data(), cos_.data());
}

// As transformers: positions and frequencies in f32, their product rounded to f32, then cos and sin rounded to f32.
void CosSinRows::compute_in_f32(const double* position) {
  const std::size_t pairs = plan_->inv_freq.size();
  for (std::size_t j = 0; j < pairs; ++j) {
    angles_[j] = static_cast<float>(plan_->inv_freq[j]) * static_cast<float>(position[plan_->axis_of_pair[j]]);
  }
  sin_cos(angles_.data(), static_cast<int>(pairs), sin_.data(), cos_.data());
  for (std::size_t j = 0; j < pairs; ++j) {
    cos_[j] = static_cast<float>(cos_[j]);
    sin_[j] = static_cast<float>(sin_[j]);
  }
}

double CosSinRows::factor(Purpose purpose) const {
  const double factor = purpose.inverse ? 1 / plan_->attention_factor : plan_->attention_factor;
  return plan_->precision == Precision::hf ? static_cast<float>(factor) : factor;
}

void CosSinRows::scale(const double* position, Purpose purpose) {
  const FrequencyPlan& plan = *plan_;
  const std::size_t pairs = plan.inv_freq.size();
  const double scale_of_all = factor(purpose);
  for (std::size_t j = 0; j < pairs; ++j) {
    cos_[j] *= scale_of_all;
    sin_[j] *= scale_of_all;
  }
  if (!plan.xpos_scale.empty()) {
    const double sign = (purpose.role == Role::key) != purpose.inverse ? -1 : 1;
    for (std::size_t j = 0; j < pairs; ++j) {
      const double power = sign * (position[plan.axis_of_pair[j]] - plan.xpos_center) / plan.xpos_scale_base;
      const double scale = reproducible_pow(plan.xpos_scale[j], power);
      cos_[j] *= scale;
      sin_[j] *= scale;
    }
  }
  if (purpose.inverse) {
    for (std::size_t j = 0; j < pairs; ++j) sin_[j] = -sin_[j];
  }
}

void write_rows(CosSinRows& rows, const Positions& positions, TokenRange range, Purpose purpose, float* cos, float* sin) {
  const int pairs = rows.plan().rotary_dim / 2;
  for (int token = range.first; token < range.first + range.count; ++token, cos += pairs, sin += pairs) {
    double position[kMaxAxes];
    positions.on_axes(rows.plan(), range.row, token, position);
    rows.compute(position, purpose, cos, sin);
  }
}

}  // namespace ropewalk
