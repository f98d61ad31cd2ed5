// Arguments that check_attention() refuses, with nothing written; and non-finite queries, keys and values.
#include <gtest/gtest.h>

#include <functional>

#include "native/attention/attention_call.h"
#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

// A valid call, which tests then modify.
struct GoodCall {
  GoodCall() {
    kv.heads = 2;
    kv.head_dim = 8;
    kv.tokens = 5;
    kv.head_stride = 8 * sizeof(float);
    kv.token_stride = 16 * sizeof(float);
    kv.keys = kv.values = reinterpret_cast<const char*>(rows.data());
    kv.positions.tokens = 5;
    queries = {rows.data(), out.data(), 32, 8, 3, 4};
    positions.offset = 2;
    positions.tokens = 3;
  }

  void expect(Status status) {
    EXPECT_EQ(check_attention(kv, queries, positions, options), status);
    Attention attention;
    EXPECT_EQ(attention.attend(kv, queries, positions, options), status);
    const bool is_untouched = std::all_of(out.begin(), out.end(), [](float value) { return value == AttentionCall::kUnwritten; });
    EXPECT_EQ(is_untouched, status != Status::ok);
  }

  std::vector<float> rows = random_floats(3 * 32, 1), out = std::vector<float>(3 * 32, AttentionCall::kUnwritten);
  KeyValues kv;
  Queries queries;
  Positions positions;
  AttentionOptions options;
};

void expect_refused(Status status, const std::function<void(GoodCall&)>& spoil) {
  GoodCall call;
  spoil(call);
  call.expect(status);
}

TEST(AttentionErrors, AValidCallIsAccepted) { GoodCall().expect(Status::ok); }

TEST(AttentionErrors, RowType) {
  expect_refused(Status::row_type_unknown, [](GoodCall& call) { call.kv.type = static_cast<RowType>(kRowTypes); });
  expect_refused(Status::row_type_unknown, [](GoodCall& call) { call.kv.type = static_cast<RowType>(-1); });
}

TEST(AttentionErrors, KeyShape) {
  expect_refused(Status::shape_out_of_range, [](GoodCall& call) { call.kv.heads = 0; });
  expect_refused(Status::shape_out_of_range, [](GoodCall& call) { call.kv.head_dim = 0; });
  expect_refused(Status::shape_out_of_range, [](GoodCall& call) { call.kv.head_dim = kMaxHeadDim + 1; });
  expect_refused(Status::shape_out_of_range, [](GoodCall& call) { call.kv.tokens = -1; });
}

TEST(AttentionErrors, QueryShape) {
  expect_refused(Status::query_shape_out_of_range, [](GoodCall& call) { call.queries.tokens = call.positions.tokens = 0; });
  expect_refused(Status::query_shape_out_of_range, [](GoodCall& call) { call.queries.heads = 0; });
  for (const int heads : {kMaxQueryHeads + 1, 104755297}) {  // the working memory of the second has 2^32 bytes and some
    expect_refused(Status::query_shape_out_of_range, [heads](GoodCall& call) { call.kv.heads = 1, call.queries.heads = heads; });
  }
}

TEST(AttentionErrors, HeadsThatAreNotGrouped) {
  expect_refused(Status::heads_not_grouped, [](GoodCall& call) { call.queries.heads = 3; });
  expect_refused(Status::heads_not_grouped, [](GoodCall& call) { call.queries.heads = 1; });
}

TEST(AttentionErrors, PositionsOfOtherTokens) {
  expect_refused(Status::shape_out_of_range, [](GoodCall& call) { call.positions.tokens = 2; });
  expect_refused(Status::shape_out_of_range, [](GoodCall& call) { call.positions.rows = 2; });
}

TEST(AttentionErrors, MoreQueriesThanKeys) {
  expect_refused(Status::more_queries_than_keys, [](GoodCall& call) { call.kv.tokens = 2; });
  expect_refused(Status::more_queries_than_keys, [](GoodCall& call) { call.kv.tokens = 0; });
  expect_refused(Status::ok, [](GoodCall& call) { call.kv.tokens = 2, call.options.causal = false; });
}

TEST(AttentionErrors, Window) {
  expect_refused(Status::window_out_of_range, [](GoodCall& call) { call.options.window = 0; });
  expect_refused(Status::window_out_of_range, [](GoodCall& call) { call.options.window = -3; });
}

TEST(AttentionErrors, SinkTokens) {
  expect_refused(Status::sink_tokens_out_of_range, [](GoodCall& call) { call.options.sink_tokens = -1; });
}

