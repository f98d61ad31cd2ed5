// Tiles of six tokens: the bits of tiles of four, for every number of tokens.
#include "matmul/kernels/matmul_sixes_simd.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "matmul/activations.h"
#include "native/random/random_cases.h"

namespace ropewalk {
namespace {

using SixesOfQuants = void (*)(const PanelChunk&, int, const TokenRows&, float*);

std::vector<float> random_numbers(RandomCase& random, std::size_t count) {
  std::vector<float> numbers(count);
  for (float& number : numbers) number = random.number();
  return numbers;
}

// Compares `sixes` with what unpacking the panel chose.
void expect_bits_of_fours(RandomCase& random, WeightFormat format, int columns, SixesOfQuants sixes) {
  const int count = random.whole(1, 40);
  const std::vector<float> x = random_numbers(random, static_cast<std::size_t>(count) * columns);
  Activations inputs;
  inputs.set(x.data(), columns, count, columns);
  const MatmulKernels& kernels = kWasmSimdMatmulKernels;
  ASSERT_EQ(is_float(format) ? inputs.prepare_floats(kernels) : inputs.quantize(kernels, {true, true}), Status::ok);
  if (!inputs.in_tiles()) return;
  std::vector<std::uint8_t> panel(weight_row_bytes(format, columns) * kPanelRows);
  if (is_float(format)) {
    const std::vector<float> weights = random_numbers(random, panel.size() / sizeof(float));
    std::memcpy(panel.data(), weights.data(), panel.size());
  } else {
    for (std::uint8_t& byte : panel) byte = static_cast<std::uint8_t>(random.whole(0, 255));
    const std::uint16_t scale = 0x2C00;  // 1/16, for the leading f16 numbers of each block
    const int bytes = block_bytes(format) * kPanelRows;
    for (std::size_t block = 0; block < panel.size(); block += bytes) {
      for (int i = 0; i < leading_f16(format) * kPanelRows; ++i) std::memcpy(panel.data() + block + 2 * i, &scale, sizeof scale);
    }
  }
  const int tokens = (count + kTileTokens - 1) / kTileTokens * kTileTokens;
  std::vector<float> expected(static_cast<std::size_t>(tokens) * sums_per_token(is_float(format)), 1.0f), actual = expected;
  PanelChunk chunk;
  kernels.unpack[static_cast<int>(format)]({panel.data(), columns, 1, panel.data() + panel.size()}, chunk);
  const TokenRows rows = inputs.rows(0, 0, count);
  chunk.multiply(chunk, columns, rows, expected.data());
  sixes(chunk, columns, rows, actual.data());
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0) << count << " tokens, " << columns << " columns";
}

TEST(Sixes, HaveTheBitsOfFours) {
  for_each_case(200, [](RandomCase& random) {
    expect_bits_of_fours(random, WeightFormat::f32, random.whole(1, kChunkColumns), float_tokens_in_sixes<MultiplyThenAdd>);
    const int groups = random.whole(1, kChunkColumns / kActivationGroup);
    expect_bits_of_fours(random, WeightFormat::q8_0, groups * kActivationGroup, quantized_tokens_in_sixes<MultiplyThenAdd, WordDot, false>);
    expect_bits_of_fours(random, WeightFormat::q4_1, groups * kActivationGroup, quantized_tokens_in_sixes<MultiplyThenAdd, WordDot, true>);
  });
}

}  // namespace
}  // namespace ropewalk
