// Re-rotation of keys between plans and positions, compared with a fresh rotation by the oracle.
#include "rope/rerotate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "native/rope/configs.h"
#include "native/rope/guarded_tensor.h"
#include "rope/rope.h"

namespace ropewalk {
namespace {

using oracle::Real;

constexpr Purpose kKey = {Role::key, false};
constexpr Real kOneRotation = 0x1p-22L + 0x1p-24L;  // rotation_test.cpp

// The config, length and positions of keys.
struct Placed {
  RopeConfig config;
  double length;
  std::vector<double> ids;  // [tokens]
  Positions positions() const { return {0, ids.data(), 1, 1, static_cast<int>(ids.size())}; }
  FrequencyPlan plan() const { return plan_of(config, length); }

  // The factor on a pair of a key at a position.
  Real scale(int pair, double position) const {
    const Real factor = oracle::plan(config, length).attention_factor;
    if (!config.xpos_scale_base.has_value()) return factor;
    const Real power = -(position - config.xpos_center) / *config.xpos_scale_base;
    return factor * std::pow(oracle::xpos_zeta(pair, resolved_rotary_dim(config)), power);
  }
};

// Rotates `keys` in place, like a model that computes them at these positions.
void rotate_keys(GuardedTensor& keys, const Placed& placed) {
  Rope rope;
  ASSERT_EQ(rope.configure(placed.config), Status::ok);
  ASSERT_EQ(rope.rotate(keys.in_place(), placed.positions(), placed.length, kKey), Status::ok);
}

Pairing stored_pairing(const RopeConfig& config) { return config.pairing == Pairing::interleaved ? Pairing::interleaved : Pairing::half; }

// Compares `keys`, re-rotated from `from` to `to`, with a fresh rotation of `original` at `to`. The tolerance is the error of two
// rotations. The first is scaled by the ratio of the scales and affects both elements of its pair. 16-bit storage adds half an ulp each
// time.
void expect_fresh(const GuardedTensor& keys, const GuardedTensor& original, const Placed& from, const Placed& to) {
  const Shape& shape = keys.shape();
  const int size = resolved_rotary_dim(to.config), pairs = size / 2;
  const Span span = {to.config.rotary_offset, size};
  const Pairing read = to.config.pairing == Pairing::half ? Pairing::half : Pairing::interleaved, write = stored_pairing(to.config);
  const std::vector<Real> inv_freq = oracle::plan(to.config, to.length).inv_freq;
  const auto half_ulp = [&](Real value) { return keys.dtype() == DType::f32 ? 0 : oracle::ulp(value, keys.dtype()) / 2; };
  for (int token = 0; token < shape.tokens; ++token) {
    std::vector<Real> angles, old_scale, new_scale;
    for (int j = 0; j < pairs; ++j) {
      angles.push_back(to.ids[token] * inv_freq[j]);
      old_scale.push_back(from.scale(j, from.ids[token]));
      new_scale.push_back(to.scale(j, to.ids[token]));
    }
    for (int batch = 0; batch < shape.batches; ++batch) {
      for (int head = 0; head < shape.heads; ++head) {
        const std::vector<Real> values = original.span_of(batch, token, head, span);
        const std::vector<Real> expected = oracle::rotate_by(values, angles, 1, read, write);
        for (int i = 0; i < shape.head_dim; ++i) {
          const std::size_t at = keys.index(batch, token, head, i);
          if (i < span.offset || i >= span.offset + size) {
            ASSERT_EQ(keys.bits(at), original.bits(at)) << "outside the span";
            continue;
          }
          const int written = i - span.offset, j = write == Pairing::half ? written % pairs : written / 2;
          const Real norm = std::hypot(expected[oracle::index_of_x(write, j, pairs)], expected[oracle::index_of_y(write, j, pairs)]);
          const Real ratio = new_scale[j] / old_scale[j], before = norm * old_scale[j], after = norm * new_scale[j];
          const Real tolerance =
              std::sqrt(2.0L) * ratio * (before * kOneRotation + half_ulp(before)) + after * kOneRotation + half_ulp(after * 1.01L);
          ASSERT_NEAR(keys.value(at), expected[written] * new_scale[j], tolerance) << "token " << token << ", element " << i;
        }
      }
    }
  }
}

void expect_moved(const Placed& from, const Placed& to, DType dtype, Layout layout, const Shape& shape) {
  GuardedTensor original(dtype, layout, shape), keys(dtype, layout, shape), simd(dtype, layout, shape), untouched(dtype, layout, shape);
  keys.copy_from(original.fill(1));
  ASSERT_NO_FATAL_FAILURE(rotate_keys(keys, from));
  untouched.copy_from(keys);
  const FrequencyPlan from_plan = from.plan(), to_plan = to.plan();
  const Positions old_positions = from.positions(), new_positions = to.positions();
  // out of place with the SIMD kernels, in place with the scalar kernels
  ASSERT_EQ(rerotate(kWasmSimdRotateKernels, keys.into(simd), {from_plan, old_positions}, {to_plan, new_positions}), Status::ok);
  ASSERT_TRUE(keys.same_bits(untouched));
  ASSERT_EQ(rerotate(kScalarRotateKernels, keys.in_place(), {from_plan, old_positions}, {to_plan, new_positions}), Status::ok);
  ASSERT_TRUE(simd.same_bits(keys));
  ASSERT_TRUE(simd.guards_are_intact() && keys.guards_are_intact());
  expect_fresh(simd, original, from, to);
}

std::vector<Placed> placements(int head_dim) {
  const std::vector<double> ids = {0, 1, 700, 4095, 100000};
  RopeConfig near = xpos_config(head_dim, 4096, 1000), by_parts = scaled_config(RopeType::ntk_by_parts, head_dim, 1e4, 4, 4096);
  return {{plain_config(head_dim), 1, ids},
          {scaled_config(RopeType::linear, head_dim, 10000, 4, 4096), 1, ids},
          {yarn_config(head_dim, 1e6, 4, 32768), 1, ids},
          {longrope_config(head_dim), 4096, ids},
          {longrope_config(head_dim), 100001, ids},
          {dynamic_config(head_dim, 10000, 2, 4096), 4096, ids},
          {dynamic_config(head_dim, 10000, 2, 4096), 5000, ids},
          {dynamic_config(head_dim, 10000, 2, 4096), 200000, ids},
          {llama3_config(head_dim, 5e5, 8), 1, ids},
          {by_parts, 1, ids},
          {near, 1, ids}};
}

TEST(Rerotate, EveryPairOfPlans) {
  const std::vector<Placed> all = placements(32);
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < all.size(); ++b) {
      SCOPED_TRACE(testing::Message() << "from " << a << " to " << b);
      Placed to = all[b];
      ASSERT_NO_FATAL_FAILURE(expect_moved(all[a], to, DType::f32, Layout::bhtd, {1, 5, 2, 32}));
      to.ids = {5, 0, 699, 5000, 99000};  // and at the same time to other positions
      ASSERT_NO_FATAL_FAILURE(expect_moved(all[a], to, DType::f32, Layout::bhtd, {1, 5, 2, 32}));
    }
  }
}

