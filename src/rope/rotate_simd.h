// The SIMD kernels, written once; an Arithmetic says how a product is added. Same shape as rotate_scalar.cpp.
#pragma once

#include <cstring>
#include <type_traits>

#include "rope/config.h"
#include "rope/pair_layout.h"
#include "rope/rotate_kernels.h"

namespace ropewalk {

template <class Arithmetic>
inline Pairs8 turn(const Pairs8& p, const F32x8& c, const F32x8& s) {
  return {{Arithmetic::subtract_product(wasm_f32x4_mul(p.x.low, c.low), p.y.low, s.low),
           Arithmetic::subtract_product(wasm_f32x4_mul(p.x.high, c.high), p.y.high, s.high)},
          {Arithmetic::add_product(wasm_f32x4_mul(p.y.low, c.low), p.x.low, s.low),
           Arithmetic::add_product(wasm_f32x4_mul(p.y.high, c.high), p.x.high, s.high)}};
}

template <class Arithmetic, class Read, class Write, class Element>
inline void turn_head(const Element* source, Element* target, const float* cos, const float* sin, int pairs) {
  int j = 0;
  for (; j + 8 <= pairs; j += 8) {
    const Pairs8 p = Read::load(source, j, pairs);
    const F32x8 c = load8(cos + j);
    const F32x8 s = load8(sin + j);

    Write::store(target, j, pairs, turn<Arithmetic>(p, c, s));
  }
  for (; j < pairs; ++j) {
    const float x = to_float(source[Read::x(j, pairs)]);
    const float y = to_float(source[Read::y(j, pairs)]);
    from_float(x * cos[j] - y * sin[j], target[Write::x(j, pairs)]);
    from_float(y * cos[j] + x * sin[j], target[Write::y(j, pairs)]);
  }
}

template <class Arithmetic, class Read, class Write, class Element>
void rotate_simd(const HeadRun& run) {
  const Element* source = static_cast<const Element*>(run.source);
  Element* target = static_cast<Element*>(run.target);
  const float* cos = run.cos;
  const float* sin = run.sin;

  for (int head = 0; head < run.count; ++head) {
    if constexpr (std::is_same_v<Read, Write>) {
      turn_head<Arithmetic, Read, Write>(source, target, cos, sin, run.pairs);
    } else {
      Element turned[kMaxHeadDim];  // in place, the span as written would overtake the span being read
      turn_head<Arithmetic, Read, Write>(source, turned, cos, sin, run.pairs);
      std::memcpy(target, turned, 2 * run.pairs * sizeof(Element));
    }
    source += run.source_stride;
    target += run.target_stride;
    cos += run.row_stride;
    sin += run.row_stride;
  }
}

template <class Arithmetic>
constexpr RotateKernels simd_kernels(const char* name) {
  return {name,
          {{rotate_simd<Arithmetic, Half, Half, float>, rotate_simd<Arithmetic, Half, Half, Float16>,
            rotate_simd<Arithmetic, Half, Half, BFloat16>},
           {rotate_simd<Arithmetic, Interleaved, Interleaved, float>, rotate_simd<Arithmetic, Interleaved, Interleaved, Float16>,
            rotate_simd<Arithmetic, Interleaved, Interleaved, BFloat16>},
           {rotate_simd<Arithmetic, Interleaved, Half, float>, rotate_simd<Arithmetic, Interleaved, Half, Float16>,
            rotate_simd<Arithmetic, Interleaved, Half, BFloat16>},
           {rotate_simd<Arithmetic, Half, Interleaved, float>, rotate_simd<Arithmetic, Half, Interleaved, Float16>,
            rotate_simd<Arithmetic, Half, Interleaved, BFloat16>}}};
}

}  // namespace ropewalk
