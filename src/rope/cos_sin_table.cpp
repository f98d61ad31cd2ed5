#include "rope/cos_sin_table.h"

#include <bit>
#include <cmath>

#include "rope/reproducible_math.h"
#include "rope/sin_cos.h"

namespace ropewalk {
namespace {

constexpr int kFinePositions = 64;
// Keeps zeta^power and its inverse within f32: the smallest zeta is 2/7, and (7/2)^60 is about 4e32.
constexpr double kXposPowerLimit = 60;

// f64 to f32 with the last bit set where anything was cut off. Rounding the result to 16 bits then equals rounding the f64 once.
float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) bits -= 1;
  return std::bit_cast<float>(bits | 1u);
}

void store(double value, float* target) { *target = static_cast<float>(value); }
void store(double value, Float16* target) { from_float(round_to_odd(value), *target); }
void store(double value, BFloat16* target) { from_float(round_to_odd(value), *target); }

template <class Element>
void store_row(const double* values, int pairs, TableLayout layout, Element* target) {
  for (int j = 0; j < pairs; ++j) {
    switch (layout) {
      case TableLayout::compact: store(values[j], target + j); break;
      case TableLayout::half:
        store(values[j], target + j);
        store(values[j], target + j + pairs);
        break;
      case TableLayout::interleaved:
        store(values[j], target + 2 * j);
        store(values[j], target + 2 * j + 1);
        break;
    }
  }
}

void store_floats(const double* values, int pairs, float* target) {
  for (int j = 0; j < pairs; ++j) target[j] = static_cast<float>(values[j]);
}

// The largest multiple of kFinePositions that is not above the position.
double coarse_part(double position) { return std::floor(position / kFinePositions) * kFinePositions; }

void positions_of_axes(const FrequencyPlan& plan, const Positions& positions, int row, int token, double* position) {
  for (int axis = 0; axis < plan.axes; ++axis) position[axis] = positions.at(axis, row, token);
}

template <class Element>
void write_elements(CosSinRows& rows, const Positions& positions, Purpose purpose, TableLayout layout, Element* cos, Element* sin) {
  const FrequencyPlan& plan = rows.plan();
  const int pairs = plan.rotary_dim / 2, columns = layout == TableLayout::compact ? pairs : plan.rotary_dim;
  for (int row = 0; row < positions.rows; ++row) {
    for (int token = 0; token < positions.tokens; ++token, cos += columns, sin += columns) {
      double position[kMaxAxes];
      positions_of_axes(plan, positions, row, token, position);
      rows.compute(position, purpose);
      store_row(rows.cos(), pairs, layout, cos);
      store_row(rows.sin(), pairs, layout, sin);
    }
  }
}

double fastest_frequency(const FrequencyPlan& plan) {
  double fastest = 0;
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) fastest = std::fmax(fastest, std::fabs(plan.inv_freq[j]));
  return fastest;
}

}  // namespace

double largest_position(const Positions& positions) {
  if (positions.ids == nullptr) return positions.offset + positions.tokens - 1;
  const std::size_t count = static_cast<std::size_t>(positions.axes) * positions.rows * positions.tokens;
  double largest = positions.ids[0];
  for (std::size_t i = 1; i < count; ++i) largest = positions.ids[i] > largest ? positions.ids[i] : largest;
  return largest;
}

Status check_positions(const FrequencyPlan& plan, const Positions& positions) {
  if (positions.axes != 1 && positions.axes != plan.axes) return Status::positions_axes;
  const double limit = std::fmin(kPositionLimit, kAngleLimit / std::fmax(1, fastest_frequency(plan)));
  const double xpos_reach = plan.xpos_scale.empty() ? 2 * kPositionLimit : kXposPowerLimit * plan.xpos_scale_base;
  const auto fits = [&](double position) {  // false for NaN
    return position >= -limit && position < limit && std::fabs(position - plan.xpos_center) <= xpos_reach;
  };
  if (positions.ids == nullptr) {
    return fits(positions.offset) && fits(positions.offset + positions.tokens - 1) ? Status::ok : Status::position_out_of_range;
  }
  const std::size_t count = static_cast<std::size_t>(positions.axes) * positions.rows * positions.tokens;
  for (std::size_t i = 0; i < count; ++i) {
    if (!fits(positions.ids[i])) return Status::position_out_of_range;
  }
  return Status::ok;
}

Status CosSinRows::prepare(const FrequencyPlan& plan) {
  const std::size_t pairs = plan.inv_freq.size(), fine = kFinePositions * pairs;
  if (!angles_.resize(pairs) || !cos_.resize(pairs) || !sin_.resize(pairs) || !fine_cos_.resize(fine) || !fine_sin_.resize(fine) ||
      !coarse_cos_.resize(pairs) || !coarse_sin_.resize(pairs)) {
    return Status::out_of_memory;
  }
  plan_ = &plan;
  for (int position = 0; position < kFinePositions; ++position) {
    for (std::size_t j = 0; j < pairs; ++j) angles_[j] = plan.inv_freq[j] * position;
    sin_cos(angles_.data(), static_cast<int>(pairs), &fine_sin_[position * pairs], &fine_cos_[position * pairs]);
  }
  for (double& position : coarse_position_) position = NAN;
  return Status::ok;
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

// Makes coarse_cos_ and coarse_sin_ those of `coarse`, one position for each axis.
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

// The same for one axis, scaled and rounded as it goes: this is where the time of a table is spent.
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

// transformers: positions and frequencies in f32, their product rounded to f32, then cos and sin rounded to f32
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
    positions_of_axes(rows.plan(), positions, range.row, token, position);
    rows.compute(position, purpose, cos, sin);
  }
}

Status write_table(CosSinRows& rows, const Positions& positions, Purpose purpose, DType dtype, TableLayout layout, void* cos, void* sin) {
  if (const Status status = check_positions(rows.plan(), positions); status != Status::ok) return status;
  if (layout != TableLayout::compact && layout != TableLayout::half && layout != TableLayout::interleaved) return Status::layout_unknown;
  switch (dtype) {
    case DType::f32:
      if (layout == TableLayout::compact) {
        const std::size_t row_size = static_cast<std::size_t>(positions.tokens) * (rows.plan().rotary_dim / 2);
        for (int row = 0; row < positions.rows; ++row) {
          write_rows(rows, positions, {row, 0, positions.tokens}, purpose, static_cast<float*>(cos) + row * row_size,
                     static_cast<float*>(sin) + row * row_size);
        }
      } else {
        write_elements(rows, positions, purpose, layout, static_cast<float*>(cos), static_cast<float*>(sin));
      }
      return Status::ok;
    case DType::f16:
      write_elements(rows, positions, purpose, layout, static_cast<Float16*>(cos), static_cast<Float16*>(sin));
      return Status::ok;
    case DType::bf16:
      write_elements(rows, positions, purpose, layout, static_cast<BFloat16*>(cos), static_cast<BFloat16*>(sin));
      return Status::ok;
  }
  return Status::dtype_unknown;
}

}  // namespace ropewalk
