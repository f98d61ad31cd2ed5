#include "rope/positions.h"

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

}  // namespace ropewalk
