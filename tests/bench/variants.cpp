// Variants of the loops that rotate a tensor in place: how many heads and pairs a step takes, and whether lines are read ahead. Linked into
// the benchmark's module.
#include <emscripten.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/touch.h"
#include "rope/kernels/rotate_simd.h"
#include "tests/bench/fastest_arithmetic.h"

using namespace ropewalk;

namespace {

using Arithmetic = FastestArithmetic;

// Rotates `count` heads, `Heads` at a time and 8 · sizeof...(Group) pairs per step, unrolled.
template <class Pairing, int Heads, int... Group>
void rotate_by_steps(float* x, int count, int head_dim, const float* cos, const float* sin, std::integer_sequence<int, Group...>) {
  const int pairs = head_dim / 2;
  for (int head = 0; head < count; head += Heads, x += Heads * head_dim) {
    for (int j = 0; j < pairs; j += 8 * static_cast<int>(sizeof...(Group))) {
      (rotate_eight<Arithmetic, Pairing, Pairing, Heads>(x, head_dim, x, head_dim, cos, sin, j + 8 * Group, pairs), ...);
    }
  }
}

template <class Pairing, int Heads, int Groups>
void rotate_heads_by_steps(float* x, int count, int head_dim, const float* cos, const float* sin) {
  rotate_by_steps<Pairing, Heads>(x, count, head_dim, cos, sin, std::make_integer_sequence<int, Groups>());
}

using RotateHeads = void (*)(float* x, int count, int head_dim, const float* cos, const float* sin);

template <class Pairing, int Heads>
RotateHeads variant_of(int pairs) {
  switch (pairs) {
    case 8: return rotate_heads_by_steps<Pairing, Heads, 1>;
    case 16: return rotate_heads_by_steps<Pairing, Heads, 2>;
    case 32: return rotate_heads_by_steps<Pairing, Heads, 4>;
    default: return rotate_heads_by_steps<Pairing, Heads, 8>;
  }
}

}  // namespace

extern "C" {

// Rotates [tokens, heads, head_dim] in half pairing or interleaved, with rows of [head_dim/2]. A step takes 1 or 2 heads and 8, 16, 32 or
// 64 pairs. Lines of `piece_heads` heads are read before they are rotated; 0: none. A `token_stride` of 0 repeats the first token.
EMSCRIPTEN_KEEPALIVE void rotate_variant(float* x, bool interleaved, int step_heads, int step_pairs, int piece_heads, const float* cos,
                                         const float* sin, int tokens, int heads, int head_dim, int token_stride, int repeats) {
  const RotateHeads rotate_heads = interleaved
                                       ? (step_heads == 1 ? variant_of<Interleaved, 1>(step_pairs) : variant_of<Interleaved, 2>(step_pairs))
                                       : (step_heads == 1 ? variant_of<Half, 1>(step_pairs) : variant_of<Half, 2>(step_pairs));
  const int piece = piece_heads == 0 ? heads : piece_heads;
  for (int unit = 0; unit < tokens * repeats; ++unit) {
    const int token = unit % tokens;
    const float* c = cos + token * (head_dim / 2);
    const float* s = sin + token * (head_dim / 2);
    for (int first = 0; first < heads; first += piece) {
      const int count = std::min(piece, heads - first);
      float* at = x + static_cast<std::ptrdiff_t>(token) * token_stride + first * head_dim;
      if (piece_heads != 0) touch_lines(reinterpret_cast<const char*>(at), std::ptrdiff_t{4} * count * head_dim);
      rotate_heads(at, count, head_dim, c, s);
    }
  }
}
}
