// Reference implementation of the product kernels. Compiled without vectorization, so it is independent of the SIMD code it checks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/storage.h"
#include "matmul/dequantize.h"
#include "matmul/kernels/matmul_kernels.h"

namespace ropewalk {
namespace {

// Where a column lies among the words of a token.
int place_of(int column) {
  constexpr int kPlaces[4] = {0, 2, 1, 3};
  return column / 4 * 4 + kPlaces[column % 4];
}

void quantize_row(const float* x, int columns, const QuantizedRow& out) {
  constexpr float kMagic = 0x1.8p23f;  // adding it rounds to an integer, which ends up in the low bits
  for (int group = 0; group < columns / kActivationGroup; ++group) {
    const float* from = x + group * kActivationGroup;
    float largest = 0;
    for (int i = 0; i < kActivationGroup; ++i) largest = std::fmax(largest, std::fabs(from[i]));
    const float scale = largest / 127;
    const float inverse = scale < kSmallestActivationScale ? 0 : 1 / scale;
    out.scales[group] = scale;
    std::int16_t sums[2] = {};
    std::int32_t even_sum = 0;
    for (int i = 0; i < kActivationGroup; ++i) {
      const std::int32_t rounded = std::bit_cast<std::int32_t>(from[i] * inverse + kMagic) - std::bit_cast<std::int32_t>(kMagic);
      const std::int8_t byte = static_cast<std::int8_t>(std::clamp(rounded, -128, 127));
      const int column = group * kActivationGroup + i;
      if (out.bytes != nullptr) out.bytes[column] = byte;
      if (out.words != nullptr) out.words[place_of(column)] = byte;
      if (column % 2 == 0) even_sum += byte;
      sums[i / 16] = static_cast<std::int16_t>(sums[i / 16] + byte);
    }
    std::copy_n(sums, 2, out.sums + 2 * group);
    if (out.words == nullptr) continue;
    out.even_offsets[group] = -128 * even_sum;
    for (std::int16_t* four = out.words + group * kActivationGroup; four != out.words + (group + 1) * kActivationGroup; four += 4) {
      for (int i = 0; i < 2; ++i) four[2 + i] = static_cast<std::int16_t>(four[2 + i] - 256 * four[i]);
    }
  }
}

template <class Element>
void multiply_floats(const PanelParts& panels, const TokenRows& x, float* sums) {
  for (int i = 0; i < panels.count; ++i, sums += panels.sums_apart) {
    const std::uint8_t* at = panels.first.weights + i * panels.bytes_apart;
    for (int column = 0; column < panels.first.columns; ++column) {
      for (int row = 0; row < kPanelRows; ++row, at += sizeof(Element)) {
        Element weight;
        std::memcpy(&weight, at, sizeof weight);
        sums[column % kPartialSums * kPanelRows + row] += to_float(weight) * panels.first.unit * x.floats[column];
      }
    }
  }
}

// A column of a token that lies alone.
int rounded(const QuantizedRow& x, int column) {
  if (x.bytes != nullptr) return x.bytes[column];
  return x.words[place_of(column)] + (column % 2 == 0 ? 0 : 256 * x.words[place_of(column - 1)]);
}

// The product with 32 columns of one row, which start at element `first` of its block.
float multiply_group(const UnpackedBlock& block, int first, const QuantizedRow& x, int column) {
  std::int32_t quants = 0, minimums = 0;
  for (int i = 0; i < kActivationGroup; ++i) {
    const int sub_scale = (first + i) / 16;
    quants += block.sub_scales[sub_scale] * block.quants[first + i] * rounded(x, column + i);
    minimums += block.minimums[sub_scale] * rounded(x, column + i);
  }
  return static_cast<float>(quants) * block.scale - static_cast<float>(minimums) * block.minimum_scale;
}

// The same for a format with a scale for each 16 columns.
float multiply_halves_of_group(const UnpackedBlock& block, int first, const QuantizedRow& x, int column) {
  std::int32_t sums[2] = {};
  for (int i = 0; i < kActivationGroup; ++i) sums[i / 16] += block.quants[first + i] * rounded(x, column + i);
  const float* scales = block.scales_of_16 + first / 16;
  return static_cast<float>(sums[0]) * scales[0] + static_cast<float>(sums[1]) * scales[1];
}

void multiply_blocks(WeightFormat format, const PanelParts& panels, const TokenRows& x, float* sums) {
  const int elements = block_elements(format);
  const auto multiply = has_scales_of_16(format) ? multiply_halves_of_group : multiply_group;
  std::uint8_t bytes[kLargestBlockBytes];
  UnpackedBlock block;
  for (int i = 0; i < panels.count; ++i, sums += panels.sums_apart) {
    const std::uint8_t* at = panels.first.weights + i * panels.bytes_apart;
    for (int column = 0; column < panels.first.columns; column += elements, at += block_bytes(format) * kPanelRows) {
      for (int row = 0; row < kPanelRows; ++row) {
        unpack_panel_row(format, at, row, elements, bytes);
        unpack_block(format, bytes, block);
        block.scale *= panels.first.unit;
        block.minimum_scale *= panels.first.unit;
        for (int first = 0; first < elements; first += kActivationGroup) {
          const float product = multiply(block, first, x.quantized, column + first);
          sums[row] += product * x.quantized.scales[(column + first) / kActivationGroup];
        }
      }
    }
  }
}

template <WeightFormat Format>
void multiply_quantized(const PanelParts& panels, const TokenRows& x, float* sums) {
  multiply_blocks(Format, panels, x, sums);
}

template <int... Quantized>
constexpr MatmulKernels scalar_kernels(std::integer_sequence<int, Quantized...>) {
  constexpr int kFloats = static_cast<int>(WeightFormat::q8_0);
  return {"scalar",
          [](WeightFormat format) { return is_float(format) ? "floats" : "words"; },
          quantize_row,
          nullptr,
          [](WeightFormat) {
            return RoundedInputs{true, false};
          },
          {multiply_floats<float>, multiply_floats<Float16>, multiply_floats<BFloat16>,
           multiply_quantized<static_cast<WeightFormat>(kFloats + Quantized)>...},
          {},
          {},
          {},
          nullptr};
}

}  // namespace

const MatmulKernels kScalarMatmulKernels =
    scalar_kernels(std::make_integer_sequence<int, kWeightFormats - static_cast<int>(WeightFormat::q8_0)>());

}  // namespace ropewalk
