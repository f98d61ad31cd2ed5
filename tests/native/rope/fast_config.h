// A config whose plans for short and long sequences accept different positions.
#pragma once

#include "native/rope/configs.h"

namespace ropewalk {

// A longrope of 4 pairs whose plan for short, or for long, sequences has a frequency of 1e6: it accepts no position beyond 4294. The other
// plan accepts all.
inline RopeConfig fast_longrope_config(double original, bool is_long) {
  static const std::vector<double> fast = {1e-6, 1, 1, 1}, plain = {1, 1, 1, 1};
  RopeConfig config = longrope_config(8, 10000, original, 2 * original);
  config.short_factor = is_long ? plain : fast;
  config.long_factor = is_long ? fast : plain;
  return config;
}

}  // namespace ropewalk