TEST(Rerotate, EveryStorageLayoutAndPairing) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Layout layout : {Layout::bthd, Layout::bhtd, Layout::thd}) {
      for (const Pairing pairing : {Pairing::half, Pairing::interleaved, Pairing::interleaved_to_half}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(dtype) << ", " << static_cast<int>(layout) << ", "
                                        << static_cast<int>(pairing));
        Placed from = {yarn_config(38, 1e6, 4, 32768), 1, {3, 1, 4, 1, 5000}};
        from.config.rotary_dim = 34, from.config.rotary_offset = 3, from.config.pairing = pairing;
        Placed to = from;
        to.config.factor = 8, to.ids = {0, 1, 4, 7, 5001};
        ASSERT_NO_FATAL_FAILURE(expect_moved(from, to, dtype, layout, {layout == Layout::thd ? 1 : 2, 5, 3, 38}));
      }
    }
  }
}

// More tokens than a block holds. Those that move equal a fresh rotation, the others keep their bits.
TEST(Rerotate, OnlyTokensThatMoveAreTouched) {
  const int tokens = 200;
  for (const bool in_place : {false, true}) {
    Placed from = {plain_config(16), 1, std::vector<double>(tokens)}, to = from;
    std::iota(from.ids.begin(), from.ids.end(), 0);
    to.ids = from.ids;
    const auto moves = [](int token) { return (token > 20 && token < 120) || token == 130 || token % 50 == 0; };
    for (int token = 0; token < tokens; ++token) to.ids[token] += moves(token) ? 1000 + token % 3 : 0;
    const Shape shape = {2, tokens, 2, 16};
    GuardedTensor original(DType::f32, Layout::bhtd, shape), keys(DType::f32, Layout::bhtd, shape), moved(DType::f32, Layout::bhtd, shape);
    keys.copy_from(original.fill(2));
    rotate_keys(keys, from);
    moved.copy_from(keys);
    const FrequencyPlan plan = from.plan();
    const Positions old_positions = from.positions(), new_positions = to.positions();
    ASSERT_EQ(
        rerotate(kWasmSimdRotateKernels, in_place ? moved.in_place() : keys.into(moved), {plan, old_positions}, {plan, new_positions}),
        Status::ok);
    ASSERT_NO_FATAL_FAILURE(expect_fresh(moved, original, from, to));
    for (int batch = 0; batch < 2; ++batch) {
      for (int token = 0; token < tokens; ++token) {
        if (moves(token)) continue;
        for (int head = 0; head < 2; ++head) {
          for (int i = 0; i < 16; ++i) {
            ASSERT_EQ(moved.bits(moved.index(batch, token, head, i)), keys.bits(keys.index(batch, token, head, i))) << token;
          }
        }
      }
    }
  }
}

