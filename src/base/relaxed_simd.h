// Only for the relaxed build: its multiply-add, what this engine's relaxed dot product computes, and what that says about the engine.
#pragma once

#include <wasm_simd128.h>

namespace ropewalk {

// As MultiplyThenAdd (add_product.h), with one rounding if the processor has a fused multiply-add, else two. So the last bit depends on the
// engine.
struct RelaxedMultiplyAdd {
  static v128_t add_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_relaxed_madd(a, b, sum); }
  static v128_t subtract_product(v128_t sum, v128_t a, v128_t b) { return wasm_f32x4_relaxed_nmadd(a, b, sum); }
};

// How this engine reads the second operand of the relaxed dot product if its sign bit is set. WebAssembly leaves that to the engine, but
// requires the same behavior every time.
enum class RelaxedSign { is_signed, is_unsigned, neither };

inline RelaxedSign relaxed_sign() {
  const v128_t first = wasm_i8x16_const(127, 127, 127, 127, -127, -127, -127, -127, 127, -127, 127, -127, 1, 2, 3, 4);
  const v128_t second = wasm_i8x16_const(-1, -1, -1, -1, -1, -1, -1, -1, -128, -1, 127, -2, -128, -127, -1, 1);
  const v128_t dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(first, second, wasm_i32x4_splat(0));
  const auto is = [&](v128_t expected) { return wasm_i32x4_all_true(wasm_i32x4_eq(dot, expected)); };
  // these also detect engines that add pairs of products in 16 bits, where four times 127 · 255 doesn't fit
  if (is(wasm_i32x4_const(4 * 127 * -1, 4 * -127 * -1, 127 * (-128 + 1 + 127 + 2), -128 - 2 * 127 - 3 + 4))) return RelaxedSign::is_signed;
  if (is(wasm_i32x4_const(4 * 127 * 255, 4 * -127 * 255, 127 * (128 - 255 + 127 - 254), 128 + 2 * 129 + 3 * 255 + 4))) {
    return RelaxedSign::is_unsigned;
  }
  return RelaxedSign::neither;
}

// Whether twelve sums stay in registers with what they are multiplied with. Processors start two multiply-adds in each cycle and take four
// or five cycles for each, so that twelve sums are faster than eight. Engines that add four products in one instruction are new enough, on
// x86-64, to keep the order of instructions. Older ones load all operands of a step first.
inline bool holds_twelve_sums() { return relaxed_sign() != RelaxedSign::neither; }

}  // namespace ropewalk
