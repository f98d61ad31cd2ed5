// Attention under every position encoding, against the oracle with the encoding's own formula.
#include <gtest/gtest.h>

#include "native/attention/attention_call.h"
#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

using oracle::Real;

// As in attention_test.cpp, but rotating or adding rows rounds q and k once or twice more. Measured: 1.1e-6 with learned rows as large as q
// and k, which make scores four times as large, and 7e-7 otherwise.
constexpr double kTolerance = 2e-6;

constexpr CallShape kShape = {23, 41, 6, 2, 24};

void expect_exact(AttentionCall& call, const oracle::Attention& exact) {
  const std::vector<float> out = call.attend(kWasmSimdAttentionKernels, kWasmSimdRotateKernels);
  EXPECT_LE(worst_error(out, exact.attend()), kTolerance);
  EXPECT_EQ(std::memcmp(call.attend(kScalarAttentionKernels, kScalarRotateKernels).data(), out.data(), out.size() * sizeof(float)), 0);
}

// ---- RoPE.

// Rows of heads, [heads][tokens][head_dim], rotated by `config`; ids are [axes][tokens].
void rotate_rows(std::vector<double>& rows, const RopeConfig& config, const std::vector<double>& ids, int tokens, double length,
                 Role role) {
  const oracle::Plan plan = oracle::plan(config, length);
  const std::vector<int> axes = oracle::axes(config);
  const int pairs = static_cast<int>(plan.inv_freq.size());
  const Pairing read = config.pairing == Pairing::half ? Pairing::half : Pairing::interleaved;
  const Pairing write = config.pairing == Pairing::interleaved ? Pairing::interleaved : Pairing::half;
  for (std::size_t row = 0; row * config.head_dim < rows.size(); ++row) {
    std::vector<Real> cos, sin;
    for (int j = 0; j < pairs; ++j) {
      const Real position = ids[axes[j] * tokens + row % tokens];
      Real scale = plan.attention_factor;
      if (config.xpos_scale_base.has_value()) {
        const Real power = (position - config.xpos_center) / *config.xpos_scale_base;
        scale *= std::pow(oracle::xpos_zeta(j, 2 * pairs), role == Role::key ? -power : power);
      }
      cos.push_back(std::cos(position * plan.inv_freq[j]) * scale);
      sin.push_back(std::sin(position * plan.inv_freq[j]) * scale);
    }
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(row) * config.head_dim + config.rotary_offset;
    const std::vector<Real> rotated = oracle::rotate({first, first + 2 * pairs}, cos, sin, read, write);
    std::copy(rotated.begin(), rotated.end(), first);
  }
}

struct Ids {
  std::vector<double> queries, keys;  // [axes][tokens]
};

// Consecutive positions from `first` on, queries last; each axis has different positions.
Ids ordered(const CallShape& shape, double first, int axes = 1) {
  Ids ids;
  for (int axis = 0; axis < axes; ++axis) {
    for (int key = 0; key < shape.keys; ++key) ids.keys.push_back(first + (axis == 0 ? key : key / (4 * axis) + axis));
    ids.queries.insert(ids.queries.end(), ids.keys.end() - shape.queries, ids.keys.end());
  }
  return ids;
}

Ids scattered(const CallShape& shape, double low, double high) {
  Random random(1);
  Ids ids;
  for (int i = 0; i < shape.keys; ++i) ids.keys.push_back(random.between(low, high));
  for (int i = 0; i < shape.queries; ++i) ids.queries.push_back(random.between(low, high));
  return ids;
}

AttentionCall call_at(const CallShape& shape, const Ids& ids, RowType type = RowType::f32, Place place = Place::tokens_first) {
  const int axes = static_cast<int>(ids.keys.size()) / shape.keys;
  AttentionCall call(shape, 7, type, place, ids.keys, axes);
  call.query_positions = positions_of(ids.queries, shape.queries, 1, axes);
  return call;
}

void expect_rotated(const RopeConfig& config, const CallShape& shape, const Ids& ids, double length = 1, RowType type = RowType::f32,
                    Place place = Place::tokens_first, int window = kNoWindow, int sink_tokens = 0) {
  ConfiguredRope rope(config);
  ASSERT_EQ(rope.use_length(length), Status::ok);
  AttentionCall call = call_at(shape, ids, type, place);
  call.options.window = window;
  call.options.sink_tokens = sink_tokens;
  call.options.position.scheme = PositionScheme::rope;
  call.options.position.rope = &rope;
  oracle::Attention exact = call.exact();
  rotate_rows(exact.q, config, ids.queries, shape.queries, length, Role::query);
  rotate_rows(exact.k, config, ids.keys, shape.keys, length, Role::key);
  expect_exact(call, exact);
}

class AttentionRope : public testing::TestWithParam<Pairing> {
 protected:
  RopeConfig config(RopeConfig config) const { return with_pairing(config, GetParam()); }
};

TEST_P(AttentionRope, WholeHeads) { expect_rotated(config(plain_config(24)), kShape, ordered(kShape, 0)); }

