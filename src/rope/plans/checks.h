// What the checks of a config have in common.
#pragma once

#include <cmath>

#include "rope/config.h"

namespace ropewalk {

inline bool within(double value, double low, double high) { return value >= low && value <= high; }  // false for NaN

inline bool is_length(double value) { return within(value, 1, kPositionLimit) && value == std::floor(value); }

// A key that isn't given passes.
inline bool within(const std::optional<double>& value, double low, double high) { return !value.has_value() || within(*value, low, high); }
inline bool is_length(const std::optional<double>& value) { return !value.has_value() || is_length(*value); }

template <class Enum>
bool is_enumerator(Enum value, Enum last) {
  return static_cast<int>(value) >= 0 && static_cast<int>(value) <= static_cast<int>(last);
}

inline Status check_list(std::span<const double> list, std::size_t count, double low, Status wrong_length, Status out_of_range) {
  if (list.size() != count) return wrong_length;
  for (const double value : list) {
    if (!within(value, low, kLargest)) return out_of_range;
  }
  return Status::ok;
}

// Returns the status of the first check that fails, else Status::ok.
template <class... Check>
Status first_failure(const RopeConfig& config, Check... checks) {
  Status status = Status::ok;
  ((status == Status::ok ? (void)(status = checks(config)) : (void)0), ...);
  return status;
}

// Checks of keys that several types need.
Status need_factor(const RopeConfig& config);
Status need_original_length(const RopeConfig& config);
Status need_factor_or_lengths(const RopeConfig& config);  // the factor, or the two lengths that determine it
Status need_two_pairs(const RopeConfig& config);          // the exponent d/(d-2) requires them

}  // namespace ropewalk
