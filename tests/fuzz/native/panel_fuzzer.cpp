// Weights of any bytes in every format: packing loses nothing, and products have the same bits in all kernels, packed or not.
#include <cstring>

#include "fuzz_input.h"
#include "matmul/dequantize.h"
#include "matmul/matmul.h"
#include "matmul/panel_exponent.h"

using namespace ropewalk;

namespace {

// Or both NaN, whose bits aren't specified.
bool are_same(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0 && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  }
  return a.size() == b.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const auto format = static_cast<WeightFormat>(input.between(0, kWeightFormats - 1));
  const int rows = input.between(1, 19), tokens = input.between(1, 20), gap = input.between(0, 3);
  const int columns = block_elements(format) * (is_float(format) ? input.between(1, 70) : input.between(1, 3));
  const std::vector<float> x = input.ordinaries(static_cast<std::size_t>(tokens) * (columns + gap));
  const std::size_t row_bytes = weight_row_bytes(format, columns);
  const std::vector<std::uint8_t> given = input.ConsumeRemainingBytes<std::uint8_t>();
  std::vector<std::uint8_t> stored(rows * row_bytes);
  for (std::size_t i = 0; i < stored.size() && !given.empty(); ++i)
    stored[i] = static_cast<std::uint8_t>(given[i % given.size()] + i / given.size());

  const auto product_of = [&](const MatmulKernels& kernels, const WeightMatrix& matrix) {
    Activations activations;
    activations.set(x.data(), columns + gap, tokens, columns);
    std::vector<float> out(static_cast<std::size_t>(tokens) * rows);
    EXPECT_HOLDS(multiply(kernels, {{Product{&matrix, nullptr, out.data(), rows}}}, activations) == Status::ok);
    return out;
  };

  std::vector<std::uint8_t> memory = stored;
  const WeightMatrix plain = {format, rows, columns, stored.data(), 0};
  WeightMatrix packed = {format, rows, columns, memory.data(), 0};
  EXPECT_HOLDS(pack_rows(packed, memory.data(), rows) == Status::ok);
  std::vector<std::uint8_t> unpacked(row_bytes);
  std::vector<float> expected_row(columns), row(columns);
  for (int r = 0; r < rows; ++r) {
    const int first = r / kPanelRows * kPanelRows;
    if (first + kPanelRows <= rows) {
      std::vector<std::uint8_t> panel(memory.begin() + first * row_bytes, memory.begin() + (first + kPanelRows) * row_bytes);
      scale_panel(format, panel.data(), columns, -packed.exponent);
      unpack_panel_row(format, panel.data(), r - first, columns, unpacked.data());
      EXPECT_HOLDS(std::memcmp(unpacked.data(), stored.data() + r * row_bytes, row_bytes) == 0);
    }
    dequantize(format, stored.data() + r * row_bytes, columns, expected_row.data());
    read_row(packed, r, row.data());
    EXPECT_HOLDS(are_same(row, expected_row));
  }
  const std::vector<float> expected = product_of(kScalarMatmulKernels, plain);
  EXPECT_HOLDS(are_same(product_of(kScalarMatmulKernels, packed), expected));
  EXPECT_HOLDS(are_same(product_of(kWasmSimdMatmulKernels, plain), expected));
  EXPECT_HOLDS(are_same(product_of(kWasmSimdMatmulKernels, packed), expected));
  return 0;
}
