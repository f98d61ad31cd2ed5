// Rope: the same bits in every batching, several axes, plans by length, and refused arguments.
#include "rope/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "native/rope/fast_config.h"
#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

using oracle::Real;

TEST(Rope, BatchingDoesNotChangeABit) {
  const int batches = 3, tokens = 5, heads = 2, dim = 40;
  Random random(1);
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved, Pairing::interleaved_to_half}) {
    RopeConfig config = with_pairing(yarn_config(dim, 1e6, 4, 32768), pairing);
    config.rotary_dim = 36, config.rotary_offset = 2;
    for (const Layout layout : {Layout::bthd, Layout::bhtd}) {
      for (const int rows : {1, batches}) {
        std::vector<double> ids;
        for (int i = 0; i < rows * tokens; ++i) ids.push_back(std::floor(random.between(-1000, 200000)));
        const Shape shape = {batches, tokens, heads, dim};
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
          GuardedTensor source(dtype, layout, shape), whole(dtype, layout, shape);
          whole.copy_from(source.fill(2));
          ConfiguredRope rope(config);
          ASSERT_EQ(rope.rotate(whole.in_place(), positions_of(ids, tokens, rows), 0, {}), Status::ok);

          // one token of one batch at a time, as in decoding
          for (int batch = 0; batch < batches; ++batch) {
            for (int token = 0; token < tokens; ++token) {
              GuardedTensor one(dtype, Layout::bthd, {1, 1, heads, dim});
              for (int head = 0; head < heads; ++head) {
                for (int i = 0; i < dim; ++i) one.set_bits(one.index(0, 0, head, i), source.bits(source.index(batch, token, head, i)));
              }
              const double position = ids[(rows == 1 ? 0 : batch) * tokens + token];
              ASSERT_EQ(rope.rotate(one.in_place(), {position, nullptr, 1, 1, 1}, 0, {}), Status::ok);
              for (int head = 0; head < heads; ++head) {
                for (int i = 0; i < dim; ++i) {
                  ASSERT_EQ(one.bits(one.index(0, 0, head, i)), whole.bits(whole.index(batch, token, head, i)));
                }
              }
            }
          }
          ASSERT_TRUE(whole.guards_are_intact());
        }
      }
    }
  }
}

TEST(Rope, KernelsGiveTheSameBits) {
  const Shape shape = {2, 7, 3, 96};
  std::vector<float> scalar = random_floats(2 * 7 * 3 * 96, 3), simd = scalar, fastest = scalar;
  ConfiguredRope rope(plain_config(96, 1e6));
  const Positions positions = {1000, nullptr, 1, 1, 7};
  ASSERT_EQ(rope.rotate(tensor_of(fastest, Layout::bhtd, shape), positions, 0, {}), Status::ok);
  rope.use_kernels(kScalarRotateKernels);
  ASSERT_EQ(rope.rotate(tensor_of(scalar, Layout::bhtd, shape), positions, 0, {}), Status::ok);
  rope.use_kernels(kWasmSimdRotateKernels);
  ASSERT_EQ(rope.rotate(tensor_of(simd, Layout::bhtd, shape), positions, 0, {}), Status::ok);
  EXPECT_EQ(scalar, simd);
  EXPECT_EQ(fastest, simd);
}

TEST(Rope, GroupedQueriesShareTheRowsOfTheirKeys) {
  // the same token gives the same bits in tensors of 8 and of 2 heads
  const std::vector<float> head = random_floats(64, 4);
  std::vector<float> q, k;
  for (int i = 0; i < 8; ++i) q.insert(q.end(), head.begin(), head.end());
  for (int i = 0; i < 2; ++i) k.insert(k.end(), head.begin(), head.end());
  const std::vector<double> ids = {77};
  const std::vector<float> rotated_q = fresh(plain_config(64), q, positions_of(ids, 1)),
                           rotated_k = fresh(plain_config(64), k, positions_of(ids, 1));
  EXPECT_TRUE(std::equal(rotated_k.begin(), rotated_k.end(), rotated_q.begin()));
}

