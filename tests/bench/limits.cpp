// Upper limits for the benchmark: how fast wasm reads, writes, multiplies, adds and rotates, and how fast the rotation kernels are without
// the package around them. Linked into a separate wasm module together with the whole package, so that all measurements use the same
// memory.
#include <emscripten.h>
#include <wasm_simd128.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "attention/kernels/attention_products_simd.h"
#include "base/add_product.h"
#include "base/float_math_wasmsimd.h"
#include "base/storage_wasmsimd.h"
#include "base/touch.h"
#include "rope/kernels/rotate_simd.h"
#include "rope/rotate.h"
#include "tests/bench/fastest_arithmetic.h"

using namespace ropewalk;

namespace {

using Arithmetic = FastestArithmetic;

// Number of independent chains: enough to hide the latency of a multiplication and an addition, and few enough to fit the sixteen registers
// of x86-64 together with two operands.
constexpr int kChains = 12;

template <class Element>
void multiply_16(Element* x, int count, float factor, int repeats) {
  const v128_t c = wasm_f32x4_splat(factor);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int i = 0; i < count; i += 8) {
      const F32x8 a = load8(x + i);
      store8(x + i, {wasm_f32x4_mul(a.low, c), wasm_f32x4_mul(a.high, c)});
    }
  }
}

// cos and signed sin of every pair.
constexpr float kBoundCos[] = {0.8f, 0.8f, 0.8f, 0.8f}, kBoundSin[] = {-0.6f, 0.6f, -0.6f, 0.6f};

// V8 builds a constant vector anew wherever it is used. So compilers must not see that this is one.
v128_t hidden(const float* vector) {
  asm("" : "+r"(vector));
  return wasm_v128_load(vector);
}

template <class Element>
void bound_half(Element* x, int count, int repeats) {
  const v128_t c = hidden(kBoundCos), s = hidden(kBoundSin);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int head = 0; head < count; head += 128) {
      for (int j = head; j < head + 64; j += 8) {
        const Pairs8 rotated = rotate_pairs<Arithmetic>({load8(x + j), load8(x + j + 64)}, {c, c}, {s, s});
        store8(x + j, rotated.x);
        store8(x + j + 64, rotated.y);
      }
    }
  }
}

template <class Element>
void bound_interleaved(Element* x, int count, int repeats) {
  const v128_t c = hidden(kBoundCos), s = hidden(kBoundSin);
  const auto rotate = [&](v128_t xy) { return Arithmetic::add_product(wasm_f32x4_mul(xy, c), wasm_i32x4_shuffle(xy, xy, 1, 0, 3, 2), s); };
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int i = 0; i < count; i += 16) {
      if constexpr (sizeof(Element) == 2) {  // pairs come apart while they are converted
        const F32x8 a = load_pairs(x + i), b = load_pairs(x + i + 8);
        const Pairs8 rotated = rotate_pairs<Arithmetic>({{a.low, b.low}, {a.high, b.high}}, {c, c}, {s, s});
        store_pairs(x + i, {rotated.x.low, rotated.y.low});
        store_pairs(x + i + 8, {rotated.x.high, rotated.y.high});
      } else {
        const F32x8 a = load8(x + i), b = load8(x + i + 8);
        store8(x + i, {rotate(a.low), rotate(a.high)});
        store8(x + i + 8, {rotate(b.low), rotate(b.high)});
      }
    }
  }
}

// Products of a block of keys, or of values: as many loads and multiply-adds.
template <class Element, int Heads>
[[gnu::noinline]] void bound_products(const ScoreBlockOf<Element>& block, int row, v128_t* sums) {
  const Operands<Element> operands;
  constexpr int kRows = Heads > 4 ? 4 : Heads, kKeys = kRows <= 2 ? 4 : kRows == 3 ? 3 : 2;
  ROPEWALK_ROLLED for (int n = 0; n < kBlockTokens; n += kKeys) {
    const int first = n + kKeys <= kBlockTokens ? n : kBlockTokens - kKeys;
    multiply_rows<Arithmetic, Element, kRows, kKeys>(block, operands, row, first, sums + row * kBlockTokens);
  }
  if constexpr (Heads > 4) bound_products<Element, Heads - 4>(block, row + 4, sums);
}

constexpr int kMaxBoundDim = 128;

