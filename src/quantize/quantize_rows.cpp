#include "quantize/quantize_rows.h"

#include <atomic>
#include <bit>
#include <cstring>

#include "base/storage.h"
#include "base/thread_pool.h"
#include "matmul/dequantize.h"
#include "quantize/quantize_blocks.h"

namespace ropewalk {
namespace {

using QuantizeBlock = void (*)(const float* x, std::uint8_t* block);

template <class Element>
void round_to(const float* x, std::uint8_t* element) {
  Element rounded;
  from_float(*x, rounded);
  std::memcpy(element, &rounded, sizeof rounded);
}

QuantizeBlock quantizer_of(WeightFormat format) {
  switch (format) {
    case WeightFormat::f32: return round_to<float>;
    case WeightFormat::f16: return round_to<Float16>;
    case WeightFormat::bf16: return round_to<BFloat16>;
    case WeightFormat::q8_0: return quantize_q8_0;
    case WeightFormat::q4_0: return quantize_q4_0;
    case WeightFormat::q5_0: return quantize_q5_0;
    case WeightFormat::q4_k: return quantize_q4_k;
    case WeightFormat::q6_k: return quantize_q6_k;
    default: return nullptr;
  }
}

// Biased exponents of elements that can't be quantized: infinity and NaN, and for blocks 2^40 and above, so that sums of cubes stay finite.
constexpr std::uint32_t kInfinite = 255, kTooLarge = 127 + 40;

bool are_below(std::uint32_t exponent, const float* x, int count) {
  bool all = true;
  for (int i = 0; i < count; ++i) all &= (std::bit_cast<std::uint32_t>(x[i]) >> 23 & 0xFFu) < exponent;
  return all;
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
  const QuantizeBlock quantize = quantizer_of(to);
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
      for (int i = 0; i < count; i += elements, out += bytes) {
        quantize(x + i, out);
        if (is_infinite(to, out)) return is_finite.store(false, std::memory_order_relaxed);
      }
    }
  });
  if (const Status status = thread_pool().status(); status != Status::ok) return status;
  return is_finite.load(std::memory_order_relaxed) ? Status::ok : Status::weight_not_finite;
}

}  // namespace ropewalk
