// The selective state space of Mamba (Gu and Dao 2023, arXiv:2312.00752). Each channel c has a state s of `size` elements. With each token:
//
//   s_n ← exp(Δ_c A_cn) s_n + Δ_c x_c B_n
//   out_c = sum over n of s_n C_n
#pragma once

#include <cstddef>

namespace ropewalk {

struct SelectiveScan {
  int tokens;
  int channels;
  int size;               // elements of a channel's state
  const float* A;         // [channels][size], negative
  const float* x;         // [tokens][channels]
  const float* step;      // Δ, [tokens][channels]
  const float* B;         // [tokens] rows of `size`, stride apart
  const float* C;         // [tokens] rows of `size`, stride apart
  std::ptrdiff_t stride;  // floats from a row of B or C to the next
};

// Scans the tokens from the states `from`, [channels][size]. Writes the states after them to `to`, which isn't `from`, and out,
// [tokens][channels]. All arithmetic is f32.
void scan_channels(const SelectiveScan& scan, const float* from, float* to, float* out);

}  // namespace ropewalk