// A token that is rotated, one that doesn't change, and one that is only scaled: the last must not use the row of the first.
TEST(Rerotate, TokensThatOnlyScale) {
  const Placed from = {xpos_config(16, 512, 100), 1, {5, 100, 300}}, to = {xpos_config(16, 256, 100), 1, {9, 100, 300}};
  ASSERT_NO_FATAL_FAILURE(expect_moved(from, to, DType::f32, Layout::bthd, {1, 3, 1, 16}));
}

TEST(Rerotate, BatchRowsAreIndependent) {
  // from separate positions of each batch row to shared positions, and back
  const std::vector<double> apart = {0, 1, 2, 50, 51, 52, 7, 9, 11}, shared = {4, 5, 6};
  const RopeConfig config = yarn_config(16, 1e6, 4, 32768);
  const FrequencyPlan plan = plan_of(config);
  const Positions a = {0, apart.data(), 1, 3, 3}, b = {0, shared.data(), 1, 1, 3};
  for (const auto& [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}, std::pair{&a, &a}}) {
    const Shape shape = {3, 3, 2, 16};
    GuardedTensor keys(DType::f32, Layout::bthd, shape), expected(DType::f32, Layout::bthd, shape);
    expected.copy_from(keys.fill(3));
    Rope rope;
    ASSERT_EQ(rope.configure(config), Status::ok);
    ASSERT_EQ(rope.rotate(keys.in_place(), *from, 0, kKey), Status::ok);
    ASSERT_EQ(rope.rotate(expected.in_place(), *to, 0, kKey), Status::ok);
    ASSERT_EQ(rerotate(kWasmSimdRotateKernels, keys.in_place(), {plan, *from}, {plan, *to}), Status::ok);
    for (std::size_t i = 0; i < keys.count(); ++i)
      EXPECT_NEAR(keys.value(i), expected.value(i), 3.3 * 3 * kOneRotation);  // |pair| · scale < 3.3
  }
}