TEST_P(AttentionRope, FarPositions) { expect_rotated(config(plain_config(24)), kShape, ordered(kShape, 131000)); }

TEST_P(AttentionRope, FractionalUnorderedPositions) { expect_rotated(config(plain_config(24)), kShape, scattered(kShape, -50, 900)); }

TEST_P(AttentionRope, ScaledPlans) {
  expect_rotated(config(yarn_config(24, 10000, 4, 64)), kShape, ordered(kShape, 10));  // attention_factor above 1
  expect_rotated(config(dynamic_config(24, 10000, 2, 30)), kShape, ordered(kShape, 0), 41);
  expect_rotated(config(longrope_config(24, 10000, 30, 120)), kShape, ordered(kShape, 0), 41);
}

TEST_P(AttentionRope, PartOfAHead) {
  for (const int offset : {0, 3, 10}) {
    RopeConfig partial = config(plain_config(24));
    partial.rotary_dim = 14;
    partial.rotary_offset = offset;
    expect_rotated(partial, kShape, ordered(kShape, 5));
  }
}

TEST_P(AttentionRope, HeadsThatAreNotAMultipleOfFour) {
  const CallShape shape = {9, 40, 3, 3, 10};
  expect_rotated(config(plain_config(10)), shape, ordered(shape, 0));
}

TEST_P(AttentionRope, EveryRowTypeAndPlace) {
  for (const RowType type : kEveryRowType) {
    for (const Place place : {Place::tokens_first, Place::heads_first, Place::pages}) {
      SCOPED_TRACE(testing::Message() << name_of(type) << ", place " << static_cast<int>(place));
      expect_rotated(config(plain_config(24)), kShape, ordered(kShape, 3), 1, type, place);
    }
  }
}

// Keys from the middle of a page on.
TEST_P(AttentionRope, WindowsAndSinkTokens) {
  for (const Place place : {Place::heads_first, Place::pages}) {
    const CallShape shape = {4, 75, 6, 2, 24};
    for (const auto& [window, sink_tokens] : {std::pair{5, 0}, {9, 3}, {30, 33}, {50, 7}}) {
      SCOPED_TRACE(testing::Message() << "window " << window << ", " << sink_tokens << " sink tokens, place " << static_cast<int>(place));
      expect_rotated(config(plain_config(24)), shape, ordered(shape, 3), 1, RowType::f32, place, window, sink_tokens);
    }
  }
}

TEST_P(AttentionRope, PositionsOfSeveralAxes) {
  const std::vector<double> chunked = {2, 5, 5}, interleaved = {4, 4, 4};
  for (const Place place : {Place::heads_first, Place::pages}) {
    const Ids ids = ordered(kShape, 2, 3);
    expect_rotated(config(mrope_config(24, 10000, chunked, MropeLayout::chunked)), kShape, ids, 1, RowType::f32, place);
    expect_rotated(config(mrope_config(24, 10000, interleaved, MropeLayout::interleaved)), kShape, ids, 1, RowType::f16, place);
  }
}

TEST_P(AttentionRope, Xpos) { expect_rotated(config(xpos_config(24, 64, 20)), kShape, ordered(kShape, 0)); }

// Keys and queries that were rotated before give the same bits as ones that attention rotates.
TEST_P(AttentionRope, RotatedBeforeOrDuringAttention) {
  RopeConfig partial = config(yarn_config(24, 10000, 4, 64));
  partial.rotary_dim = 16;
  partial.rotary_offset = 4;
  for (const int queries : {3, 41}) {
    const CallShape shape = {queries, 41, 6, 2, 24};
    const Ids ids = ordered(shape, 7);
    ConfiguredRope rope(partial);
    AttentionCall on_the_way = call_at(shape, ids);
    on_the_way.options.position.scheme = PositionScheme::rope;
    on_the_way.options.position.rope = &rope;
    const std::vector<float> expected = on_the_way.attend();

    AttentionCall beforehand = call_at(shape, ids);
    float* queries_at = &beforehand.query(0, 0, 0);
    ASSERT_EQ(rope.rotate({queries_at, queries_at, DType::f32, Layout::thd, {1, queries, 6, 24}}, beforehand.query_positions, 1, {}),
              Status::ok);
    beforehand.options.position = on_the_way.options.position;
    beforehand.options.position.encodes_queries = false;
    EXPECT_EQ(beforehand.attend(), expected);

    const KeyValues kv = beforehand.keys_and_values();
    ASSERT_EQ(
        rope.rotate({kv.keys, beforehand.row(false, 0, 0), DType::f32, Layout::thd, {1, 41, 2, 24}}, kv.positions, 1, {Role::key, false}),
        Status::ok);
    beforehand.options.position.scheme = PositionScheme::none;
    EXPECT_EQ(beforehand.attend(), expected);
  }
}

std::string pairing_name(const testing::TestParamInfo<Pairing>& info) {
  const char* names[] = {"half", "interleaved", "interleaved_to_half"};
  return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Each, AttentionRope, testing::Values(Pairing::half, Pairing::interleaved, Pairing::interleaved_to_half),
                         pairing_name);

// ---- Sinusoidal and learned tables.

