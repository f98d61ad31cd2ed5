// The SIMD rotation kernels, as templates over the multiply-add (base/add_product.h). Same structure as rotate_scalar.cpp.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

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

// Source and target share a pairing, so pairs are rotated in place.
template <class Arithmetic, class Pairing, class Element>
void rotate_simd(const HeadRun& run) {
  const Element* source = static_cast<const Element*>(run.source);
  Element* target = static_cast<Element*>(run.target);
  const float* cos = run.cos;
  const float* sin = run.sin;
  constexpr bool is_f32 = sizeof(Element) == sizeof(float);  // 16-bit elements gain nothing: their time goes into conversions

  int head = 0;
  if (is_f32 && run.row_stride == 0 && !run.in_order) {
    for (; head + 2 <= run.count; head += 2, source += 2 * run.source_stride, target += 2 * run.target_stride) {
      rotate_heads<Arithmetic, Pairing, Pairing, 2>(source, run.source_stride, target, run.target_stride, cos, sin, run.pairs);
    }
  }
  for (; head < run.count; ++head, source += run.source_stride, target += run.target_stride, cos += run.row_stride, sin += run.row_stride) {
    if constexpr (is_f32 && std::is_same_v<Pairing, Half>) {
      if (run.in_order && run.pairs % 64 == 0) {
        rotate_unrolled<Arithmetic, Pairing>(source, target, cos, sin, run.pairs, std::make_integer_sequence<int, 8>());
        continue;
      }
      if (run.in_order && run.pairs % 32 == 0) {
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