// Keys that are already in place are copied bit for bit, including -0, infinities and NaN payloads.
TEST(Rerotate, NothingToDoIsExact) {
  for (const Placed& placed : placements(16)) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Shape shape = {1, 5, 2, 16};
      GuardedTensor keys(dtype, Layout::bthd, shape), copy(dtype, Layout::bthd, shape), before(dtype, Layout::bthd, shape);
      Random random(4);
      for (std::size_t i = 0; i < keys.count(); ++i) keys.set_bits(i, random.next_bits());
      before.copy_from(keys);
      const FrequencyPlan a = placed.plan(), b = placed.plan();
      const std::vector<double> same_ids = placed.ids;
      const Positions from = placed.positions(), to = {0, same_ids.data(), 1, 1, 5};
      ASSERT_EQ(rerotate(kWasmSimdRotateKernels, keys.into(copy), {a, from}, {b, to}), Status::ok);
      ASSERT_EQ(rerotate(kWasmSimdRotateKernels, keys.in_place(), {a, from}, {b, to}), Status::ok);
      EXPECT_TRUE(copy.same_bits(before));
      EXPECT_TRUE(keys.same_bits(before));
    }
  }
}

// llama.cpp (August 2026, src/llama-kv-cache.cpp, K-shift) multiplies keys by YaRN's factor with every shift. After 100
// shifts that would be 1.1386^100.
TEST(Rerotate, ShiftsDoNotScaleAndCanBeUndone) {
  for (const RopeConfig& config : {plain_config(64), yarn_config(64, 1e6, 4, 32768), longrope_config(64, 10000, 4096)}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const int tokens = 12;
      const Shape shape = {1, tokens, 2, 64};
      GuardedTensor keys(dtype, Layout::bhtd, shape), before(dtype, Layout::bhtd, shape);
      keys.fill(5);
      const FrequencyPlan plan = plan_of(config, 5000);
      const Positions here = {5000, nullptr, 1, 1, tokens}, there = {5001, nullptr, 1, 1, tokens};
      before.copy_from(keys);
      for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(rerotate(kWasmSimdRotateKernels, keys.in_place(), {plan, here}, {plan, there}), Status::ok);
        ASSERT_EQ(rerotate(kWasmSimdRotateKernels, keys.in_place(), {plan, there}, {plan, here}), Status::ok);
      }
      // at worst 100 errors of one rotation in the same direction, each on both elements of a pair with norm < 3
      const Real storage = dtype == DType::f32 ? 0 : oracle::ulp(2.5L, dtype) / 2;
      const Real worst = 100 * std::sqrt(2.0L) * (3 * kOneRotation + storage);
      Real old_energy = 0, new_energy = 0;
      for (std::size_t i = 0; i < keys.count(); ++i) {
        EXPECT_NEAR(keys.value(i), before.value(i), worst);
        old_energy += before.value(i) * before.value(i), new_energy += keys.value(i) * keys.value(i);
      }
      // over 1536 elements rounding errors cancel; a factor of 1 + 1e-4 per shift would show as 2 %
      EXPECT_NEAR(new_energy / old_energy, 1, dtype == DType::bf16 ? 0.02 : 0.002);
    }
  }
}

TEST(Rerotate, AWindowCanSlideManyTimes) {
  // a streaming cache: 300 shifts by -1 equal one shift by -300
  const RopeConfig config = yarn_config(32, 1e6, 4, 32768);
  const FrequencyPlan plan = plan_of(config);
  const Shape shape = {1, 4, 1, 32};
  GuardedTensor stepwise(DType::f32, Layout::bthd, shape), at_once(DType::f32, Layout::bthd, shape);
  at_once.copy_from(stepwise.fill(6));
  for (int i = 0; i < 300; ++i) {
    const Positions from = {400.0 - i, nullptr, 1, 1, 4}, to = {399.0 - i, nullptr, 1, 1, 4};
    ASSERT_EQ(rerotate(kWasmSimdRotateKernels, stepwise.in_place(), {plan, from}, {plan, to}), Status::ok);
  }
  const Positions from = {400, nullptr, 1, 1, 4}, to = {100, nullptr, 1, 1, 4};
  ASSERT_EQ(rerotate(kWasmSimdRotateKernels, at_once.in_place(), {plan, from}, {plan, to}), Status::ok);
  for (std::size_t i = 0; i < stepwise.count(); ++i) EXPECT_NEAR(stepwise.value(i), at_once.value(i), 301 * 3 * kOneRotation);
}