TEST(AttentionErrors, Sinks) {
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    const float sinks[] = {0, 1, 2, bad};
    expect_refused(Status::sinks_not_finite, [&](GoodCall& call) { call.options.sinks = sinks; });
  }
}

TEST(AttentionErrors, SoftCap) {
  for (const double bad : {-1.0, 1e-4, 1e7, double{kNaN}, double{kInfinity}}) {
    expect_refused(Status::soft_cap_out_of_range, [&](GoodCall& call) { call.options.soft_cap = bad; });
  }
}

TEST(AttentionErrors, Scale) {
  for (const double bad : {double{kNaN}, double{kInfinity}, 1e39}) {
    expect_refused(Status::attention_scale_out_of_range, [&](GoodCall& call) { call.options.scale = bad; });
  }
}

TEST(AttentionErrors, Temperatures) {
  const float temperatures[] = {1, 1, kNaN};
  expect_refused(Status::temperature_not_finite, [&](GoodCall& call) { call.options.temperatures = temperatures; });
}

// ---- Position encodings.

TEST(AttentionErrors, Scheme) {
  expect_refused(Status::position_scheme_unknown, [](GoodCall& call) { call.options.position.scheme = static_cast<PositionScheme>(6); });
}

void expect_rope_refused(Status status, const RopeConfig& config, const std::function<void(GoodCall&)>& spoil) {
  ConfiguredRope rope(config);
  expect_refused(status, [&](GoodCall& call) {
    call.options.position.scheme = PositionScheme::rope;
    call.options.position.rope = &rope;
    spoil(call);
  });
}

TEST(AttentionErrors, RopeOfAnotherHeadDim) {
  expect_rope_refused(Status::ok, plain_config(8), [](GoodCall&) {});
  expect_rope_refused(Status::head_dim_mismatch, plain_config(16), [](GoodCall&) {});
}

TEST(AttentionErrors, RopePositions) {
  const std::vector<double> planes(10, 1), bad = {0, 1, kNaN, 3, 4}, far = {0, 1, 3e9, 3, 4};
  const auto no_change = plain_config(8);
  expect_rope_refused(Status::positions_axes, no_change, [&](GoodCall& call) { call.positions = positions_of(planes, 3, 1, 2); });
  expect_rope_refused(Status::positions_axes, no_change, [&](GoodCall& call) { call.kv.positions = positions_of(planes, 5, 1, 2); });
  for (const auto& ids : {bad, far}) {
    expect_rope_refused(Status::position_out_of_range, no_change, [&](GoodCall& call) { call.positions = positions_of(ids, 3); });
    expect_rope_refused(Status::position_out_of_range, no_change, [&](GoodCall& call) { call.kv.positions = positions_of(ids, 5); });
    expect_rope_refused(Status::ok, no_change, [&](GoodCall& call) {  // already rotated queries need none
      call.positions = positions_of(ids, 3);
      call.options.position.encodes_queries = false;
    });
  }
}

TEST(AttentionErrors, KeyPositionsOfOtherTokens) {
  const std::vector<double> ids = {0, 1, 2};
  const std::vector<float> table = random_floats(32 * 8, 2);
  for (const PositionScheme scheme : {PositionScheme::sinusoidal, PositionScheme::learned, PositionScheme::alibi, PositionScheme::t5}) {
    SCOPED_TRACE(static_cast<int>(scheme));
    expect_refused(Status::shape_out_of_range, [&](GoodCall& call) {
      call.options.position.scheme = scheme;
      call.options.position.table = table.data();
      call.options.position.table_rows = 32;
      call.kv.positions = positions_of(ids, 3);
    });
  }
  expect_rope_refused(Status::shape_out_of_range, plain_config(8), [&](GoodCall& call) { call.kv.positions = positions_of(ids, 3); });
}

TEST(AttentionErrors, LearnedTable) {
  const std::vector<float> table = random_floats(6 * 8, 2);
  const std::vector<double> negative = {-1, 0, 1, 2, 3}, fraction = {0, 1, 2.5, 3, 4}, not_a_number = {0, 1, kNaN, 3, 4};
  const auto refuse = [&](Status status, int rows, const std::function<void(GoodCall&)>& spoil) {
    expect_refused(status, [&](GoodCall& call) {
      call.options.position.scheme = PositionScheme::learned;
      call.options.position.table = table.data();
      call.options.position.table_rows = rows;
      spoil(call);
    });
  };
  refuse(Status::ok, 5, [](GoodCall&) {});
  refuse(Status::position_table_too_short, 4, [](GoodCall&) {});
  refuse(Status::position_table_too_short, 5, [](GoodCall& call) { call.positions.offset = 3; });
  refuse(Status::position_table_too_short, 0, [](GoodCall&) {});
  refuse(Status::position_table_too_short, 5, [](GoodCall& call) { call.options.position.table = nullptr; });
  for (const auto& ids : {negative, fraction, not_a_number}) {
    refuse(Status::position_table_too_short, 5, [&](GoodCall& call) { call.positions = positions_of(ids, 3); });
    refuse(Status::position_table_too_short, 5, [&](GoodCall& call) { call.kv.positions = positions_of(ids, 5); });
  }
}

