// Kernels and whole tensors, for every rotation, element type, layout and width: compared with a long double oracle, and SIMD with
// scalar bit for bit.
#include "rope/rotate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "native/rope/guarded_tensor.h"
#include "native/rope/random_rows.h"

namespace ropewalk {
namespace {

using oracle::Real;

// Less than the vector width of eight pairs, equal to it, multiples of it, and remainders.
const int kPairs[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 32, 48, 64, 128};

Pairing read_by(Rotation rotation) {
  return rotation == Rotation::half || rotation == Rotation::half_to_interleaved ? Pairing::half : Pairing::interleaved;
}
Pairing written_by(Rotation rotation) {
  return rotation == Rotation::half || rotation == Rotation::interleaved_to_half ? Pairing::half : Pairing::interleaved;
}

// x cos − y sin in f32 is two products and a difference. Each has an error of at most half an ulp of the pair's norm, in total 3 · 2^-24.
// The tolerance is 2^-22. 16-bit storage adds half an ulp.
Real tolerance(Real exact, Real norm, DType dtype) {
  const Real arithmetic = norm * 0x1p-22L;
  return dtype == DType::f32 ? arithmetic : arithmetic + oracle::ulp(std::fabs(exact) + arithmetic, dtype) / 2;
}

// Compares every element of `rotated` with the oracle: the span within a tolerance, the rest bit for bit.
void expect_rotated(const GuardedTensor& source, const GuardedTensor& rotated, Rotation rotation, Span span, const RandomRows& table,
                    bool per_batch) {
  const Shape& shape = source.shape();
  const int pairs = span.size / 2;
  for (int batch = 0; batch < shape.batches; ++batch) {
    for (int token = 0; token < shape.tokens; ++token) {
      const std::size_t row = ((per_batch ? batch * shape.tokens : 0) + token) * static_cast<std::size_t>(pairs);
      const std::vector<Real> cos(&table.cos[row], &table.cos[row] + pairs), sin(&table.sin[row], &table.sin[row] + pairs);
      for (int head = 0; head < shape.heads; ++head) {
        const std::vector<Real> values = source.span_of(batch, token, head, span);
        const std::vector<Real> expected = oracle::rotate(values, cos, sin, read_by(rotation), written_by(rotation));
        for (int i = 0; i < shape.head_dim; ++i) {
          const std::size_t at = source.index(batch, token, head, i);
          if (i < span.offset || i >= span.offset + span.size) {
            ASSERT_EQ(rotated.bits(at), source.bits(at)) << "outside the span, element " << i;
            continue;
          }
          const int written = i - span.offset, j = written_by(rotation) == Pairing::half ? written % pairs : written / 2;
          const Real norm =
              std::hypot(values[oracle::index_of_x(read_by(rotation), j, pairs)], values[oracle::index_of_y(read_by(rotation), j, pairs)]);
          ASSERT_NEAR(rotated.value(at), expected[written], tolerance(expected[written], norm, source.dtype())) << "element " << i;
        }
      }
    }
  }
}

class RotateTensor : public testing::TestWithParam<std::tuple<Rotation, DType, Layout>> {
 protected:
  Rotation rotation() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  Layout layout() const { return std::get<2>(GetParam()); }
  Shape shape_of(int tokens, int heads, int head_dim) const { return {layout() == Layout::thd ? 1 : 2, tokens, heads, head_dim}; }

