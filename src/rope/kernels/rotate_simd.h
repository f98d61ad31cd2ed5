// The SIMD rotation kernels, as templates over the multiply-add (base/add_product.h). Same structure as rotate_scalar.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/add_product.h"
#include "base/touch.h"
#include "rope/config.h"
#include "rope/kernels/pair_layout.h"
#include "rope/kernels/rotate_kernels.h"

namespace ropewalk {

template <class Arithmetic>
inline Pairs8 rotate_pairs(const Pairs8& p, const F32x8& c, const F32x8& s) {
  return {{Arithmetic::subtract_product(wasm_f32x4_mul(p.x.low, c.low), p.y.low, s.low),
           Arithmetic::subtract_product(wasm_f32x4_mul(p.x.high, c.high), p.y.high, s.high)},
          {Arithmetic::add_product(wasm_f32x4_mul(p.y.low, c.low), p.x.low, s.low),
           Arithmetic::add_product(wasm_f32x4_mul(p.y.high, c.high), p.x.high, s.high)}};
}

// Rotates pairs [j, j + 8) of `Heads` heads that share a row, so that each vector of cos and sin is loaded once for all of them.
template <class Arithmetic, class Read, class Write, int Heads, class Element>
inline void rotate_eight(const Element* source, std::ptrdiff_t source_stride, Element* target, std::ptrdiff_t target_stride,
                         const float* cos, const float* sin, int j, int pairs) {
  const F32x8 c = load8(cos + j);
  const F32x8 s = load8(sin + j);
  for (int head = 0; head < Heads; ++head) {
    const Pairs8 p = Read::load(source + head * source_stride, j, pairs);
    Write::store(target + head * target_stride, j, pairs, rotate_pairs<Arithmetic>(p, c, s));
  }
}

// The same for all pairs.
template <class Arithmetic, class Read, class Write, int Heads, class Element>
inline void rotate_heads(const Element* source, std::ptrdiff_t source_stride, Element* target, std::ptrdiff_t target_stride,
                         const float* cos, const float* sin, int pairs) {
  int j = 0;
  for (; j + 8 <= pairs; j += 8) {
    rotate_eight<Arithmetic, Read, Write, Heads>(source, source_stride, target, target_stride, cos, sin, j, pairs);
  }
  for (; j < pairs; ++j) {
    for (int head = 0; head < Heads; ++head) {
      const float x = to_float(source[head * source_stride + Read::x(j, pairs)]);
      const float y = to_float(source[head * source_stride + Read::y(j, pairs)]);
      from_float(x * cos[j] - y * sin[j], target[head * target_stride + Write::x(j, pairs)]);
      from_float(y * cos[j] + x * sin[j], target[head * target_stride + Write::y(j, pairs)]);
    }
  }
}

// Rotates one head, `8 * sizeof...(Group)` pairs per iteration, which must divide `pairs`. If an iteration is a whole head, each load
// instruction reads at a constant distance from its last address, and prefetchers predict by that. In a rolled loop over halves the
// distance varies, and on AMD (Zen 5) heads aligned to half their size take 1.5 times as long. Interleaved pairs have a constant distance
// anyway.
template <class Arithmetic, class Pairing, int... Group>
inline void rotate_unrolled(const float* source, float* target, const float* cos, const float* sin, int pairs,
                            std::integer_sequence<int, Group...>) {
  for (int j = 0; j < pairs; j += 8 * static_cast<int>(sizeof...(Group))) {
    (rotate_eight<Arithmetic, Pairing, Pairing, 1>(source, 0, target, 0, cos, sin, j + 8 * Group, pairs), ...);
  }
}

constexpr int kLineFloats = kLineBytes / sizeof(float);

// In the next functions the number of pairs is a constant and pairs are rotated in place, so that all addresses are one register plus a
// constant. With a source and a target, or with pairs as a variable, the same loops take up to a third longer in data of a cache.

// Rotates heads that share a row, a cache line of x and one of y at a time. Cos and sin of a line stay in registers. If `HasNext`, as many
// lines at `next` are fetched meanwhile, one after the other: processors read ahead along one stream, but on AMD (Zen 1, Zen 3) not along
// heads in turn.
template <class Arithmetic, int Heads, bool HasNext, int Pairs>
inline void rotate_halves(float* heads, std::ptrdiff_t stride, const float* cos, const float* sin, const float* next) {
  ROPEWALK_ROLLED for (int j = 0; j < Pairs; j += kLineFloats) {
    v128_t c[4], s[4];
    for (int k = 0; k < 4; ++k) {
      c[k] = wasm_v128_load(cos + j + 4 * k);
      s[k] = wasm_v128_load(sin + j + 4 * k);
    }
    ROPEWALK_UNROLLED for (int head = 0; head < Heads; ++head) {
      if constexpr (HasNext) {
        touch_line(next + 2 * (j * Heads + kLineFloats * head));
        touch_line(next + 2 * (j * Heads + kLineFloats * head) + kLineFloats);
      }
      for (int k = 0; k < 4; ++k) {
        float* at = heads + head * stride + j + 4 * k;
        const v128_t x = wasm_v128_load(at), y = wasm_v128_load(at + Pairs);
        wasm_v128_store(at, Arithmetic::subtract_product(wasm_f32x4_mul(x, c[k]), y, s[k]));
        wasm_v128_store(at + Pairs, Arithmetic::add_product(wasm_f32x4_mul(y, c[k]), x, s[k]));
      }
    }
  }
}

// Rotates heads side by side that share a row. The whole heads are unrolled, so that each load reads at a constant distance from its last
// address.
template <class Arithmetic, int Heads, int Pairs>
inline void rotate_whole_halves(float* heads, const float* cos, const float* sin) {
  ROPEWALK_UNROLLED for (int j = 0; j < Pairs; j += 4) {
    const v128_t c = wasm_v128_load(cos + j), s = wasm_v128_load(sin + j);
    ROPEWALK_UNROLLED for (int head = 0; head < Heads; ++head) {
      float* at = heads + 2 * Pairs * head + j;
      const v128_t x = wasm_v128_load(at), y = wasm_v128_load(at + Pairs);
      wasm_v128_store(at, Arithmetic::subtract_product(wasm_f32x4_mul(x, c), y, s));
      wasm_v128_store(at + Pairs, Arithmetic::add_product(wasm_f32x4_mul(y, c), x, s));
    }
  }
}

// A row for interleaved pairs as they are stored: (cos, cos) and (−sin, sin) of each pair.
template <int Pairs>
struct SpreadRow {
  SpreadRow(const float* row_cos, const float* row_sin) {
    const v128_t sign_of_x = wasm_i64x2_splat(std::int64_t{0x80000000});
    ROPEWALK_ROLLED for (int j = 0; j < Pairs; j += 4) {
      const v128_t c = wasm_v128_load(row_cos + j), s = wasm_v128_load(row_sin + j);
      wasm_v128_store(cos + 2 * j, wasm_i32x4_shuffle(c, c, 0, 0, 1, 1));
      wasm_v128_store(cos + 2 * j + 4, wasm_i32x4_shuffle(c, c, 2, 2, 3, 3));
      wasm_v128_store(sin + 2 * j, wasm_v128_xor(wasm_i32x4_shuffle(s, s, 0, 0, 1, 1), sign_of_x));
      wasm_v128_store(sin + 2 * j + 4, wasm_v128_xor(wasm_i32x4_shuffle(s, s, 2, 2, 3, 3), sign_of_x));
    }
  }
  alignas(64) float cos[2 * Pairs];
  float sin[2 * Pairs];
};

// Rotates heads of interleaved pairs that share a row, without taking the pairs apart: (x', y') = (x, y) · (cos, cos) + (y, x) · (−sin,
// sin). A vector is shuffled once, not twice. x · cos + y · (−sin) has the bits of x · cos − y · sin. A cache line of the row stays in
// registers. Lines at `next` are fetched as in rotate_halves().
template <class Arithmetic, int Heads, bool HasNext, int Pairs>
inline void rotate_spread(float* heads, std::ptrdiff_t stride, const SpreadRow<Pairs>& row, const float* next) {
  ROPEWALK_ROLLED for (int i = 0; i < 2 * Pairs; i += kLineFloats) {
    v128_t c[4], s[4];
    for (int k = 0; k < 4; ++k) {
      c[k] = wasm_v128_load(row.cos + i + 4 * k);
      s[k] = wasm_v128_load(row.sin + i + 4 * k);
    }
    ROPEWALK_UNROLLED for (int head = 0; head < Heads; ++head) {
      if constexpr (HasNext) touch_line(next + i * Heads + kLineFloats * head);
      for (int k = 0; k < 4; ++k) {
        float* at = heads + head * stride + i + 4 * k;
        const v128_t xy = wasm_v128_load(at);
        wasm_v128_store(at, Arithmetic::add_product(wasm_f32x4_mul(xy, c[k]), wasm_i32x4_shuffle(xy, xy, 1, 0, 3, 2), s[k]));
      }
    }
  }
}

// The same for whole heads side by side, unrolled.
template <class Arithmetic, int Heads, int Pairs>
inline void rotate_whole_spread(float* heads, const SpreadRow<Pairs>& row) {
  ROPEWALK_UNROLLED for (int i = 0; i < 2 * Pairs; i += 4) {
    const v128_t c = wasm_v128_load(row.cos + i), s = wasm_v128_load(row.sin + i);
    ROPEWALK_UNROLLED for (int head = 0; head < Heads; ++head) {
      float* at = heads + 2 * Pairs * head + i;
      const v128_t xy = wasm_v128_load(at);
      wasm_v128_store(at, Arithmetic::add_product(wasm_f32x4_mul(xy, c), wasm_i32x4_shuffle(xy, xy, 1, 0, 3, 2), s));
    }
  }
}

// Rotates heads in groups that share a row, and returns how many: all but those of the last, incomplete group.
template <class Arithmetic, class Pairing, int Pairs>
int rotate_groups(const HeadRun& run) {
  float* heads = static_cast<float*>(run.target);
  const std::ptrdiff_t stride = run.target_stride;  // copies, because a store of floats might change the run
  const float *cos = run.cos, *sin = run.sin, *next = static_cast<const float*>(run.next);
  const int count = run.count;
  const bool is_whole = run.order == HeadOrder::whole, are_side_by_side = stride == 2 * Pairs;
  int head = 0;
  // Where the heads start that `group` heads in turn fetch: eight heads further on, in the next token if this one ends before that, or, for
  // the last token, the heads that are rotated. Of fewer than eight heads, those would be outside of the tensor. If their number isn't a
  // multiple of `group`, some aren't fetched.
  const auto next_of = [&](int group) -> const float* {
    if (head + 8 + group <= count) return heads + 16 * Pairs;
    return next == nullptr ? heads : next + std::max(0, head + 8 - count) * 2 * Pairs;
  };
  if constexpr (std::is_same_v<Pairing, Half>) {
    if constexpr (Pairs == 64) {  // on Intel, smaller heads gain nothing
      if (is_whole && are_side_by_side) {
        ROPEWALK_ROLLED for (; head + 4 <= count; head += 4, heads += 8 * Pairs) rotate_whole_halves<Arithmetic, 4, Pairs>(heads, cos, sin);
      } else if (are_side_by_side && count >= 8) {
        for (; head + 4 <= count; head += 4, heads += 8 * Pairs) {
          rotate_halves<Arithmetic, 4, true, Pairs>(heads, 2 * Pairs, cos, sin, next_of(4));
        }
      }
    }
    for (; head + 2 <= count; head += 2, heads += 2 * stride) {
      rotate_halves<Arithmetic, 2, false, Pairs>(heads, stride, cos, sin, nullptr);
    }
  } else if (count >= 4) {  // else spreading the row costs more than it saves
    const SpreadRow<Pairs> row(cos, sin);
    if constexpr (Pairs == 64) {
      if (!is_whole && are_side_by_side) {
        for (; head + 8 <= count; head += 8, heads += 16 * Pairs) {
          rotate_spread<Arithmetic, 8, true>(heads, 2 * Pairs, row, next_of(8));
        }
      }
    }
    if (are_side_by_side) {
      ROPEWALK_ROLLED for (; head + 2 <= count; head += 2, heads += 4 * Pairs) rotate_whole_spread<Arithmetic, 2, Pairs>(heads, row);
    }
    for (; head + 2 <= count; head += 2, heads += 2 * stride) rotate_spread<Arithmetic, 2, false>(heads, stride, row, nullptr);
  }
  return head;
}

// Rotates heads that have a row each, one by one, in place.
template <class Arithmetic, int Pairs>
int rotate_in_order(const HeadRun& run) {
  float* heads = static_cast<float*>(run.target);
  const std::ptrdiff_t stride = run.target_stride, row_stride = run.row_stride;
  const float *cos = run.cos, *sin = run.sin;
  const int count = run.count;
  for (int head = 0; head < count; ++head, heads += stride, cos += row_stride, sin += row_stride) {
    rotate_unrolled<Arithmetic, Half>(heads, heads, cos, sin, Pairs, std::make_integer_sequence<int, Pairs / 8>());
  }
  return count;
}

// Rotates what has a kernel with a constant number of pairs, and returns how many heads that is.
template <class Arithmetic, class Pairing, int Pairs>
int rotate_constant(const HeadRun& run) {
  if (run.row_stride == 0) return rotate_groups<Arithmetic, Pairing, Pairs>(run);
  if constexpr (std::is_same_v<Pairing, Half> && Pairs == 64) {
    if (run.order == HeadOrder::whole) return rotate_in_order<Arithmetic, Pairs>(run);
  }
  return 0;
}

// Source and target share a pairing, so pairs are rotated in place.
template <class Arithmetic, class Pairing, class Element>
void rotate_simd(const HeadRun& run) {
  constexpr bool is_f32 = sizeof(Element) == sizeof(float);  // 16-bit elements gain nothing: their time goes into conversions
  int head = 0;
  if constexpr (is_f32) {
    if (run.source == run.target && run.source_stride == run.target_stride) {
      if (run.pairs == 64) head = rotate_constant<Arithmetic, Pairing, 64>(run);
      if (run.pairs == 32) head = rotate_constant<Arithmetic, Pairing, 32>(run);
    }
  }

  const Element* source = static_cast<const Element*>(run.source) + head * run.source_stride;
  Element* target = static_cast<Element*>(run.target) + head * run.target_stride;
  const float* cos = run.cos + head * run.row_stride;
  const float* sin = run.sin + head * run.row_stride;
  const bool is_unrolled = is_f32 && std::is_same_v<Pairing, Half> && run.order == HeadOrder::whole && run.pairs % 32 == 0;
  if (is_f32 && run.row_stride == 0 && !is_unrolled) {
    for (; head + 2 <= run.count; head += 2, source += 2 * run.source_stride, target += 2 * run.target_stride) {
      rotate_heads<Arithmetic, Pairing, Pairing, 2>(source, run.source_stride, target, run.target_stride, cos, sin, run.pairs);
    }
  }
  for (; head < run.count; ++head, source += run.source_stride, target += run.target_stride, cos += run.row_stride, sin += run.row_stride) {
    if constexpr (is_f32 && std::is_same_v<Pairing, Half>) {
      if (is_unrolled) {
        rotate_unrolled<Arithmetic, Pairing>(source, target, cos, sin, run.pairs, std::make_integer_sequence<int, 4>());
        continue;
      }
    }
    rotate_heads<Arithmetic, Pairing, Pairing, 1>(source, 0, target, 0, cos, sin, run.pairs);
  }
}

// Source and target differ in pairing. In place, a write would overwrite unread elements, so each head goes through a copy.
template <class Arithmetic, class Read, class Write, class Element>
void rotate_moving_simd(const HeadRun& run) {
  const Element* source = static_cast<const Element*>(run.source);
  Element* target = static_cast<Element*>(run.target);
  Element rotated[kMaxHeadDim];
  for (int head = 0; head < run.count; ++head, source += run.source_stride, target += run.target_stride) {
    const std::ptrdiff_t row = head * run.row_stride;
    rotate_heads<Arithmetic, Read, Write, 1>(source, 0, rotated, 0, run.cos + row, run.sin + row, run.pairs);
    std::memcpy(target, rotated, 2 * run.pairs * sizeof(Element));
  }
}

template <class Arithmetic>
constexpr RotateKernels simd_kernels(const char* name) {
  return {name,
          {{rotate_simd<Arithmetic, Half, float>, rotate_simd<Arithmetic, Half, Float16>, rotate_simd<Arithmetic, Half, BFloat16>},
           {rotate_simd<Arithmetic, Interleaved, float>, rotate_simd<Arithmetic, Interleaved, Float16>,
            rotate_simd<Arithmetic, Interleaved, BFloat16>},
           {rotate_moving_simd<Arithmetic, Interleaved, Half, float>, rotate_moving_simd<Arithmetic, Interleaved, Half, Float16>,
            rotate_moving_simd<Arithmetic, Interleaved, Half, BFloat16>},
           {rotate_moving_simd<Arithmetic, Half, Interleaved, float>, rotate_moving_simd<Arithmetic, Half, Interleaved, Float16>,
            rotate_moving_simd<Arithmetic, Half, Interleaved, BFloat16>}}};
}

}  // namespace ropewalk
