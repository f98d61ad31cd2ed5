// Rotation of heads at given strides, and by given rows.
#include <gtest/gtest.h>

#include <cstring>
#include <tuple>
#include <vector>

#include "native/rope/guarded_tensor.h"
#include "native/rope/random_rows.h"
#include "rope/rotate.h"

namespace ropewalk {
namespace {

class StridedHeads : public testing::TestWithParam<std::tuple<Rotation, DType, Layout>> {
 protected:
  Rotation rotation() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  Layout layout() const { return std::get<2>(GetParam()); }
};

// A tensor in a larger buffer, such as the keys in [tokens, 3, heads, head_dim], has the bits of a contiguous copy, and the rest of the
// buffer doesn't change. Also from the buffer to a contiguous target, and for strided targets.
TEST_P(StridedHeads, EqualAContiguousCopy) {
  const Shape shape = {layout() == Layout::thd ? 1 : 2, 19, 3, 24};
  const Span span = {1, 20};
  const RandomRows table = random_rows(shape.tokens * shape.batches, span.size / 2, 10);
  const Rows rows = table.rows(true);
  const TokenBlock all = {0, shape.batches, 0, shape.tokens};
  GuardedTensor source(dtype(), layout(), shape), expected(dtype(), layout(), shape);
  source.fill(10);
  rotate(kScalarRotateKernels, rotation(), source.into(expected), span, rows, all);

  const std::size_t size = size_of(dtype()), head_bytes = shape.head_dim * size;
  const Strides fused = {shape.tokens * 3 * shape.heads * shape.head_dim, 3 * shape.heads * shape.head_dim, shape.head_dim};
  const std::size_t buffer_bytes = static_cast<std::size_t>(shape.batches) * fused.batch * size, offset = shape.heads * head_bytes;
  const auto for_each_head = [&](auto use) {
    for (int batch = 0; batch < shape.batches; ++batch) {
      for (int token = 0; token < shape.tokens; ++token) {
        for (int head = 0; head < shape.heads; ++head) {
          const std::size_t at = (static_cast<std::size_t>(batch) * fused.batch + token * fused.token + head * fused.head) * size;
          use(at + offset, source.index(batch, token, head, 0));
        }
      }
    }
  };
  std::vector<std::uint8_t> buffer(buffer_bytes, 0xA5), rotated(buffer_bytes, 0xA5);
  for_each_head([&](std::size_t at, std::size_t element) {
    std::memcpy(&buffer[at], static_cast<const std::uint8_t*>(source.in_place().source) + element * size, head_bytes);
    std::memcpy(&rotated[at], static_cast<const std::uint8_t*>(expected.in_place().source) + element * size, head_bytes);
  });

  for (const RotateKernels* kernels : {&kScalarRotateKernels, &kWasmSimdRotateKernels}) {
    SCOPED_TRACE(kernels->name);
    const Strides contiguous = layout() == Layout::bhtd
                                   ? Strides{shape.head_dim * shape.tokens * shape.heads, shape.head_dim, shape.head_dim * shape.tokens}
                                   : Strides{shape.head_dim * shape.tokens * shape.heads, shape.head_dim * shape.heads, shape.head_dim};
    const HeadStrides in_place = {fused, fused}, to_contiguous = {fused, contiguous}, from_contiguous = {contiguous, fused};
    std::vector<std::uint8_t> work = buffer;
    rotate(*kernels, rotation(), {&work[offset], &work[offset], dtype(), layout(), shape, &in_place}, span, rows, all);
    EXPECT_EQ(work, rotated) << "in place";

    GuardedTensor out(dtype(), layout(), shape);
    rotate(*kernels, rotation(), {&buffer[offset], out.in_place().target, dtype(), layout(), shape, &to_contiguous}, span, rows, all);
    EXPECT_TRUE(out.same_bits(expected) && out.guards_are_intact()) << "to a contiguous tensor";

    work.assign(buffer_bytes, 0xA5);
    rotate(*kernels, rotation(), {source.in_place().source, &work[offset], dtype(), layout(), shape, &from_contiguous}, span, rows, all);
    EXPECT_EQ(work, rotated) << "to strided heads";
  }
}

// Prefetching a large tensor reads nothing beyond its last head.
TEST(LargeStridedHeads, AreNotReadBeyondTheEnd) {
  const Shape shape = {1, 3000, 8, 256};  // 24 MB, more than a cache
  const Strides fused = {0, 3 * shape.heads * shape.head_dim, shape.head_dim};
  const HeadStrides strides = {fused, fused};
  const std::size_t last = static_cast<std::size_t>(shape.tokens - 1) * fused.token + shape.heads * shape.head_dim;
  std::vector<float> buffer(last, 1.0f);
  const RandomRows table = random_rows(shape.tokens, 128, 11);
  rotate(kWasmSimdRotateKernels, Rotation::half, {buffer.data(), buffer.data(), DType::f32, Layout::thd, shape, &strides}, {0, 256},
         table.rows(false), {0, 1, 0, shape.tokens});
  const std::size_t row = static_cast<std::size_t>(shape.tokens - 1) * 128 + 127;
  EXPECT_EQ(buffer[last - 1], table.cos[row] + table.sin[row]);
  EXPECT_EQ(buffer[shape.heads * shape.head_dim], 1.0f);
}

TEST(RotateByRows, ChecksTensorSpanAndPairing) {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const float cos[] = {0, 0}, sin[] = {1, 1};
  const HeadTensor tensor = {x, x, DType::f32, Layout::thd, {1, 1, 1, 8}};
  const auto call = [&](const HeadTensor& given, Span span, Pairing pairing) {
    return rotate_by_rows(kScalarRotateKernels, pairing, given, span, {cos, sin, false});
  };
  HeadTensor empty = tensor;
  empty.shape.tokens = 0;
  EXPECT_EQ(call(empty, {0, 4}, Pairing::half), Status::shape_out_of_range);
  EXPECT_EQ(call(tensor, {0, 3}, Pairing::half), Status::rotary_dim_odd);
  EXPECT_EQ(call(tensor, {0, 0}, Pairing::half), Status::rotary_dim_out_of_range);
  EXPECT_EQ(call(tensor, {0, kMaxHeadDim + 2}, Pairing::half), Status::rotary_dim_out_of_range);
  EXPECT_EQ(call(tensor, {5, 4}, Pairing::half), Status::rotary_span_outside_head);
  EXPECT_EQ(call(tensor, {-1, 4}, Pairing::half), Status::rotary_span_outside_head);
  EXPECT_EQ(call(tensor, {0, 4}, Pairing{3}), Status::pairing_unknown);
  EXPECT_EQ(x[0], 1.0f);
  EXPECT_EQ(call(tensor, {2, 4}, Pairing::half), Status::ok);
  const float expected[] = {1, 2, -5, -6, 3, 4, 7, 8};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(x[i], expected[i]);
}

INSTANTIATE_TEST_SUITE_P(
    All, StridedHeads,
    testing::Combine(testing::Values(Rotation::half, Rotation::interleaved, Rotation::interleaved_to_half, Rotation::half_to_interleaved),
                     testing::Values(DType::f32, DType::f16, DType::bf16), testing::Values(Layout::bthd, Layout::bhtd, Layout::thd)));

}  // namespace
}  // namespace ropewalk