// Keys of a head and their values in turn, a block of each.
template <class Element, int Heads>
float bound_attention(const Element* rows, int dim, int blocks, const float* queries, int repeats) {
  const int fetched = 32768 / static_cast<int>(kBlockTokens * dim * sizeof(Element));  // blocks at a time
  float scaled[Heads * kMaxBoundDim];                                                  // so that no product is subnormal
  for (int i = 0; i < Heads * dim; ++i) scaled[i] = queries[i] * (sizeof(Element) == 2 ? kF16Unit : 1);
  v128_t sums[Heads * kBlockTokens] = {}, scores[Heads * kBlockTokens / 4] = {}, weights[Heads * kBlockTokens / 4];
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int index = 0; index < blocks; ++index) {
      const Element* stored = rows + static_cast<std::ptrdiff_t>(index) * kBlockTokens * dim;
      if (index % fetched == 0) {
        touch_lines(reinterpret_cast<const char*>(stored), std::min(fetched, blocks - index) * kBlockTokens * dim * sizeof(Element));
      }
      bound_products<Element, Heads>({scaled, dim, Heads, stored, dim, kBlockTokens, dim, nullptr}, 0, sums);
      if (index % 2 != 0) continue;
      asm volatile("" : : "r"(scores) : "memory");  // scores of their own, whose exponentials are numbers, as if they had changed
      ROPEWALK_ROLLED for (int i = 0; i < Heads * kBlockTokens / 4; i += 2) {
        v128_t two[2] = {scores[i], scores[i + 1]};
        replace_by_exp<Arithmetic>(two, wasm_f32x4_splat(1));
        weights[i] = two[0];
        weights[i + 1] = two[1];
      }
    }
  }
  return sum_of(wasm_f32x4_add(sums[0], weights[0]));
}

}  // namespace

extern "C" {

// x *= factor in place, 64 bytes per step.
EMSCRIPTEN_KEEPALIVE void multiply_f32(float* x, int count, float factor, int repeats) {
  const v128_t c = wasm_f32x4_splat(factor);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int i = 0; i < count; i += 16) {
      const F32x8 a = load8(x + i), b = load8(x + i + 8);
      store8(x + i, {wasm_f32x4_mul(a.low, c), wasm_f32x4_mul(a.high, c)});
      store8(x + i + 8, {wasm_f32x4_mul(b.low, c), wasm_f32x4_mul(b.high, c)});
    }
  }
}

// The same for 16-bit elements: widen, multiply, round. The cost of 16-bit storage without any rotation.
EMSCRIPTEN_KEEPALIVE void multiply_f16(Float16* x, int count, float factor, int repeats) { multiply_16(x, count, factor, repeats); }
EMSCRIPTEN_KEEPALIVE void multiply_bf16(BFloat16* x, int count, float factor, int repeats) { multiply_16(x, count, factor, repeats); }

// Bounds of the rotation kernels: nothing but their loads of x, arithmetic and stores, for heads of 128, with the same cos and sin
// everywhere.
EMSCRIPTEN_KEEPALIVE void rotate_bound(void* x, bool interleaved, int dtype, int count, int repeats) {
  const auto run = [&](auto* elements) {
    (interleaved ? bound_interleaved(elements, count, repeats) : bound_half(elements, count, repeats));
  };
  if (static_cast<DType>(dtype) == DType::f32) run(static_cast<float*>(x));
  if (static_cast<DType>(dtype) == DType::f16) run(static_cast<Float16*>(x));
  if (static_cast<DType>(dtype) == DType::bf16) run(static_cast<BFloat16*>(x));
}

// Bound of a token's attention: nothing but the loads, multiply-adds and exponentials of `heads` query heads (2, 3, 4 or 7) that share a
// key head, over `blocks` blocks of 32 keys or values of `dim` elements, a multiple of four, at most 128. They are fetched ahead, like
// those of a cache.
EMSCRIPTEN_KEEPALIVE float attend_bound(const void* rows, int dtype, int heads, int dim, int blocks, const float* queries, int repeats) {
  const auto run = [&](const auto* elements) {
    using Element = std::remove_cvref_t<decltype(*elements)>;
    switch (heads) {
      case 2: return bound_attention<Element, 2>(elements, dim, blocks, queries, repeats);
      case 3: return bound_attention<Element, 3>(elements, dim, blocks, queries, repeats);
      case 4: return bound_attention<Element, 4>(elements, dim, blocks, queries, repeats);
      default: return bound_attention<Element, 7>(elements, dim, blocks, queries, repeats);
    }
  };
  return static_cast<DType>(dtype) == DType::f32 ? run(static_cast<const float*>(rows)) : run(static_cast<const Float16*>(rows));
}

