// Ropes and float tensors shared by the tests.
#pragma once

#include "native/rope/configs.h"
#include "native/rope/guarded_tensor.h"
#include "rope/rope.h"

namespace ropewalk {

inline RopeConfig with_pairing(RopeConfig config, Pairing pairing) {
  config.pairing = pairing;
  return config;
}

struct ConfiguredRope : Rope {
  explicit ConfiguredRope(const RopeConfig& config) { EXPECT_EQ(configure(config), Status::ok); }
};

inline Positions positions_of(const std::vector<double>& ids, int tokens, int rows = 1, int axes = 1) {
  return {0, ids.data(), axes, rows, tokens};
}

inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.next());
  return values;
}

inline HeadTensor tensor_of(std::vector<float>& values, Layout layout, const Shape& shape) {
  return {values.data(), values.data(), DType::f32, layout, shape};
}

// Rotates [1, tokens, heads, dim] with a new rope.
inline std::vector<float> fresh(const RopeConfig& config, std::vector<float> values, const Positions& positions, Purpose purpose = {},
                                double length = 0) {
  ConfiguredRope rope(config);
  const int tokens = positions.tokens, dim = config.head_dim, heads = static_cast<int>(values.size()) / tokens / dim;
  EXPECT_EQ(rope.rotate(tensor_of(values, Layout::bthd, {1, tokens, heads, dim}), positions, length, purpose), Status::ok);
  return values;
}

}  // namespace ropewalk