TEST(AttentionErrors, SinusoidalBase) {
  for (const double bad : {1.0, 0.0, -5.0, 1e31, double{kNaN}}) {
    expect_refused(Status::sinusoidal_base_out_of_range, [&](GoodCall& call) {
      call.options.position.scheme = PositionScheme::sinusoidal;
      call.options.position.base = bad;
    });
  }
}

// Positions that are meaningless in any encoding.
TEST(AttentionErrors, PositionsThatAreNotFinite) {
  const std::vector<float> table = random_floats(32 * 4, 2);
  for (const PositionScheme scheme : {PositionScheme::sinusoidal, PositionScheme::alibi, PositionScheme::t5}) {
    for (const double bad : {double{kNaN}, double{kInfinity}, -double{kInfinity}}) {
      SCOPED_TRACE(testing::Message() << "scheme " << static_cast<int>(scheme) << ", position " << bad);
      const std::vector<double> ids = {0, 1, bad, 3, 4};
      const auto use_scheme = [&](GoodCall& call) {
        call.options.position.scheme = scheme;
        call.options.position.table = table.data();
        call.options.position.t5.bidirectional = true;
      };
      expect_refused(Status::position_out_of_range, [&](GoodCall& call) {
        use_scheme(call);
        call.positions = positions_of(ids, 3);
      });
      expect_refused(Status::position_out_of_range, [&](GoodCall& call) {
        use_scheme(call);
        call.kv.positions = positions_of(ids, 5);
      });
    }
  }
}

TEST(AttentionErrors, Slopes) {
  const float slopes[] = {1, 1, kNaN, 1};
  expect_refused(Status::position_bias_out_of_range, [&](GoodCall& call) {
    call.options.position.scheme = PositionScheme::alibi;
    call.options.position.slopes = slopes;
  });
}

TEST(AttentionErrors, T5Table) {
  std::vector<float> table(32 * 4);
  const auto refuse = [&](const std::function<void(PositionEncoding&)>& spoil) {
    expect_refused(Status::position_bias_out_of_range, [&](GoodCall& call) {
      call.options.position.scheme = PositionScheme::t5;
      call.options.position.table = table.data();
      spoil(call.options.position);
    });
  };
  refuse([](PositionEncoding& position) { position.table = nullptr; });
  refuse([](PositionEncoding& position) { position.t5.buckets = 1; });
  refuse([](PositionEncoding& position) { position.t5.max_distance = 16; });
  table.back() = kInfinity;
  refuse([](PositionEncoding&) {});
}

// ---- No keys.

TEST(AttentionOfNothing, IsZero) {
  for (const bool has_sinks : {false, true}) {
    GoodCall call;
    const float sinks[] = {0, 1, 2, 3};
    call.kv.tokens = call.kv.positions.tokens = 0;
    call.kv.keys = call.kv.values = nullptr;
    call.options.causal = false;
    if (has_sinks) call.options.sinks = sinks;
    call.expect(Status::ok);
    EXPECT_EQ(call.out, std::vector<float>(call.out.size(), 0));
  }
}

// Without `causal` there may be more queries than keys; with a window, older queries may then see no key.
TEST(AttentionOfNothing, IsZeroOutsideTheWindow) {
  AttentionCall call({10, 2, 2, 1, 8}, 3);
  call.options.causal = false;
  call.options.window = 3;
  const std::vector<float> out = call.attend();
  for (int head = 0; head < 2; ++head) {
    for (int query = 0; query < 10; ++query) {  // at slot query - 8: the first that is less than 3 from key 0 is query 6
      EXPECT_EQ(out[(head * 10 + query) * 8] == 0, query < 6) << query;
    }
  }
}

// ---- Non-finite numbers.

struct Variant {
  const char* name;
  bool has_sinks;
  double soft_cap;
  PositionScheme scheme;
};

