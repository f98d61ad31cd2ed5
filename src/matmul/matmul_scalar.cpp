// Reference implementation of the product kernels. Compiled without vectorization, so it is independent of the SIMD code it checks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/storage.h"
#include "matmul/dequantize.h"
#include "matmul/matmul_kernels.h"

namespace ropewalk {
namespace {

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
    for (int i = 0; i < kActivationGroup; ++i) {
      const std::int32_t rounded = std::bit_cast<std::int32_t>(from[i] * inverse + kMagic) - std::bit_cast<std::int32_t>(kMagic);
      const std::int8_t byte = static_cast<std::int8_t>(std::clamp(rounded, -128, 127));
      const int column = group * kActivationGroup + i;
      constexpr int kPlaces[4] = {0, 2, 1, 3};
      out.bytes[column] = byte;
      out.words[column / 4 * 4 + kPlaces[column % 4]] = byte;
      sums[i / 16] = static_cast<std::int16_t>(sums[i / 16] + byte);
    }
    std::copy_n(sums, 2, out.sums + 2 * group);
  }
}

template <class Element>
void multiply_floats(const PanelPart& panel, const TokenRows& x, float* sums) {
  const std::uint8_t* at = panel.weights;
  for (int column = 0; column < panel.columns; ++column) {
    for (int row = 0; row < kPanelRows; ++row, at += sizeof(Element)) {
      Element weight;
      std::memcpy(&weight, at, sizeof weight);
      sums[column % kPartialSums * kPanelRows + row] += to_float(weight) * x.floats[column];
    }
  }
}

// The product with 32 columns of one row, which start at element `first` of its block.
float multiply_group(const UnpackedBlock& block, int first, const QuantizedRow& x, int column) {
  std::int32_t quants = 0, minimums = 0;
  for (int i = 0; i < kActivationGroup; ++i) {
    const int sub_scale = (first + i) / 16;
    quants += block.sub_scales[sub_scale] * block.quants[first + i] * x.bytes[column + i];
    minimums += block.minimums[sub_scale] * x.bytes[column + i];
  }
  return static_cast<float>(quants) * block.scale - static_cast<float>(minimums) * block.minimum_scale;
}

template <WeightFormat Format>
void multiply_quantized(const PanelPart& panel, const TokenRows& x, float* sums) {
  constexpr int kElements = block_elements(Format);
  std::uint8_t bytes[block_bytes(Format)];
  UnpackedBlock block;
  const std::uint8_t* at = panel.weights;
  for (int column = 0; column < panel.columns; column += kElements, at += sizeof bytes * kPanelRows) {
    for (int row = 0; row < kPanelRows; ++row) {
      unpack_panel_row(Format, at, row, kElements, bytes);
      unpack_block(Format, bytes, block);
      for (int first = 0; first < kElements; first += kActivationGroup) {
        const float product = multiply_group(block, first, x.quantized, column + first);
        sums[row] += product * x.quantized.scales[(column + first) / kActivationGroup];
      }
    }
  }
}

}  // namespace

const MatmulKernels kScalarMatmulKernels = {
    "scalar",
    [](WeightFormat format, bool) { return is_float(format) ? "floats" : "words"; },
    quantize_row,
    {multiply_floats<float>, multiply_floats<Float16>, multiply_floats<BFloat16>, multiply_quantized<WeightFormat::q8_0>,
     multiply_quantized<WeightFormat::q4_0>, multiply_quantized<WeightFormat::q4_1>, multiply_quantized<WeightFormat::q5_0>,
     multiply_quantized<WeightFormat::q5_1>, multiply_quantized<WeightFormat::q2_k>, multiply_quantized<WeightFormat::q3_k>,
     multiply_quantized<WeightFormat::q4_k>, multiply_quantized<WeightFormat::q5_k>, multiply_quantized<WeightFormat::q6_k>,
     multiply_quantized<WeightFormat::iq4_nl>, multiply_quantized<WeightFormat::q1_0>, multiply_quantized<WeightFormat::q2_0>},
    {}};

}  // namespace ropewalk