EMSCRIPTEN_KEEPALIVE void copy_bytes(void* target, const void* source, int bytes, int repeats) {
  for (int repeat = 0; repeat < repeats; ++repeat) std::memcpy(target, source, bytes);
}

// The rotation kernels on [tokens, heads, head_dim], with precomputed rows.
EMSCRIPTEN_KEEPALIVE void rotate_alone(void* x, int rotation, int dtype, const float* cos, const float* sin, int tokens, int heads,
                                       int head_dim, bool scalar, int repeats) {
  const RotateKernels& kernels = scalar ? kScalarRotateKernels : fastest_rotate_kernels();
  const HeadTensor tensor = {x, x, static_cast<DType>(dtype), Layout::thd, {1, tokens, heads, head_dim}};
  for (int repeat = 0; repeat < repeats; ++repeat) {
    rotate(kernels, static_cast<Rotation>(rotation), tensor, {0, head_dim}, {cos, sin}, {0, 1, 0, tokens});
  }
}

// Peak rate of multiply-adds in registers: `count` times twelve, four lanes each, with the build's way to add products. Each one multiplies
// the previous result, so that compilers can't hoist the product.
EMSCRIPTEN_KEEPALIVE float multiply_add(int count, int repeats) {
  v128_t chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = wasm_f32x4_splat(0.01f * static_cast<float>(i));
  const v128_t factor = wasm_f32x4_splat(0.999f), added = wasm_f32x4_splat(0.001f);
  for (int i = 0; i < count * repeats; ++i) {
    for (v128_t& chain : chains) chain = Arithmetic::add_product(added, chain, factor);
  }
  v128_t total = wasm_f32x4_splat(0);
  for (const v128_t& chain : chains) total = wasm_f32x4_add(total, chain);
  return wasm_f32x4_extract_lane(total, 0);
}

// Peak rate of integer products: `count` times 4 × 2 vectors of 16 bytes, multiplied and added four at a time (relaxed: one instruction,
// one operand has seven bits), or two at a time as 16-bit numbers. Operands come from the first-level cache, as in a tile.
EMSCRIPTEN_KEEPALIVE int integer_dot(const std::int8_t* rows, const std::int8_t* columns, int count) {
  v128_t sums[4][2] = {};
  for (int i = 0; i < count; ++i) {
    const int at = (i & 15) * 32;
    v128_t column[2][2];
    for (int c = 0; c < 2; ++c) {
      column[c][0] = wasm_v128_load(columns + 512 * c + at);
      column[c][1] = wasm_v128_load(columns + 512 * c + at + 16);
    }
    for (int r = 0; r < 4; ++r) {
      const v128_t row[2] = {wasm_v128_load(rows + 512 * r + at), wasm_v128_load(rows + 512 * r + at + 16)};
      for (int c = 0; c < 2; ++c) {
        for (int half = 0; half < 2; ++half) {
#ifdef __wasm_relaxed_simd__
          sums[r][c] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(row[half], column[c][half], sums[r][c]);
#else
          sums[r][c] = wasm_i32x4_add(sums[r][c], wasm_i32x4_dot_i16x8(row[half], column[c][half]));
#endif
        }
      }
    }
  }
  v128_t total = wasm_i32x4_splat(0);
  for (const auto& row : sums) total = wasm_i32x4_add(total, wasm_i32x4_add(row[0], row[1]));
  return wasm_i32x4_extract_lane(total, 0);
}

// Reads bytes once, 64 per step, into four sums.
EMSCRIPTEN_KEEPALIVE float read_bytes(const float* x, int bytes, int repeats) {
  v128_t sums[4] = {};
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int i = 0; i < bytes / 4; i += 16) {
      for (int k = 0; k < 4; ++k) sums[k] = wasm_f32x4_add(sums[k], wasm_v128_load(x + i + 4 * k));
    }
  }
  return wasm_f32x4_extract_lane(wasm_f32x4_add(wasm_f32x4_add(sums[0], sums[1]), wasm_f32x4_add(sums[2], sums[3])), 0);
}
}