TEST(Rope, TextTokensOnSeveralAxesAreRotatedAsOnOne) {
  const std::vector<double> chunked = {16, 24, 24}, interleaved = {24, 20, 20}, ernie = {22, 22, 20};
  const std::vector<float> values = random_floats(4 * 2 * 128, 10);
  std::vector<double> ids;
  for (int axis = 0; axis < 3; ++axis) ids.insert(ids.end(), {9, 10, 131072, 55});
  const std::vector<double> one(ids.begin(), ids.begin() + 4);
  for (const RopeConfig& config :
       {mrope_config(128, 1e6, chunked, MropeLayout::chunked), mrope_config(128, 1e6, interleaved, MropeLayout::interleaved),
        mrope_config(128, 1e6, ernie, MropeLayout::ernie)}) {
    const std::vector<float> plain = fresh(plain_config(128, 1e6), values, positions_of(one, 4));
    EXPECT_EQ(fresh(config, values, positions_of(ids, 4, 1, 3)), plain);
    EXPECT_EQ(fresh(config, values, positions_of(one, 4)), plain);
  }
}

TEST(Rope, ImageTokensRotateEachPairByItsAxis) {
  const std::vector<double> chunked = {16, 24, 24}, interleaved = {24, 20, 20}, ernie = {22, 22, 20}, vision = {32, 32},
                            four = {16, 16, 16, 16};
  Random random(11);
  for (const auto& [sections, layout] :
       {std::pair{chunked, MropeLayout::chunked}, std::pair{interleaved, MropeLayout::interleaved}, std::pair{ernie, MropeLayout::ernie},
        std::pair{vision, MropeLayout::vision}, std::pair{four, MropeLayout::chunked}}) {
    const RopeConfig config = mrope_config(128, 1e6, sections, layout);
    const int axes = static_cast<int>(sections.size()), tokens = 5;
    const std::vector<int> axis = oracle::axes(config);
    const std::vector<Real> inv_freq = oracle::plan(config, 1).inv_freq;
    std::vector<double> ids;
    for (int i = 0; i < axes * tokens; ++i) ids.push_back(std::floor(random.between(0, 5000)));
    const std::vector<float> values = random_floats(tokens * 128, 12);
    const std::vector<float> rotated = fresh(config, values, positions_of(ids, tokens, 1, axes));
    for (int token = 0; token < tokens; ++token) {
      std::vector<Real> angles;
      for (int j = 0; j < 64; ++j) angles.push_back(ids[axis[j] * tokens + token] * inv_freq[j]);
      const std::vector<Real> head(&values[token * 128], &values[token * 128] + 128);
      const std::vector<Real> expected = oracle::rotate_by(head, angles, 1, Pairing::half, Pairing::half);
      for (int i = 0; i < 128; ++i) ASSERT_NEAR(rotated[token * 128 + i], static_cast<double>(expected[i]), 3 * 0x1p-22);  // |pair| < 3
    }
  }
}

// The plan depends on the largest position of the call, as in transformers, or on the given length.
TEST(Rope, PlansFollowTheLength) {
  for (const RopeConfig& config : {longrope_config(64, 10000, 4096, 131072), dynamic_config(64, 10000, 2, 4096),
                                   scaled_config(RopeType::dynamic_yarn, 64, 10000, 8, 4096)}) {
    const std::vector<float> values = random_floats(2 * 64, 13);
    const auto expected = [&](double p0, double p1, double length) {
      const oracle::Plan plan = oracle::plan(config, length);
      std::vector<double> result;
      for (const double p : {p0, p1}) {
        std::vector<Real> angles;
        for (const Real w : plan.inv_freq) angles.push_back(p * w);
        const float* head = values.data() + (result.empty() ? 0 : 64);
        for (const Real value : oracle::rotate_by({head, head + 64}, angles, plan.attention_factor, Pairing::half, Pairing::half)) {
          result.push_back(static_cast<double>(value));
        }
      }
      return result;
    };
    ConfiguredRope rope(config);
    const struct {
      double p0, p1, stated, length;
    } cases[] = {{5, 4095, 0, 4096},   {4096, 5, 0, 4097}, {5, 6, 0, 7},         {5, 6, 20000, 20000}, {5, 30000, 4096, 4096},
                 {9, 50000, 0, 50001}, {-5, -9, 0, 1},     {5, 4095.5, 0, 4097}, {5, 6, 0, 7}};
    for (const auto& [p0, p1, stated, length] : cases) {
      std::vector<float> rotated = values;
      const std::vector<double> ids = {p0, p1};
      ASSERT_EQ(rope.rotate(tensor_of(rotated, Layout::bthd, {1, 2, 1, 64}), positions_of(ids, 2), stated, {}), Status::ok);
      const std::vector<double> exact = expected(p0, p1, length);
      for (int i = 0; i < 128; ++i) ASSERT_NEAR(rotated[i], exact[i], 4 * 0x1p-22) << p0 << ", " << p1 << ", " << stated;
      EXPECT_LE(rope.plan().valid_from, length);
      EXPECT_GE(rope.plan().valid_to, length);
    }
  }
}

