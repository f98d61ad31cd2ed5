// Weights of every format for the tests of products.
#pragma once

#include <cstring>
#include <vector>

#include "base/storage.h"
#include "matmul/weight_format.h"
#include "native/attention/attention_guarded.h"

namespace ropewalk {

inline std::vector<WeightFormat> every_format() {
  std::vector<WeightFormat> formats;
  for (int i = 0; i < kWeightFormats; ++i) formats.push_back(static_cast<WeightFormat>(i));
  return formats;
}

// Random quants with random scales, or random floats; 16-bit fields are multiplied by `factor`. The 16-bit fields of a block are its scales
// (or its only element); they are f16, except in bf16.
inline Guarded<std::uint8_t> random_weights(WeightFormat format, int rows, int columns, std::uint32_t seed, float factor = 1) {
  Random random(seed);
  Guarded<std::uint8_t> weights(rows * weight_row_bytes(format, columns));
  const BlockShape& shape = block_shape(format);
  for (std::uint8_t *at = weights.data(), *end = at + weights.size(); at < end;) {
    const auto put = [&](int count, auto make) {
      for (int i = 0; i < count; ++i, at += sizeof(make())) {
        const auto value = make();
        std::memcpy(at, &value, sizeof value);
      }
    };
    const auto half = [&] {
      const float value = factor * static_cast<float>(random.next());
      Float16 half;
      BFloat16 upper_half;
      from_float(value, half);
      from_float(value, upper_half);
      return format == WeightFormat::bf16 ? upper_half.bits : half.bits;
    };
    put(shape.leading_bytes, [&] { return static_cast<std::uint8_t>(120 + random.next_bits() % 8); });  // an exponent
    put(shape.leading_halves, half);
    if (format == WeightFormat::f32) {
      put(1, [&] { return static_cast<float>(random.next()); });
    } else {
      put(shape.words, [&] { return random.next_bits(); });
    }
    put(shape.trailing_halves, half);
    if (format == WeightFormat::iq1_m) at[-1] &= 0xBF;  // the upper bits of the scale: finite
  }
  return weights;
}

}  // namespace ropewalk
