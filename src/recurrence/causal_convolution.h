// A causal convolution of each channel by itself: out[t][c] = bias[c] + sum over j < kernel of w[j][c] · x[t − kernel + 1 + j][c].
#pragma once

#include <cstddef>

namespace ropewalk {

constexpr int kMaxTaps = 64;

struct Convolution {
  int kernel;  // taps, 1 to kMaxTaps
  int channels;
  const float* weights;  // [kernel][channels], the tap of the newest input last
  const float* bias;     // [channels] or null
};

// Elements of the inputs before a call: the last kernel − 1 rows.
inline int convolution_state(int kernel, int channels) { return (kernel - 1) * channels; }

// Convolves `tokens` rows x, [tokens][channels], after the inputs `from`, [kernel − 1][channels]. Writes out, [tokens][channels], and the
// inputs before the next call to `to`, which isn't `from`. Sums are f32, oldest input first.
void convolve(const Convolution& convolution, const float* x, int tokens, const float* from, float* to, float* out);

}  // namespace ropewalk