// Under Precision::hf a fresh rotation rounds its angles to f32, and a re-rotation must give the same result. At position 131072 an angle
// is rounded by up to 2^-8.
TEST(Rerotate, HfPrecisionEqualsAFreshRotation) {
  RopeConfig from_config = plain_config(64, 1e6), to_config = yarn_config(64, 1e6, 4, 32768);
  from_config.precision = to_config.precision = Precision::hf;
  for (const auto& [a, b] :
       {std::pair{&from_config, &to_config}, std::pair{&to_config, &from_config}, std::pair{&from_config, &from_config}}) {
    const Shape shape = {1, 3, 1, 64};
    GuardedTensor keys(DType::f32, Layout::bthd, shape), expected(DType::f32, Layout::bthd, shape);
    expected.copy_from(keys.fill(7));
    const Placed from = {*a, 1, {131071, 99999, 65537}}, to = {*b, 1, {131070, 99998, 65536}};
    rotate_keys(keys, from);
    rotate_keys(expected, to);
    const FrequencyPlan from_plan = from.plan(), to_plan = to.plan();
    const Positions old_positions = from.positions(), new_positions = to.positions();
    ASSERT_EQ(rerotate(kWasmSimdRotateKernels, keys.in_place(), {from_plan, old_positions}, {to_plan, new_positions}), Status::ok);
    for (std::size_t i = 0; i < keys.count(); ++i) EXPECT_NEAR(keys.value(i), expected.value(i), 3.3 * 3 * kOneRotation);
  }
}

TEST(Rerotate, RopesTakeTheirPlansFromTheLength) {
  Rope dynamic, longrope;
  ASSERT_EQ(dynamic.configure(dynamic_config(32, 10000, 2, 4096)), Status::ok);
  ASSERT_EQ(longrope.configure(longrope_config(32)), Status::ok);
  const Placed from = {dynamic.config(), 6000, {5, 77, 5999}}, to = {longrope.config(), 4097, {5, 78, 4096}};
  const Shape shape = {1, 3, 2, 32};
  GuardedTensor original(DType::f32, Layout::bthd, shape), keys(DType::f32, Layout::bthd, shape);
  keys.copy_from(original.fill(8));
  rotate_keys(keys, from);
  const Positions old_positions = from.positions(), new_positions = to.positions();
  ASSERT_EQ(
      rerotate(kWasmSimdRotateKernels, keys.in_place(), RopePlacement{dynamic, old_positions}, RopePlacement{longrope, new_positions}),
      Status::ok);
  ASSERT_NO_FATAL_FAILURE(expect_fresh(keys, original, from, to));

  // lengths can be given: here they select the long list for short positions
  const Placed stated = {longrope.config(), 5000, {5, 78, 4000}}, brief = {longrope.config(), 4001, {5, 78, 4000}};
  keys.copy_from(original);
  rotate_keys(keys, brief);
  const Positions positions = stated.positions();
  ASSERT_EQ(rerotate(kWasmSimdRotateKernels, keys.in_place(), RopePlacement{longrope, positions}, RopePlacement{longrope, positions, 5000}),
            Status::ok);
  ASSERT_NO_FATAL_FAILURE(expect_fresh(keys, original, brief, stated));
}