// Without a positive position the length is still 1.
TEST(Rope, TheShortestLengthIsOne) {
  ConfiguredRope rope(dynamic_config(16, 10000, 2, 1));
  std::vector<float> head = random_floats(16, 17);
  const std::vector<double> ids = {-5};
  ASSERT_EQ(rope.rotate(tensor_of(head, Layout::thd, {1, 1, 1, 16}), positions_of(ids, 1), 0, {}), Status::ok);
  EXPECT_EQ(rope.plan().valid_from, 1);
  EXPECT_EQ(rope.plan().inv_freq[7], rope.plan().unscaled_inv_freq[7]);
}

TEST(Rope, CopiesLists) {
  std::vector<double> brief(16, 1.0), far(16, 8.0);
  RopeConfig config = longrope_config(32);
  config.short_factor = brief, config.long_factor = far;
  ConfiguredRope rope(config);
  std::fill(far.begin(), far.end(), -1.0);  // the caller may reuse its memory
  ASSERT_EQ(rope.use_length(5000), Status::ok);
  EXPECT_NEAR(rope.plan().inv_freq[0], 1 / 8.0, 1e-15);
  EXPECT_EQ(rope.config().short_factor[0], 1.0);
}

// If ropes can be moved, a moved rope must use its own plan.
template <class AnyRope>
void expect_movable(const RopeConfig& config) {
  if constexpr (std::is_move_constructible_v<AnyRope>) {
    const std::vector<double> ids = {9};
    const std::vector<float> values = random_floats(config.head_dim, 16);
    auto rope = std::make_unique<AnyRope>();
    ASSERT_EQ(rope->configure(config), Status::ok);
    AnyRope moved = std::move(*rope);
    rope.reset();
    std::vector<float> rotated = values;
    ASSERT_EQ(moved.rotate(tensor_of(rotated, Layout::thd, {1, 1, 1, config.head_dim}), positions_of(ids, 1), 0, {}), Status::ok);
    EXPECT_EQ(rotated, fresh(config, values, positions_of(ids, 1)));
  }
}

TEST(Rope, MovesCompletelyOrNotAtAll) { expect_movable<Rope>(yarn_config(32, 1e6, 4, 32768)); }

TEST(Rope, FailedConfigureLeavesTheRopeUnchanged) {
  ConfiguredRope rope(yarn_config(32, 1e6, 4, 32768));
  EXPECT_EQ(rope.configure(plain_config(33)), Status::rotary_dim_odd);
  EXPECT_EQ(rope.config().rope_type, RopeType::yarn);
  std::vector<float> values = random_floats(32, 14), expected = values;
  const std::vector<double> ids = {9};
  ASSERT_EQ(rope.rotate(tensor_of(values, Layout::thd, {1, 1, 1, 32}), positions_of(ids, 1), 0, {}), Status::ok);
  EXPECT_EQ(values, fresh(yarn_config(32, 1e6, 4, 32768), expected, positions_of(ids, 1)));
}