template <class Row>
void add_rows(std::vector<double>& heads, int dim, const std::vector<double>& ids, Row row) {
  for (std::size_t i = 0; i < heads.size(); ++i) heads[i] += row(ids[i / dim % ids.size()], static_cast<int>(i % dim));
}

template <class Row>
void expect_added(AttentionCall& call, const Ids& ids, Row row) {
  for (const bool encodes_queries : {true, false}) {
    call.options.position.encodes_queries = encodes_queries;
    oracle::Attention exact = call.exact();
    if (encodes_queries) add_rows(exact.q, call.shape().head_dim, ids.queries, row);
    add_rows(exact.k, call.shape().head_dim, ids.keys, row);
    expect_exact(call, exact);
  }
}

TEST(AttentionPosition, Sinusoidal) {
  for (const int dim : {1, 7, 24}) {
    for (const Place place : {Place::tokens_first, Place::pages}) {
      CallShape shape = kShape;
      shape.head_dim = dim;
      for (const Ids& ids : {ordered(shape, 0), ordered(shape, 100000), scattered(shape, -30, 400)}) {
        AttentionCall call = call_at(shape, ids, RowType::f32, place);
        call.options.position.scheme = PositionScheme::sinusoidal;
        call.options.position.base = 500;
        expect_added(call, ids, [&](double position, int i) {
          const Real angle = position * std::pow(Real{500}, -Real(i / 2 * 2) / dim);
          return static_cast<double>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
        });
      }
    }
  }
}

TEST(AttentionPosition, Learned) {
  const std::vector<float> table = random_floats(60 * 24, 5);
  for (const RowType type : {RowType::f32, RowType::f16}) {
    for (const Place place : {Place::heads_first, Place::pages}) {
      const Ids ids = ordered(kShape, 60 - kShape.keys);
      AttentionCall call = call_at(kShape, ids, type, place);
      call.options.position.scheme = PositionScheme::learned;
      call.options.position.table = table.data();
      call.options.position.table_rows = 60;
      expect_added(call, ids, [&](double position, int i) { return table[static_cast<int>(position) * 24 + i]; });
    }
  }
}

// ---- Biases.

// The authors' get_slopes.
double alibi_slope(int heads, int head) {
  int power = 1;
  while (2 * power <= heads) power *= 2;
  return head < power ? std::exp2(-8.0 * (head + 1) / power) : alibi_slope(2 * power, 2 * (head - power));
}

TEST(AttentionPosition, Alibi) {
  const std::vector<float> slopes = {0.5f, 0.1f, 0, 3, -0.25f, 0.01f};
  for (const bool causal : {true, false}) {
    for (const bool has_slopes : {true, false}) {
      for (const Ids& ids : {ordered(kShape, 1000), scattered(kShape, 0, 60)}) {
        AttentionCall call = call_at(kShape, ids, RowType::f32, causal ? Place::pages : Place::tokens_first);
        call.options.causal = causal;
        call.options.window = 11;
        call.options.sink_tokens = 2;
        call.options.position.scheme = PositionScheme::alibi;
        call.options.position.slopes = has_slopes ? slopes.data() : nullptr;
        oracle::Attention exact = call.exact();
        exact.bias = [&](int head, int query, int key) {
          return -(has_slopes ? slopes[head] : alibi_slope(6, head)) * std::fabs(ids.keys[key] - ids.queries[query]);
        };
        expect_exact(call, exact);
      }
    }
  }
}

// transformers' _relative_position_bucket.
int t5_bucket_of(int relative, bool bidirectional, int buckets, int max_distance) {
  int first = 0;
  if (bidirectional) {
    buckets /= 2;
    if (relative > 0) first = buckets;
    relative = std::abs(relative);
  } else {
    relative = -std::min(relative, 0);
  }
  const int exact = buckets / 2;
  if (relative < exact) return first + relative;
  const double large = exact + std::floor(std::log(relative / double(exact)) / std::log(max_distance / double(exact)) * (buckets - exact));
  return first + std::min(static_cast<int>(large), buckets - 1);
}

TEST(AttentionPosition, T5) {
  const CallShape shape = {30, 170, 6, 2, 8};
  const std::vector<float> table = random_floats(32 * 6, 6);
  for (const bool bidirectional : {true, false}) {
    for (const bool causal : {true, false}) {
      const Ids ids = ordered(shape, 5);
      AttentionCall call = call_at(shape, ids, RowType::f32, causal ? Place::pages : Place::heads_first);
      call.options.causal = causal;
      call.options.soft_cap = causal ? 0 : 4;  // before the bias
      call.options.position.scheme = PositionScheme::t5;
      call.options.position.table = table.data();
      call.options.position.t5.bidirectional = bidirectional;
      oracle::Attention exact = call.exact();
      exact.bias = [&](int head, int query, int key) {
        const int relative = static_cast<int>(ids.keys[key] - ids.queries[query]);
        return double{table[t5_bucket_of(relative, bidirectional, 32, 128) * 6 + head]};
      };
      expect_exact(call, exact);
    }
  }
}

}  // namespace
}  // namespace ropewalk
