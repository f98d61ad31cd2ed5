#include "rope/positions.h"

#include <algorithm>
#include <cmath>

#include "base/sin_cos.h"

namespace ropewalk {
namespace {

// Up to this power, zeta^power and its inverse fit in f32: the smallest zeta is 2/7, and (7/2)^60 is about 4e32.
constexpr double kXposPowerLimit = 60;

double fastest_frequency(const FrequencyPlan& plan) {
  double fastest = 0;
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) fastest = std::fmax(fastest, std::fabs(plan.inv_freq[j]));
  return fastest;
}

// Whether `fits` is true for every position. For positions without ids it must be true between two that fit.
template <class Fits>
Status check_each(const Positions& positions, const Fits& fits) {
  if (positions.tokens == 0) return Status::ok;
  bool all_fit = true;
  if (positions.ids == nullptr) {
    all_fit = fits(positions.offset) && fits(positions.offset + positions.tokens - 1);
  } else {
    for (std::size_t i = 0; i < positions.id_count(); ++i) all_fit = all_fit && fits(positions.ids[i]);
  }
  return all_fit ? Status::ok : Status::position_out_of_range;
}

}  // namespace

double length_up_to(double largest_position) { return std::clamp(std::ceil(largest_position) + 1, 1.0, kPositionLimit); }

double largest_position(const Positions& positions) {
  if (positions.tokens == 0) return -1;
  if (positions.ids == nullptr) return positions.offset + positions.tokens - 1;
  const std::size_t count = positions.id_count();
  double largest = positions.ids[0];
  for (std::size_t i = 1; i < count; ++i) largest = positions.ids[i] > largest ? positions.ids[i] : largest;
  return largest;
}

Status check_range(const Positions& positions) {
  return check_each(positions, [](double position) { return std::fabs(position) <= kPositionLimit; });  // false for NaN
}

bool run_from(double start, const Positions& positions, int row) {
  if (start != std::floor(start)) return false;
  for (int token = 0; token < positions.tokens; ++token) {
    for (int axis = 0; axis < positions.axes; ++axis) {
      if (positions.at(axis, row, token) != start + token) return false;
    }
  }
  return true;
}

Status check_positions(const FrequencyPlan& plan, const Positions& positions) {
  if (positions.axes != 1 && positions.axes != plan.axes) return Status::positions_axes;
  const double limit = std::fmin(kPositionLimit, kAngleLimit / std::fmax(1, fastest_frequency(plan)));
  const double xpos_reach = plan.xpos_scale.empty() ? 2 * kPositionLimit : kXposPowerLimit * plan.xpos_scale_base;
  return check_each(positions, [&](double position) {  // false for NaN
    return position >= -limit && position < limit && std::fabs(position - plan.xpos_center) <= xpos_reach;
  });
}

}  // namespace ropewalk