TEST(Rope, RefusalsLeaveTheTensorUntouched) {
  ConfiguredRope rope(dynamic_config(16, 10000, 2, 64));
  const std::vector<float> values = random_floats(2 * 3 * 2 * 16, 15);
  const double nan = std::nan("");
  const std::vector<double> good = {1, 2, 3, 4, 5, 6}, bad = {1, 2, nan, 4, 5, 6};
  const Positions three = positions_of(good, 3);
  const Shape shape = {2, 3, 2, 16};
  const auto expect_refused = [&](HeadTensor tensor, const Positions& positions, double length, Status status) {
    std::vector<float> copy = values;
    tensor.source = tensor.target = copy.data();
    EXPECT_EQ(rope.rotate(tensor, positions, length, {}), status);
    EXPECT_EQ(copy, values);
  };
  const HeadTensor right = {nullptr, nullptr, DType::f32, Layout::bthd, shape};
  const auto with = [&](auto change) {
    HeadTensor tensor = right;
    change(tensor);
    return tensor;
  };
  expect_refused(with([](HeadTensor& t) { t.dtype = DType{3}; }), three, 0, Status::dtype_unknown);
  expect_refused(with([](HeadTensor& t) { t.layout = Layout{-1}; }), three, 0, Status::layout_unknown);
  expect_refused(with([](HeadTensor& t) { t.layout = Layout::thd; }), three, 0, Status::shape_out_of_range);
  expect_refused(with([](HeadTensor& t) { t.shape.heads = 0; }), three, 0, Status::shape_out_of_range);
  expect_refused(with([](HeadTensor& t) { t.shape.heads = 4, t.shape.head_dim = 8; }), three, 0, Status::head_dim_mismatch);
  expect_refused(right, positions_of(good, 2), 0, Status::shape_out_of_range);
  expect_refused(right, positions_of(good, 2, 3), 0, Status::shape_out_of_range);
  expect_refused(right, positions_of(good, 3, 1, 2), 0, Status::positions_axes);
  expect_refused(right, positions_of(bad, 3), 0, Status::position_out_of_range);
  expect_refused(right, {2147483646, nullptr, 1, 1, 3}, 0, Status::position_out_of_range);
  expect_refused(right, three, 4294967296.0, Status::sequence_length_out_of_range);
  expect_refused(right, three, 0.5, Status::sequence_length_out_of_range);

  float cos[24] = {42}, sin[24] = {42};
  EXPECT_EQ(rope.write_table(positions_of(bad, 3), 0, {}, DType::f32, TableLayout::compact, cos, sin), Status::position_out_of_range);
  EXPECT_EQ(rope.write_table({0, nullptr, 1, 1, 0}, 0, {}, DType::f32, TableLayout::compact, cos, sin), Status::shape_out_of_range);
  EXPECT_EQ(cos[0], 42);
  EXPECT_EQ(sin[0], 42);
}

// The plan of the previous call may accept other positions.
TEST(Rope, PositionsAreCheckedUnderThePlanOfTheCall) {
  for (const bool is_long : {false, true}) {
    ConfiguredRope rope(fast_longrope_config(24, is_long));
    const std::vector<double> near = {3}, far = {100000}, below = {-100000}, beyond = {2147483647.5};
    const Positions places[] = {positions_of(near, 1), positions_of(far, 1), positions_of(below, 1), positions_of(beyond, 1)};
    for (int round = 0; round < 2; ++round) {  // after itself and after each other
      for (const Positions& place : places) {
        const bool is_near = &place == places, has_long_plan = place.ids[0] > 0 && !is_near;
        const Status expected = is_near || has_long_plan != is_long ? Status::ok : Status::position_out_of_range;
        std::vector<float> values(8, 1), cos(4), sin(4);
        const HeadTensor tensor = tensor_of(values, Layout::bthd, {1, 1, 1, 8});
        EXPECT_EQ(rope.rotate(tensor, place, 0, {}), expected) << is_long << " " << place.ids[0];
        EXPECT_EQ(rope.write_table(place, 0, {}, DType::f32, TableLayout::compact, cos.data(), sin.data()), expected) << place.ids[0];
        EXPECT_EQ(rerotate(fastest_rotate_kernels(), tensor, {rope, places[0]}, {rope, place}), expected) << place.ids[0];
      }
    }
    EXPECT_EQ(rope.use_positions(places[1], 1), is_long ? Status::ok : Status::position_out_of_range) << "under the plan of a given length";
  }
}

// A table that is exported between two rotations has the rotation's rows, and doesn't change the rotation.
TEST(Rope, TablesAreTheRowsOfTheRotation) {
  ConfiguredRope rope(longrope_config(8, 10000, 16, 64));
  const std::vector<double> ids = {3, 20};
  std::vector<float> unit = {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0};
  std::vector<float> cos(8), sin(8);
  ASSERT_EQ(rope.write_table(positions_of(ids, 2), 0, {}, DType::f32, TableLayout::compact, cos.data(), sin.data()), Status::ok);
  ASSERT_EQ(rope.rotate(tensor_of(unit, Layout::bthd, {1, 2, 1, 8}), positions_of(ids, 2), 0, {}), Status::ok);
  for (int t = 0; t < 2; ++t) {
    for (int j = 0; j < 4; ++j) {
      EXPECT_EQ(unit[t * 8 + j], cos[t * 4 + j]);
      EXPECT_EQ(unit[t * 8 + j + 4], sin[t * 4 + j]);
    }
  }
}

}  // namespace
}  // namespace ropewalk