const Variant kVariants[] = {
    {"plain", false, 0, PositionScheme::none},      {"sinks", true, 0, PositionScheme::none},
    {"capped", false, 5, PositionScheme::none},     {"capped, sinks", true, 5, PositionScheme::none},
    {"alibi", false, 0, PositionScheme::alibi},     {"rope", false, 0, PositionScheme::rope},
    {"rope, sinks", true, 0, PositionScheme::rope},
};

// Calls `visit` with a call of each variant, with few and many queries, and its output while all inputs are finite.
void for_variants(const std::function<void(AttentionCall&, const std::vector<float>&)>& visit) {
  const float sinks[] = {0, 1, -1, 2};
  ConfiguredRope rope(plain_config(8));
  for (const Variant& variant : kVariants) {
    for (const int queries : {3, 40}) {
      SCOPED_TRACE(testing::Message() << variant.name << ", " << queries << " queries");
      AttentionCall call({queries, 40, 4, 2, 8}, 4);
      if (variant.has_sinks) call.options.sinks = sinks;
      call.options.soft_cap = variant.soft_cap;
      call.options.position.scheme = variant.scheme;
      call.options.position.rope = &rope;
      visit(call, call.attend());
    }
  }
}

TEST(AttentionNotFinite, AQueryOfNaNGivesNaNInItsOwnRow) {
  for_variants([](AttentionCall& call, const std::vector<float>& finite) {
    const int queries = call.shape().queries;
    call.query(1, 2, 5) = kNaN;
    for (const auto& [kernels, rotate] :
         {std::pair{&kScalarAttentionKernels, &kScalarRotateKernels}, {&kWasmSimdAttentionKernels, &kWasmSimdRotateKernels}}) {
      const std::vector<float> out = call.attend(*kernels, *rotate);
      int wrong = 0;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const bool is_its_own = static_cast<int>(i / 8) == queries + 2;
        wrong += is_its_own ? !std::isnan(out[i]) : out[i] != finite[i];
      }
      EXPECT_EQ(wrong, 0) << kernels->name;
    }
  });
}

TEST(AttentionNotFinite, AKeyOfNaNGivesNaNWhereItIsSeen) {
  for_variants([](AttentionCall& call, const std::vector<float>& finite) {
    const int queries = call.shape().queries, key = 38;
    std::memcpy(call.row(false, 0, key), &kNaN, sizeof kNaN);
    const std::vector<float> out = call.attend();
    int wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int row = static_cast<int>(i) / 8, slot = row % queries + 40 - queries;
      const bool sees_it = row / queries < 2 && slot >= key;
      wrong += sees_it ? !std::isnan(out[i]) : out[i] != finite[i];
    }
    EXPECT_EQ(wrong, 0);
  });
}

TEST(AttentionNotFinite, ScoresThatOverflowGiveNaNAndNothingElse) {
  AttentionCall call({3, 40, 4, 2, 8}, 5);
  const std::vector<float> finite = call.attend();
  for (int i = 0; i < 8; ++i) call.query(1, 2, i) = 3e38f;
  const std::vector<float> out = call.attend();
  for (int row = 0; row < 12; ++row) {
    for (int i = 0; i < 8; ++i) {
      if (row == 5) {
        EXPECT_TRUE(std::isnan(out[row * 8 + i]));
      } else {
        EXPECT_EQ(out[row * 8 + i], finite[row * 8 + i]);
      }
    }
  }
}

// A score of -infinity has weight 0, even if a whole block has no other scores.
TEST(AttentionNotFinite, ScoresOfMinusInfinityHaveNoWeight) {
  AttentionCall call({1, 70, 1, 1, 4}, 6);
  std::vector<double> mean(4);
  for (int i = 0; i < 4; ++i) call.query(0, 0, i) = 1e38f;
  for (int token = 0; token < 70; ++token) {
    const std::vector<float> key(4, token < 40 ? -2.0f : 0.0f);  // the sum of 4 · 2 · 1e38 overflows
    std::memcpy(call.row(false, 0, token), key.data(), sizeof(float) * 4);
    for (int i = 0; i < 4 && token >= 40; ++i) mean[i] += decoded(RowType::f32, call.row(true, 0, token), i) / 30;
  }
  call.options.scale = 1;
  for (const auto& [kernels, rotate] :
       {std::pair{&kScalarAttentionKernels, &kScalarRotateKernels}, {&kWasmSimdAttentionKernels, &kWasmSimdRotateKernels}}) {
    const std::vector<float> out = call.attend(*kernels, *rotate);
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(out[i], mean[i], 1e-6) << kernels->name;
  }
}

}  // namespace
}  // namespace ropewalk
