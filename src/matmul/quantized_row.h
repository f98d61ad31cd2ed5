// Activations rounded to bytes, as the kernels for quantized weights read them.
#pragma once

#include <cstdint>

namespace ropewalk {

// Activations are rounded in groups of 32: x ≈ scale · byte, scale = max|x| / 127 in f32, ties to even.
constexpr int kActivationGroup = 32;

// A smaller scale could have an infinite inverse, so its group is rounded to zeros.
constexpr float kSmallestActivationScale = 0x1p-126f;

// A tile multiplies four tokens at a time. They take turns, so that it reads one stream: a unit of 32 bits of each (a float, two words,
// four bytes, a scale, two sums), then the next unit of each.
constexpr int kTileTokens = 4;

// Bytes, words or both: what the kernels of a weight format read.
struct RoundedInputs {
  bool as_bytes, as_words;
};

// A token that lies alone, or the first of four that take turns. Of bytes and words, which are the same numbers, one may be null. Each four
// words have the order 0, 2, 1, 3, which matches how kernels widen weight bytes. If the token lies alone, words are joined: columns 1 and 3
// of each four are there minus 256 times columns 0 and 2 (JoinedDot in matmul_integer_dot.h).
struct QuantizedRow {
  std::int8_t* bytes;          // [columns]
  std::int16_t* words;         // [columns]
  float* scales;               // [columns / 32]
  std::int16_t* sums;          // [columns / 16], the sum of each 16 bytes
  std::int32_t* even_offsets;  // [columns / 32], -128 times the sum of columns 0 and 2 of each four. Null if words are
};

}  // namespace ropewalk
