#include "matmul/panel_exponent.h"

#include <algorithm>
#include <cmath>

#include "base/storage_wasmsimd.h"
#include "matmul/packed_rows.h"

namespace ropewalk {
namespace {

// Calls act(address) for each f16 field of a panel: those of eight rows.
template <class Byte, class Act>
void each_f16_of_rows(WeightFormat format, Byte* panel, int columns, Act&& act) {
  const BlockShape& shape = block_shape(format);
  const bool is_one_block = shape.elements == 1;  // a whole row of floats
  const int blocks = is_one_block ? 1 : columns / shape.elements;
  const int leading = leading_f16(format) * (is_one_block ? columns : 1), trailing = shape.trailing_halves;
  const int bytes = shape.bytes() * kPanelRows, first_trailing = bytes - 2 * trailing * kPanelRows;
  for (int block = 0; block < blocks; ++block, panel += bytes) {
    for (int i = 0; i < leading; ++i) act(panel + 2 * i * kPanelRows);
    for (int i = 0; i < trailing; ++i) act(panel + first_trailing + 2 * i * kPanelRows);
  }
}

constexpr int kLargestFinite = 30;  // exponent field

// The largest exponent field of the f16 numbers of a panel: kLargestFinite + 1 if one is infinite or NaN.
int largest_exponent(WeightFormat format, const std::uint8_t* panel, int columns) {
  v128_t largest = wasm_i16x8_splat(0);
  each_f16_of_rows(format, panel, columns, [&](const std::uint8_t* rows) {
    largest = wasm_u16x8_max(largest, wasm_v128_and(wasm_v128_load(rows), wasm_i16x8_splat(0x7FFF)));
  });
  std::uint16_t bits[kPanelRows];
  wasm_v128_store(bits, largest);
  return *std::max_element(bits, bits + kPanelRows) >> 10;
}

// Eight f16 numbers times 2^n.
v128_t scaled(v128_t halves, int n) {
  const v128_t added = wasm_i16x8_splat(static_cast<std::int16_t>(n * 1024)), zero = wasm_i16x8_splat(0);
  const v128_t exponents = wasm_v128_and(halves, wasm_i16x8_splat(0x7C00));
  const v128_t stay_normal = wasm_v128_and(wasm_i16x8_ne(exponents, zero), wasm_i16x8_gt(wasm_i16x8_add(exponents, added), zero));
  const v128_t are_zero = wasm_i16x8_eq(wasm_i16x8_shl(halves, 1), zero);
  if (wasm_i16x8_all_true(wasm_v128_or(stay_normal, are_zero))) return wasm_i16x8_add(halves, wasm_v128_and(added, stay_normal));
  const F32x8 values = load8(reinterpret_cast<const Float16*>(&halves));
  const v128_t factor = wasm_f32x4_splat(std::ldexp(1.0f, n));
  store8(reinterpret_cast<Float16*>(&halves), {wasm_f32x4_mul(values.low, factor), wasm_f32x4_mul(values.high, factor)});
  return halves;
}

}  // namespace

int panel_exponent(WeightFormat format, const std::uint8_t* panel, int columns) {
  if (!has_f16(format)) return 0;
  return std::clamp(kLargestFinite - largest_exponent(format, panel, columns), 0, kLargestPanelExponent);
}

bool has_finite_f16(WeightFormat format, const std::uint8_t* panel, int columns) {
  return !has_f16(format) || largest_exponent(format, panel, columns) <= kLargestFinite;
}

void scale_panel(WeightFormat format, std::uint8_t* panel, int columns, int n) {
  if (n == 0) return;  // a conversion would change the bits of NaN
  each_f16_of_rows(format, panel, columns, [&](std::uint8_t* rows) { wasm_v128_store(rows, scaled(wasm_v128_load(rows), n)); });
}

}  // namespace ropewalk