  // Checks one shape with scalar and SIMD kernels, out of place and in place.
  void check(const Shape& shape, Span span, bool per_batch, std::uint32_t seed) {
    const RandomRows table = random_rows(shape.tokens * (per_batch ? shape.batches : 1), span.size / 2, seed);
    const Rows rows = table.rows(per_batch);
    const TokenBlock all = {0, shape.batches, 0, shape.tokens};
    GuardedTensor source(dtype(), layout(), shape), untouched(dtype(), layout(), shape), reference(dtype(), layout(), shape);
    source.fill(seed);
    untouched.copy_from(source);
    rotate(kScalarRotateKernels, rotation(), source.into(reference), span, rows, all);
    ASSERT_NO_FATAL_FAILURE(expect_rotated(source, reference, rotation(), span, table, per_batch));

    for (const RotateKernels* kernels : {&kScalarRotateKernels, &kWasmSimdRotateKernels}) {
      SCOPED_TRACE(kernels->name);
      GuardedTensor out(dtype(), layout(), shape), in_place(dtype(), layout(), shape);
      rotate(*kernels, rotation(), source.into(out), span, rows, all);
      ASSERT_TRUE(out.same_bits(reference)) << "out of place";
      in_place.copy_from(source);
      rotate(*kernels, rotation(), in_place.in_place(), span, rows, all);
      ASSERT_TRUE(in_place.same_bits(reference)) << "in place";
      ASSERT_TRUE(out.guards_are_intact() && in_place.guards_are_intact());
    }
    ASSERT_TRUE(source.same_bits(untouched));
    ASSERT_TRUE(source.guards_are_intact() && reference.guards_are_intact());
  }
};

TEST_P(RotateTensor, WholeHeadsOfEveryWidth) {
  for (const int pairs : kPairs) {
    SCOPED_TRACE(testing::Message() << pairs << " pairs");
    ASSERT_NO_FATAL_FAILURE(check(shape_of(3, 2, 2 * pairs), {0, 2 * pairs}, false, pairs));
  }
}

// Kernels rotate two to eight heads together, and may fetch those that follow.
TEST_P(RotateTensor, EveryNumberOfHeads) {
  for (int heads = 1; heads <= 18; ++heads) {
    SCOPED_TRACE(testing::Message() << heads << " heads");
    ASSERT_NO_FATAL_FAILURE(check(shape_of(2, heads, 128), {0, 128}, false, heads));
  }
}

TEST_P(RotateTensor, SpansAtAnOffset) {
  for (const int pairs : kPairs) {
    SCOPED_TRACE(testing::Message() << pairs << " pairs");
    ASSERT_NO_FATAL_FAILURE(check(shape_of(2, 2, 2 * pairs + 5), {0, 2 * pairs}, false, pairs));  // first
    ASSERT_NO_FATAL_FAILURE(check(shape_of(2, 2, 2 * pairs + 5), {3, 2 * pairs}, false, pairs));  // in the middle
    ASSERT_NO_FATAL_FAILURE(check(shape_of(2, 2, 2 * pairs + 5), {5, 2 * pairs}, false, pairs));  // last
  }
}

TEST_P(RotateTensor, ShapesOfEveryKind) {
  for (const auto& [tokens, heads] : {std::pair{1, 1}, std::pair{1, 5}, std::pair{5, 1}, std::pair{4, 3}}) {
    for (const bool per_batch : {false, true}) {
      SCOPED_TRACE(testing::Message() << tokens << " tokens, " << heads << " heads, per batch: " << per_batch);
      ASSERT_NO_FATAL_FAILURE(check(shape_of(tokens, heads, 20), {2, 18}, per_batch, 7));
    }
  }
  // more tokens than the 16 rows of 128 pairs that fit in the first-level cache
  ASSERT_NO_FATAL_FAILURE(check(shape_of(37, 2, 256), {0, 256}, true, 8));
}

// Blocks of tokens and batches, each with its own rows, give the same tensor as one call.
TEST_P(RotateTensor, BlocksEqualTheWhole) {
  const Shape shape = shape_of(11, 3, 24);
  const int pairs = 10;
  const Span span = {1, 20};
  const RandomRows table = random_rows(shape.tokens, pairs, 9);
  GuardedTensor whole(dtype(), layout(), shape), blocks(dtype(), layout(), shape);
  whole.fill(9);
  blocks.copy_from(whole);
  rotate(kWasmSimdRotateKernels, rotation(), whole.in_place(), span, table.rows(false), {0, shape.batches, 0, shape.tokens});
  for (int batch = 0; batch < shape.batches; ++batch) {
    for (const auto& [first, count] : {std::pair{0, 4}, std::pair{4, 1}, std::pair{5, 6}}) {
      const Rows rows = {table.cos.data() + first * pairs, table.sin.data() + first * pairs, false};
      rotate(kWasmSimdRotateKernels, rotation(), blocks.in_place(), span, rows, {batch, 1, first, count});
    }
  }
  EXPECT_TRUE(blocks.same_bits(whole));
  EXPECT_TRUE(blocks.guards_are_intact());
}

// A block rotates only its own tokens.
TEST_P(RotateTensor, OtherTokensAreUnchanged) {
  const Shape shape = shape_of(6, 2, 16);
  const RandomRows table = random_rows(2, 8, 10);
  GuardedTensor before(dtype(), layout(), shape), after(dtype(), layout(), shape);
  after.copy_from(before.fill(10));
  rotate(kWasmSimdRotateKernels, rotation(), after.in_place(), {0, 16}, table.rows(false), {shape.batches - 1, 1, 2, 2});
  for (int batch = 0; batch < shape.batches; ++batch) {
    for (int token = 0; token < 6; ++token) {
      const bool rotated = batch == shape.batches - 1 && (token == 2 || token == 3);
      for (int head = 0; head < 2; ++head) {
        int changed = 0;
        for (int i = 0; i < 16; ++i)
          changed += after.bits(after.index(batch, token, head, i)) != before.bits(before.index(batch, token, head, i));
        EXPECT_EQ(changed > 0, rotated) << batch << ", " << token;
      }
    }
  }
}

// Both kernels treat infinities and NaN the same way, and these only affect their own pair.
TEST_P(RotateTensor, SpecialValues) {
  const Shape shape = shape_of(1, 8, 48);
  const RandomRows table = random_rows(1, 24, 11);
  const Real infinity = std::numeric_limits<Real>::infinity();
  const Real specials[] = {-0.0L, 0.0L, infinity, -infinity, std::nanl(""), 1e-30L, -1e38L, 6e4L};
  GuardedTensor scalar(dtype(), layout(), shape), simd(dtype(), layout(), shape), source(dtype(), layout(), shape);
  source.fill(11);
  for (std::size_t i = 0; i < source.count(); i += 5) source.set_bits(i, oracle::encode(specials[i / 5 % 8], dtype()));
  rotate(kScalarRotateKernels, rotation(), source.into(scalar), {0, 48}, table.rows(false), {0, shape.batches, 0, 1});
  rotate(kWasmSimdRotateKernels, rotation(), source.into(simd), {0, 48}, table.rows(false), {0, shape.batches, 0, 1});
  for (int head = 0; head < 8; ++head) {
    for (int i = 0; i < 48; ++i) {
      const std::size_t at = source.index(0, 0, head, i);
      const int j = written_by(rotation()) == Pairing::half ? i % 24 : i / 2;
      const Real x = source.value(source.index(0, 0, head, oracle::index_of_x(read_by(rotation()), j, 24)));
      const Real y = source.value(source.index(0, 0, head, oracle::index_of_y(read_by(rotation()), j, 24)));
      if (std::isnan(scalar.value(at))) {
        EXPECT_TRUE(std::isnan(simd.value(at)));
      } else {
        EXPECT_EQ(scalar.bits(at), simd.bits(at));
      }
      if (std::isfinite(x) && std::isfinite(y) && std::fabs(x) < 1000 && std::fabs(y) < 1000) {
        EXPECT_TRUE(std::isfinite(scalar.value(at)));
      }
      if (std::isnan(x) || std::isnan(y)) {
        EXPECT_TRUE(std::isnan(scalar.value(at)));
      }
    }
  }
}

// Angle 0 keeps every value.
TEST_P(RotateTensor, AngleZeroIsTheIdentity) {
  const Shape shape = shape_of(2, 3, 36);
  const std::vector<float> cos(36, 1.0f), sin(36, 0.0f);
  GuardedTensor before(dtype(), layout(), shape), after(dtype(), layout(), shape);
  after.copy_from(before.fill(12));
  rotate(kWasmSimdRotateKernels, rotation(), after.in_place(), {0, 36}, {cos.data(), sin.data(), false}, {0, shape.batches, 0, 2});
  for (int batch = 0; batch < shape.batches; ++batch) {
    for (int j = 0; j < 18; ++j) {
      EXPECT_EQ(after.value(after.index(batch, 1, 2, oracle::index_of_x(written_by(rotation()), j, 18))),
                before.value(before.index(batch, 1, 2, oracle::index_of_x(read_by(rotation()), j, 18))));
      EXPECT_EQ(after.value(after.index(batch, 1, 2, oracle::index_of_y(written_by(rotation()), j, 18))),
                before.value(before.index(batch, 1, 2, oracle::index_of_y(read_by(rotation()), j, 18))));
    }
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<Rotation, DType, Layout>>& info) {
  const char* rotations[] = {"half", "interleaved", "interleaved_to_half", "half_to_interleaved"};
  const char* dtypes[] = {"f32", "f16", "bf16"};
  const char* layouts[] = {"bthd", "bhtd", "thd"};
  const auto& [rotation, dtype, layout] = info.param;
  return std::string(rotations[static_cast<int>(rotation)]) + "_" + dtypes[static_cast<int>(dtype)] + "_" +
         layouts[static_cast<int>(layout)];
}

INSTANTIATE_TEST_SUITE_P(
    All, RotateTensor,
    testing::Combine(testing::Values(Rotation::half, Rotation::interleaved, Rotation::interleaved_to_half, Rotation::half_to_interleaved),
                     testing::Values(DType::f32, DType::f16, DType::bf16), testing::Values(Layout::bthd, Layout::bhtd, Layout::thd)),
    name_of);

// Tensors above 16 MB are prefetched in pieces of a run of heads. They have the same bits as their slices.
TEST(RotateLargeTensor, HasTheBitsOfItsSlices) {
  const int tokens = 4600, heads = 7, dim = 136, pairs = 64;
  const Span span = {3, 128};
  const RandomRows table = random_rows(tokens, pairs, 14);
  std::vector<float> source(static_cast<std::size_t>(tokens) * heads * dim);
  Random random(14);
  for (float& value : source) value = static_cast<float>(random.next());
  for (const Rotation rotation : {Rotation::half, Rotation::interleaved_to_half}) {
    for (const Layout layout : {Layout::bthd, Layout::bhtd}) {
      std::vector<float> whole(source.size()), in_place = source, slices = source;
      const TokenBlock all = {0, 1, 0, tokens};
      rotate(kWasmSimdRotateKernels, rotation, {source.data(), whole.data(), DType::f32, layout, {1, tokens, heads, dim}}, span,
             table.rows(false), all);
      rotate(kWasmSimdRotateKernels, rotation, {in_place.data(), in_place.data(), DType::f32, layout, {1, tokens, heads, dim}}, span,
             table.rows(false), all);
      if (layout == Layout::bhtd) {
        for (int head = 0; head < heads; ++head) {
          float* at = &slices[static_cast<std::size_t>(head) * tokens * dim];
          rotate(kScalarRotateKernels, rotation, {at, at, DType::f32, layout, {1, tokens, 1, dim}}, span, table.rows(false), all);
        }
      } else {
        for (int token = 0; token < tokens; ++token) {
          float* at = &slices[static_cast<std::size_t>(token) * heads * dim];
          const Rows row = {&table.cos[token * pairs], &table.sin[token * pairs], false};
          rotate(kScalarRotateKernels, rotation, {at, at, DType::f32, layout, {1, 1, heads, dim}}, span, row, {0, 1, 0, 1});
        }
      }
      EXPECT_TRUE(whole == slices);
      EXPECT_TRUE(in_place == slices);
    }
  }
}

// A kernel with different strides for source, target and rows.
TEST(RotateKernel, StridesAreFollowed) {
  const int pairs = 9, count = 4;
  const RandomRows table = random_rows(8, pairs, 13);
  Random random(13);
  std::vector<float> source(count * 31);
  for (float& value : source) value = static_cast<float>(random.next());
  for (const std::ptrdiff_t row_stride : {0, pairs, 2 * pairs}) {
    std::vector<float> scalar(count * 40, -7), simd = scalar;
    const auto run = [&](std::vector<float>& target) {
      return HeadRun{source.data(), target.data(), 31, 40, row_stride, table.cos.data(), table.sin.data(), pairs, count};
    };
    for (int rotation = 0; rotation < kRotations; ++rotation) {
      kScalarRotateKernels.rotate[rotation][0](run(scalar));
      kWasmSimdRotateKernels.rotate[rotation][0](run(simd));
      EXPECT_EQ(scalar, simd);
      for (int head = 0; head < count; ++head) {
        const std::size_t row = head * row_stride;
        const std::vector<Real> cos(&table.cos[row], &table.cos[row] + pairs), sin(&table.sin[row], &table.sin[row] + pairs);
        const std::vector<Real> values(&source[head * 31], &source[head * 31] + 2 * pairs);
        const std::vector<Real> expected = oracle::rotate(values, cos, sin, read_by(Rotation{rotation}), written_by(Rotation{rotation}));
        for (int i = 0; i < 2 * pairs; ++i) EXPECT_NEAR(simd[head * 40 + i], expected[i], 4 * 0x1p-22L);
        for (int i = 2 * pairs; i < 40; ++i) EXPECT_EQ(simd[head * 40 + i], -7);
      }
    }
  }
}

TEST(RotateKernel, TheFastestOfThisBuildIsSimd) {
  EXPECT_EQ(&fastest_rotate_kernels(), &kWasmSimdRotateKernels);
  EXPECT_STREQ(kScalarRotateKernels.name, "scalar");
  EXPECT_STREQ(kWasmSimdRotateKernels.name, "simd");
}

TEST(ElementCount, RefusesWhatIsEmptyOrTooLarge) {
  EXPECT_EQ(element_count({2, 3, 4, 5}), 120);
  for (const Shape& shape : {Shape{0, 1, 1, 1}, Shape{1, 0, 1, 1}, Shape{1, 1, -1, 1}, Shape{1, 1, 1, 0}})
    EXPECT_EQ(element_count(shape), -1);
  const int largest = std::numeric_limits<int>::max();
  EXPECT_EQ(element_count({largest, largest, largest, largest}), -1);
  EXPECT_EQ(element_count({1, 65536, 65536, 256}), std::int64_t{1} << 40);
  EXPECT_EQ(element_count({2, 65536, 65536, 256}), -1);
}

TEST(RotationOf, FollowsThePairing) {
  for (const bool inverse : {false, true}) {
    EXPECT_EQ(rotation_of(Pairing::half, inverse), Rotation::half);
    EXPECT_EQ(rotation_of(Pairing::interleaved, inverse), Rotation::interleaved);
  }
  EXPECT_EQ(rotation_of(Pairing::interleaved_to_half, false), Rotation::interleaved_to_half);
  EXPECT_EQ(rotation_of(Pairing::interleaved_to_half, true), Rotation::half_to_interleaved);
}

}  // namespace
}  // namespace ropewalk
