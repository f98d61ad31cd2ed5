// Rows of cosines and sines of random angles.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "native/rope/guarded_tensor.h"
#include "rope/rotate.h"

namespace ropewalk {

struct RandomRows {
  std::vector<float> cos, sin;
  Rows rows(bool per_batch) const { return {cos.data(), sin.data(), per_batch}; }
};

inline RandomRows random_rows(int count, int pairs, std::uint32_t seed) {
  Random random(seed);
  RandomRows result;
  for (int i = 0; i < count * pairs; ++i) {
    const double angle = random.between(-3.2, 3.2);
    result.cos.push_back(static_cast<float>(std::cos(angle)));
    result.sin.push_back(static_cast<float>(std::sin(angle)));
  }
  return result;
}

}  // namespace ropewalk
