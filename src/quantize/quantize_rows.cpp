#include "quantize/quantize_rows.h"

#include <atomic>
#include <bit>
#include <cstring>

#include "base/storage_wasmsimd.h"
#include "base/thread_pool.h"
#include "matmul/dequantize.h"
#include "quantize/quantize_blocks.h"

namespace ropewalk {
namespace {

// Writes the blocks of `count` elements.
using Quantize = void (*)(const float* x, int count, std::uint8_t* out);

template <class Element>
void round_to(const float* x, int count, std::uint8_t* out) {
  convert_elements<float, Element>(x, count, out);
}

template <WeightFormat Format, auto QuantizeBlock>
void each_block(const float* x, int count, std::uint8_t* out) {
  constexpr int kElements = block_elements(Format), kBytes = block_bytes(Format);
  for (int i = 0; i < count; i += kElements, out += kBytes) QuantizeBlock(x + i, out);
}

Quantize quantizer_of(WeightFormat format) {
  using enum WeightFormat;
  switch (format) {
    case f32: return round_to<float>;
    case f16: return round_to<Float16>;
    case bf16: return round_to<BFloat16>;
    case q8_0: return each_block<q8_0, quantize_q8_0>;
    case q4_0: return each_block<q4_0, quantize_q4_0>;
    case q5_0: return each_block<q5_0, quantize_q5_0>;
    case q4_k: return each_block<q4_k, quantize_q4_k>;
    case q6_k: return each_block<q6_k, quantize_q6_k>;
    default: return nullptr;
  }
}

// Biased exponents of elements that can't be quantized: infinity and NaN, and for blocks 2^40 and above, so that sums of cubes stay finite.
constexpr std::uint32_t kInfinite = 255, kTooLarge = 127 + 40;

bool are_below(std::uint32_t exponent, const float* x, int count) {
  v128_t largest = wasm_i32x4_splat(0);
  int i = 0;
  for (; i + 4 <= count; i += 4) largest = wasm_i32x4_max(largest, wasm_f32x4_abs(wasm_v128_load(x + i)));
  bool are = !wasm_v128_any_true(wasm_i32x4_ge(largest, wasm_i32x4_splat(static_cast<std::int32_t>(exponent << 23))));
  for (; i < count; ++i) are &= (std::bit_cast<std::uint32_t>(x[i]) >> 23 & 0xFFu) < exponent;
  return are;
}

// Whether a 16-bit field of a block is an infinite scale or element.
bool is_infinite(WeightFormat format, const std::uint8_t* block) {
  const auto is_infinite_at = [block](int offset, unsigned exponent) {
    std::uint16_t bits;
    std::memcpy(&bits, block + offset, sizeof bits);
    return (bits & exponent) == exponent;
  };
  if (format == WeightFormat::f32) return false;
  if (format == WeightFormat::bf16) return is_infinite_at(0, 0x7F80u);
  if (format == WeightFormat::q6_k) return is_infinite_at(208, 0x7C00u);
  return is_infinite_at(0, 0x7C00u) || (format == WeightFormat::q4_k && is_infinite_at(2, 0x7C00u));
}

// Operations for one element: the search of the larger blocks tries some twenty scales.
int work_of(WeightFormat format) { return block_elements(format) == kLargestBlockElements ? 300 : 8; }

}  // namespace

bool is_quantization_target(WeightFormat format) { return quantizer_of(format) != nullptr; }

Status quantize_rows(WeightFormat from, const void* source, int rows, int columns, WeightFormat to, void* target) {
  const Quantize quantize = quantizer_of(to);
  const bool is_known = from == WeightFormat::f32 || from == WeightFormat::f16 || from == WeightFormat::bf16;
  if (!is_known || quantize == nullptr) return Status::weight_format_unknown;
  const int elements = block_elements(to), bytes = block_bytes(to);
  if (columns % elements != 0) return Status::weight_shape;
  const std::size_t source_row = weight_row_bytes(from, columns), target_row = weight_row_bytes(to, columns);
  const std::uint32_t limit = is_float(to) ? kInfinite : kTooLarge;
  std::atomic<bool> is_finite{true};
  each_in_parallel(rows, static_cast<std::int64_t>(columns) * work_of(to), [&](int row) {
    const std::uint8_t* in = static_cast<const std::uint8_t*>(source) + row * source_row;
    std::uint8_t* out = static_cast<std::uint8_t*>(target) + row * target_row;
    float x[kLargestBlockElements];
    for (int first = 0; first < columns; first += kLargestBlockElements) {
      const int count = columns - first < kLargestBlockElements ? columns - first : kLargestBlockElements;
      dequantize(from, in + weight_row_bytes(from, first), count, x);
      if (!are_below(limit, x, count)) return is_finite.store(false, std::memory_order_relaxed);
      quantize(x, count, out);
      for (int i = 0; i < count; i += elements, out += bytes) {
        if (is_infinite(to, out)) return is_finite.store(false, std::memory_order_relaxed);
      }
    }
  });
  if (const Status status = thread_pool().status(); status != Status::ok) return status;
  return is_finite.load(std::memory_order_relaxed) ? Status::ok : Status::weight_not_finite;
}

}  // namespace ropewalk