TEST(Rerotate, DifferentGeometryIsRefused) {
  const std::vector<double> sections = {4, 4}, other_sections = {2, 6};
  RopeConfig base = plain_config(16);
  base.rotary_dim = 12;
  std::vector<RopeConfig> others(5, base);
  others[0].head_dim = 18;
  others[1].rotary_dim = 10;
  others[2].rotary_offset = 2;
  others[3].pairing = Pairing::interleaved;
  others[4].pairing = Pairing::interleaved_to_half;
  std::vector<std::pair<RopeConfig, RopeConfig>> pairs;
  for (const RopeConfig& other : others) pairs.push_back({base, other}), pairs.push_back({other, base});
  const RopeConfig axes = mrope_config(16, 10000, sections, MropeLayout::chunked);
  pairs.push_back({plain_config(16), axes});
  pairs.push_back({mrope_config(16, 10000, other_sections, MropeLayout::chunked), axes});

  const Positions from = {0, nullptr, 1, 1, 2}, to = {1, nullptr, 1, 1, 2};
  for (const auto& [a, b] : pairs) {
    GuardedTensor keys(DType::f32, Layout::bthd, {1, 2, 1, 16}), before(DType::f32, Layout::bthd, {1, 2, 1, 16});
    before.copy_from(keys.fill(9));
    const FrequencyPlan from_plan = plan_of(a), to_plan = plan_of(b);
    EXPECT_EQ(rerotate(kWasmSimdRotateKernels, keys.in_place(), {from_plan, from}, {to_plan, to}), Status::plans_differ);
    EXPECT_TRUE(keys.same_bits(before));
  }
}

TEST(Rerotate, BadPositionsAndShapesAreRefusedWithNothingWritten) {
  const FrequencyPlan plan = plan_of(plain_config(16));
  const double nan = std::nan("");
  const std::vector<double> good = {1, 2, 3, 4}, bad = {1, nan};
  const Positions two = {0, good.data(), 1, 1, 2}, three = {0, good.data(), 1, 1, 3}, rows = {0, good.data(), 1, 2, 2},
                  broken = {0, bad.data(), 1, 1, 2};
  GuardedTensor source(DType::f32, Layout::bthd, {1, 2, 1, 16}), target(DType::f32, Layout::bthd, {1, 2, 1, 16}),
      before(DType::f32, Layout::bthd, {1, 2, 1, 16});
  source.fill(10);
  before.copy_from(target.fill(11));
  const auto expect_refused = [&](const Positions& from, const Positions& to, Shape shape, Status status) {
    HeadTensor keys = source.into(target);
    keys.shape = shape;
    EXPECT_EQ(rerotate(kWasmSimdRotateKernels, keys, {plan, from}, {plan, to}), status);
    EXPECT_TRUE(target.same_bits(before));
  };
  expect_refused(broken, two, {1, 2, 1, 16}, Status::position_out_of_range);
  expect_refused(two, broken, {1, 2, 1, 16}, Status::position_out_of_range);
  expect_refused(three, two, {1, 2, 1, 16}, Status::shape_out_of_range);
  expect_refused(two, three, {1, 2, 1, 16}, Status::shape_out_of_range);
  expect_refused(rows, two, {1, 2, 1, 16}, Status::shape_out_of_range);
  expect_refused(two, two, {1, 2, 0, 16}, Status::shape_out_of_range);
  expect_refused(two, two, {1, 2, 2, 8}, Status::head_dim_mismatch);
  // kernels are indexed by element type, so an unknown type must be refused before
  const auto expect_unknown = [&](DType dtype, Layout layout, Status status) {
    const HeadTensor keys = {source.data(), target.data(), dtype, layout, {1, 2, 1, 16}};
    EXPECT_EQ(rerotate(kWasmSimdRotateKernels, keys, {plan, two}, {plan, two}), status);
    EXPECT_TRUE(target.same_bits(before));
  };
  expect_unknown(DType{3}, Layout::bthd, Status::dtype_unknown);
  expect_unknown(DType{-1}, Layout::bthd, Status::dtype_unknown);
  expect_unknown(DType::f32, Layout{3}, Status::layout_unknown);
}

}  // namespace
}  // namespace ropewalk
