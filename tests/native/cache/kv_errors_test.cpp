// Errors of all operations: their status, and that the cache and the caller's tensors keep their bits.
#include <gtest/gtest.h>

#include "native/cache/kv_expect.h"

namespace ropewalk {
namespace {

RopeConfig partial_config() {
  RopeConfig config = yarn_config(16, 10000, 4, 64);
  config.rotary_dim = 12, config.rotary_offset = 2;
  return config;
}

class KvErrors : public testing::Test {
 protected:
  static constexpr int kLimit = 80, kHeld = 33;

  KvErrors() {
    for (int layer = 0; layer < 3; ++layer) {
      Tokens tokens(setup.layers[layer], layer < 2 ? kHeld : kHeld - 3, layer + 1, 2);
      EXPECT_EQ(cache.append(layer, kAllSequences, tokens.without_queries()), Status::ok);
    }
    before = snapshot_of(cache);
  }

  void expect_unchanged() { EXPECT_TRUE(snapshot_of(cache) == before); }
  void expect_status(Status status, Status expected, const char* what = "") {
    EXPECT_EQ(status, expected) << what;
    expect_unchanged();
  }

  // Expects append() of two batch rows to layer 0 to fail, after a change to its arguments.
  template <class Change>
  void expect_refused(Status status, Change change, int layer = 0, int sequence = kAllSequences) {
    Tokens tokens(setup.layers[0], 4, 9, 2);
    NewTokens given = tokens.with_queries();
    change(given, tokens);
    const auto k = tokens.k.bytes(), v = tokens.v.bytes(), q = tokens.q.bytes();
    EXPECT_EQ(cache.append(layer, sequence, given), status);
    EXPECT_TRUE(tokens.k.bytes() == k && tokens.v.bytes() == v && tokens.q.bytes() == q);
    expect_unchanged();
  }

  CacheSetup setup = {{{2, 16, 0}, {2, 16, kNoRope}, {2, 16, 0}}, {partial_config()}, RowType::f16, KeyMode::rotated, 2, kLimit};
  ConfiguredCache cache{setup};
  Snapshot before;
};

TEST_F(KvErrors, Configure) {
  const auto expect_bad = [&](Status status, auto change) {
    CacheSetup other = setup;
    change(other);
    expect_status(cache.configure(other.config()), status);
    EXPECT_EQ(cache.max_tokens(), kLimit);
  };
  expect_bad(Status::cache_mode_unknown, [](CacheSetup& s) { s.mode = KeyMode{2}; });
  expect_bad(Status::cache_mode_unknown, [](CacheSetup& s) { s.mode = KeyMode{-1}; });
  for (const int count : {0, -1, kMaxSequences + 1}) {
    expect_bad(Status::cache_sequences_out_of_range, [&](CacheSetup& s) { s.sequences = count; });
  }
  for (const int count : {0, -1, kMaxCacheTokens + 1}) {
    expect_bad(Status::cache_limit_out_of_range, [&](CacheSetup& s) { s.max_tokens = count; });
  }
  expect_bad(Status::row_type_unknown, [](CacheSetup& s) { s.type = RowType{kCacheTypes}; });
  expect_bad(Status::cache_layers_out_of_range, [](CacheSetup& s) { s.layers.resize(kMaxCacheLayers + 1); });
  expect_bad(Status::cache_layers_out_of_range, [](CacheSetup& s) { s.layers[1].kv_heads = 0; });
  expect_bad(Status::cache_rope_unknown, [](CacheSetup& s) { s.layers[1].rope = 1; });
  expect_bad(Status::cache_rope_unknown, [](CacheSetup& s) { s.layers[1].rope = -2; });
  expect_bad(Status::head_dim_mismatch, [](CacheSetup& s) { s.layers[0].head_dim = 18; });
  expect_bad(Status::rope_theta_out_of_range, [](CacheSetup& s) { s.ropes[0].rope_theta = 0; });
  EXPECT_EQ(cache.configure(setup.config()), Status::ok);
  EXPECT_EQ(cache.bytes(), 0) << "configured again, it is empty";
}

TEST_F(KvErrors, AppendShapes) {
  const auto nothing = [](NewTokens&, Tokens&) {};
  for (const int layer : {-1, 3}) expect_refused(Status::layer_out_of_range, nothing, layer);
  for (const int sequence : {-2, 2}) expect_refused(Status::sequence_out_of_range, nothing, 0, sequence);
  expect_refused(Status::batch_mismatch, nothing, 0, 1);
  expect_refused(Status::batch_mismatch, [](NewTokens& t, Tokens&) { t.keys.shape.batches = t.values.shape.batches = 1; });
  expect_refused(Status::dtype_unknown, [](NewTokens& t, Tokens&) { t.keys.dtype = DType{3}; });
  expect_refused(Status::layout_unknown, [](NewTokens& t, Tokens&) { t.keys.layout = Layout{3}; });
  expect_refused(Status::shape_out_of_range, [](NewTokens& t, Tokens&) { t.keys.shape.tokens = 0; });
  expect_refused(Status::shape_out_of_range, [](NewTokens& t, Tokens&) { t.keys.layout = Layout::thd; });
  expect_refused(Status::key_value_heads_mismatch, [](NewTokens& t, Tokens&) { t.keys.shape.heads = t.values.shape.heads = 1; });
  expect_refused(Status::key_value_heads_mismatch, [](NewTokens& t, Tokens&) { t.keys.shape.head_dim = t.values.shape.head_dim = 8; });
  expect_refused(Status::key_value_shapes_differ, [](NewTokens& t, Tokens&) { t.values.shape.heads = 1; });
  expect_refused(Status::key_value_shapes_differ, [](NewTokens& t, Tokens&) { t.values.shape.tokens = 3; });
  expect_refused(Status::key_value_shapes_differ, [](NewTokens& t, Tokens&) { t.values.dtype = DType::f16; });
  expect_refused(Status::key_value_shapes_differ, [](NewTokens& t, Tokens&) { t.values.layout = Layout::bhtd; });
  expect_refused(Status::dtype_unknown, [](NewTokens& t, Tokens&) { t.values.dtype = DType{-1}; });
  expect_refused(Status::query_shape_out_of_range, [](NewTokens& t, Tokens&) { t.queries.shape.tokens = 3; });
  expect_refused(Status::query_shape_out_of_range, [](NewTokens& t, Tokens&) { t.queries.shape.head_dim = 8; });
  expect_refused(Status::query_shape_out_of_range, [](NewTokens& t, Tokens&) { t.queries.dtype = DType{9}; });
  expect_refused(Status::query_shape_out_of_range, [](NewTokens& t, Tokens&) { t.queries.layout = Layout::bhtd; });
  expect_refused(Status::query_shape_out_of_range, [](NewTokens& t, Tokens&) { t.queries.shape.heads = 0; });
  expect_refused(Status::heads_not_grouped, [](NewTokens& t, Tokens&) { t.queries.shape.heads = 3; });
}

TEST_F(KvErrors, AppendPositions) {
  const auto at = [](std::vector<double> ids, int axes = 1, int rows = 1, int tokens = 4) {
    return [=](NewTokens& given, Tokens& tokens_of) {
      tokens_of.ids = ids;
      given.has_positions = true;
      given.positions = {0, tokens_of.ids.data(), axes, rows, tokens};
    };
  };
  expect_refused(Status::shape_out_of_range, at({1, 2, 3}, 1, 1, 3));
  expect_refused(Status::shape_out_of_range, at(std::vector<double>(12, 1), 1, 3));
  expect_refused(Status::positions_axes, at(std::vector<double>(12, 1), 3, 1));
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL, 2147483648.0, -2147483649.0}) {
    expect_refused(Status::position_out_of_range, at({1, 2, bad, 4}));
    expect_refused(Status::position_out_of_range, at({1, 2, 3, 4, 5, 6, 7, bad}, 1, 2));
    expect_refused(Status::position_out_of_range, [&](NewTokens& t, Tokens&) {
      t.has_positions = true, t.positions = {bad, nullptr, 1, 1, 4};
    });
  }
  // layer 2 has three tokens less, which have positions 30, 31 and 32
  const auto of_layer_2 = [&](Status status, std::vector<double> ids) {
    Tokens tokens(setup.layers[2], 4, 9, 2);
    EXPECT_EQ(cache.append(2, kAllSequences, tokens.at(ids).with_queries()), status);
    expect_unchanged();
  };
  of_layer_2(Status::layer_positions_differ, {30, 31, 33, 34});
  of_layer_2(Status::layer_positions_differ, {std::nan(""), 31, 32, 33});
  of_layer_2(Status::position_out_of_range, {30, 31, 32, std::nan("")});
  Tokens right(setup.layers[2], 4, 9, 2);
  EXPECT_EQ(cache.append(2, kAllSequences, right.at({30, 31, 32, 50}).with_queries()), Status::ok);
}

TEST_F(KvErrors, ACacheWithoutRopesChecksPositionsToo) {
  ConfiguredCache plain({{{2, 16, kNoRope}}, {}, RowType::f32});
  for (const double bad : {std::nan(""), HUGE_VAL, -2147483649.0}) {
    Tokens tokens({2, 16, kNoRope}, 2, 1);
    EXPECT_EQ(plain.append(0, 0, tokens.at({1, bad}).with_queries()), Status::position_out_of_range);
    EXPECT_EQ(plain.sequence(0).tokens(), 0);
  }
}

TEST_F(KvErrors, ACacheIsFullAtItsLimitAndNotBefore) {
  Tokens too_many(setup.layers[0], kLimit - kHeld + 1, 9, 2), just_enough(setup.layers[0], kLimit - kHeld, 9, 2),
      one(setup.layers[0], 1, 9, 2);
  expect_status(cache.append(0, kAllSequences, too_many.with_queries()), Status::cache_full);
  EXPECT_EQ(cache.append(0, kAllSequences, just_enough.with_queries()), Status::ok);
  before = snapshot_of(cache);
  expect_status(cache.append(0, kAllSequences, one.with_queries()), Status::cache_full);
  ASSERT_EQ(cache.truncate(1, kLimit - 1), Status::ok);
  before = snapshot_of(cache);
  expect_status(cache.append(0, kAllSequences, one.with_queries()), Status::cache_full, "one row is enough");
  Tokens row(setup.layers[0], 1, 9);
  EXPECT_EQ(cache.append(0, 1, row.with_queries()), Status::ok);
}

TEST_F(KvErrors, ElementsThatAreNotFinite) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const std::uint32_t infinity = oracle::encode(HUGE_VAL, dtype), minus = oracle::encode(-HUGE_VAL, dtype);
    for (const Layout layout : {Layout::bthd, Layout::bhtd}) {
      for (const std::uint32_t bits : {infinity, minus, infinity + 1, minus + 1, oracle::encode(std::nan(""), dtype)}) {
        Tokens tokens(setup.layers[0], 40, 9, 2, dtype, layout);
        for (const std::size_t at : {std::size_t{0}, std::size_t{17}, tokens.k.count() / 2, tokens.k.count() - 1}) {
          const auto expect_bad = [&](GuardedTensor& tensor, Status status) {
            const std::uint32_t good = tensor.bits(at);
            tensor.set_bits(at, bits);
            const auto k = tokens.k.bytes(), v = tokens.v.bytes(), q = tokens.q.bytes();
            for (int layer = 0; layer < 2; ++layer) expect_status(cache.append(layer, kAllSequences, tokens.with_queries()), status);
            EXPECT_TRUE(tokens.k.bytes() == k && tokens.v.bytes() == v && tokens.q.bytes() == q);
            tensor.set_bits(at, good);
          };
          expect_bad(tokens.k, Status::key_not_finite);
          expect_bad(tokens.v, Status::value_not_finite);
        }
      }
    }
  }
}

// The largest number of each storage format is accepted, the next is not; rotated keys need room for rotation and scaling.
TEST_F(KvErrors, ElementsTooLargeForTheStorage) {
  const auto append_to = [](KvCache& to, float key, float value) {
    Tokens tokens({2, 16, 0}, 1, 1);
    tokens.k.set_bits(5, oracle::encode(-key, DType::f32)), tokens.v.set_bits(9, oracle::encode(value, DType::f32));
    return to.append(0, 0, tokens.with_queries());
  };
  const struct {
    RowType type;
    float largest, too_large;
  } limits[] = {{RowType::f32, 3.38e38f, HUGE_VALF},
                {RowType::f16, 65504, 65505},
                {RowType::bf16, 3.38e38f, 3.4e38f},
                {RowType::q8_0, 65504.0f * 127, 65521.0f * 127},
                {RowType::q4_0, 65504.0f * 8, 65521.0f * 8}};
  for (const auto& [type, largest, too_large] : limits) {
    for (const RopeConfig& config : {plain_config(16), yarn_config(16, 10000, 32, 64), xpos_config(16, 4, -10)}) {
      ConfiguredCache raw(simple_setup(config, type, KeyMode::raw)), rotated(simple_setup(config, type));
      EXPECT_EQ(append_to(raw, too_large, 1), Status::key_not_finite);
      EXPECT_EQ(append_to(raw, 1, too_large), Status::value_not_finite);
      EXPECT_EQ(append_to(raw, largest, largest), Status::ok);
      // √2 for the rotation, YaRN's factor 1.35, (7/2)^(10/4) for xPos
      const double grown = 1.5 * (config.xpos_scale_base.has_value() ? std::pow(3.5, 2.5) : plan_of(config).attention_factor);
      EXPECT_EQ(append_to(rotated, static_cast<float>(largest / grown * 1.001), 1), Status::key_not_finite);
      EXPECT_EQ(append_to(rotated, static_cast<float>(largest / grown * 0.999), largest), Status::ok);
      for (const float key : read_all(rotated, 0, 0).keys) EXPECT_TRUE(std::isfinite(key));
      EXPECT_EQ(rotated.can_shift(0, 0, 1), Status::ok);
      EXPECT_EQ(rotated.retune(0, config), Status::ok) << "accepted keys stay accepted";
    }
  }
}

// Keys that fit now, but not under another plan or at another position.
TEST_F(KvErrors, ScalingKeysBeyondTheirStorageIsRefused) {
  const auto with_large_key = [](const RopeConfig& config) {
    auto large = std::make_unique<ConfiguredCache>(simple_setup(config, RowType::f16));
    Tokens tokens({2, 16, 0}, 3, 1);
    tokens.k.set_bits(40, oracle::encode(40000, DType::f32));
    EXPECT_EQ(large->append(0, 0, tokens.without_queries()), Status::ok);
    return large;
  };
  RopeConfig stretched = yarn_config(16, 10000, 4, 64), longer = longrope_config(16, 10000, 8, 32);
  stretched.attention_factor = 1.5, longer.short_mscale = 1, longer.long_mscale = 1.5;
  const auto expect_kept = [](KvCache& large, auto act) {
    const Snapshot before = snapshot_of(large);
    EXPECT_EQ(act(large), Status::key_not_finite);
    EXPECT_TRUE(snapshot_of(large) == before);
  };
  const auto plain = with_large_key(plain_config(16)), growing = with_large_key(longer), xpos = with_large_key(xpos_config(16, 100, 50));
  expect_kept(*plain, [&](KvCache& large) { return large.can_retune(0, stretched); });
  expect_kept(*plain, [&](KvCache& large) { return large.retune(0, stretched); });
  expect_kept(*plain, [&](KvCache& large) { return large.retune(0, xpos_config(16, 100, -50)); });
  expect_kept(*growing, [&](KvCache& large) {
    Tokens tokens({2, 16, 0}, 6, 2);
    return large.append(0, 0, tokens.with_queries());
  });
  expect_kept(*xpos, [&](KvCache& large) { return large.move(0, {100, nullptr, 1, 1, 3}); });
  EXPECT_EQ(xpos->can_move(0, {100, nullptr, 1, 1, 3}), Status::key_not_finite);
  EXPECT_EQ(xpos->can_move(0, {5, nullptr, 1, 1, 3}), Status::ok);
  EXPECT_EQ(xpos->move(0, {5, nullptr, 1, 1, 3}), Status::ok);
  ASSERT_EQ(growing->truncate(0, 0), Status::ok);
  Tokens tokens({2, 16, 0}, 20, 2);
  EXPECT_EQ(growing->append(0, 0, tokens.with_queries()), Status::ok) << "the large key is gone";
}

TEST_F(KvErrors, Attend) {
  AttentionOptions options;
  GuardedTensor q(DType::f32, Layout::bthd, {2, 2, 4, 16});
  const auto bits = q.fill(1).bytes();
  const auto expect_refused = [&](Status status, HeadTensor queries, int layer = 0, int sequence = kAllSequences) {
    EXPECT_EQ(cache.attend(layer, sequence, queries, options), status);
    EXPECT_EQ(q.bytes(), bits);
  };
  const auto with = [&](auto change) {
    HeadTensor queries = q.in_place();
    change(queries);
    return queries;
  };
  for (const int layer : {-1, 3}) expect_refused(Status::layer_out_of_range, q.in_place(), layer);
  for (const int sequence : {-2, 2}) expect_refused(Status::sequence_out_of_range, q.in_place(), 0, sequence);
  expect_refused(Status::batch_mismatch, q.in_place(), 0, 1);
  expect_refused(Status::dtype_unknown, with([](HeadTensor& t) { t.dtype = DType::f16; }));
  expect_refused(Status::dtype_unknown, with([](HeadTensor& t) { t.dtype = DType{7}; }));
  expect_refused(Status::layout_unknown, with([](HeadTensor& t) { t.layout = Layout{7}; }));
  expect_refused(Status::shape_out_of_range, with([](HeadTensor& t) { t.shape.tokens = 0; }));
  expect_refused(Status::query_shape_out_of_range, with([](HeadTensor& t) { t.shape.head_dim = 8; }));
  expect_refused(Status::heads_not_grouped, with([](HeadTensor& t) { t.shape.heads = 3; }));
  const auto expect_option = [&](Status status, auto change, int layer = 0) {
    options = {};
    change(options);
    expect_refused(status, q.in_place(), layer);
  };
  const float bad_sinks[] = {0, 0, 0, HUGE_VALF};
  expect_option(Status::window_out_of_range, [](AttentionOptions& o) { o.window = 0; });
  expect_option(Status::sink_tokens_out_of_range, [](AttentionOptions& o) { o.sink_tokens = -1; });
  expect_option(Status::sinks_not_finite, [&](AttentionOptions& o) { o.sinks = bad_sinks; });
  expect_option(Status::soft_cap_out_of_range, [](AttentionOptions& o) { o.soft_cap = -1; });
  expect_option(Status::attention_scale_out_of_range, [](AttentionOptions& o) { o.scale = HUGE_VAL; });
  expect_option(Status::temperature_not_finite, [&](AttentionOptions& o) { o.temperatures = bad_sinks + 2; });
  expect_option(
      Status::cache_rope_unknown, [](AttentionOptions& o) { o.position.scheme = PositionScheme::rope; }, 1);
  expect_option(
      Status::position_scheme_unknown, [](AttentionOptions& o) { o.position.scheme = PositionScheme{9}; }, 1);
  options = {};
  ASSERT_EQ(cache.truncate(1, 1), Status::ok);
  expect_refused(Status::more_queries_than_keys, q.in_place());  // an error of the second row; the first isn't written either
  double scale = 42;
  EXPECT_EQ(cache.default_scale(3, 0, scale), Status::layer_out_of_range);
  EXPECT_EQ(cache.default_scale(0, 2, scale), Status::sequence_out_of_range);
  EXPECT_EQ(scale, 42);
}

TEST_F(KvErrors, ChangesOfSequences) {
  for (const int sequence : {-1, 2}) {
    expect_status(cache.truncate(sequence, 0), Status::sequence_out_of_range);
    expect_status(cache.shift(sequence, 0, 1), Status::sequence_out_of_range);
    expect_status(cache.can_shift(sequence, 0, 1), Status::sequence_out_of_range);
    expect_status(cache.move(sequence, {0, nullptr, 1, 1, kHeld}), Status::sequence_out_of_range);
    expect_status(cache.can_move(sequence, {0, nullptr, 1, 1, kHeld}), Status::sequence_out_of_range);
    expect_status(cache.copy_prefix(sequence, 0, 1), Status::sequence_out_of_range);
    expect_status(cache.copy_prefix(0, sequence, 1), Status::sequence_out_of_range);
    expect_status(cache.adopt(sequence, {}, nullptr), Status::sequence_out_of_range);
  }
  for (const int tokens : {-1, kHeld + 1}) {
    expect_status(cache.truncate(0, tokens), Status::token_count_out_of_range);
    expect_status(cache.copy_prefix(0, 1, tokens), Status::token_count_out_of_range);
    expect_status(cache.copy_prefix(0, 0, tokens), Status::token_count_out_of_range);
  }
  const int bad_shifts[][2] = {{-1, 1}, {0, 0}, {0, -1}, {0, kHeld + 1}, {kHeld, 1}, {INT_MAX, 1}, {1, INT_MAX}, {INT_MAX, INT_MAX}};
  for (const auto& [keep, discard] : bad_shifts) {
    expect_status(cache.shift(0, keep, discard), Status::shift_out_of_range);
    expect_status(cache.can_shift(0, keep, discard), Status::shift_out_of_range);
  }
  std::vector<double> ids(3 * kHeld, 5);
  expect_status(cache.move(0, {0, ids.data(), 1, 1, kHeld - 1}), Status::shape_out_of_range);
  expect_status(cache.can_move(0, {0, ids.data(), 1, 1, kHeld - 1}), Status::shape_out_of_range);
  expect_status(cache.move(0, {0, ids.data(), 1, 2, kHeld}), Status::shape_out_of_range);
  expect_status(cache.can_move(0, {0, ids.data(), 1, 2, kHeld}), Status::shape_out_of_range);
  expect_status(cache.move(0, {0, ids.data(), 3, 1, kHeld}), Status::positions_axes);
  expect_status(cache.can_move(0, {0, ids.data(), 3, 1, kHeld}), Status::positions_axes);
  for (const double bad : {std::nan(""), HUGE_VAL, 2147483648.0}) {
    ids[kHeld - 1] = bad;
    expect_status(cache.move(0, {0, ids.data(), 1, 1, kHeld}), Status::position_out_of_range);
    expect_status(cache.can_move(0, {0, ids.data(), 1, 1, kHeld}), Status::position_out_of_range);
  }
}

TEST_F(KvErrors, Retune) {
  const auto expect_bad = [&](int rope, const RopeConfig& config, Status status) {
    expect_status(cache.can_retune(rope, config), status);
    expect_status(cache.retune(rope, config), status);
    EXPECT_EQ(cache.rope_config(0).rope_type, RopeType::yarn);
  };
  const auto with = [](auto change) {
    RopeConfig config = partial_config();
    change(config);
    return config;
  };
  static const std::vector<double> sections = {2, 2, 2};
  for (const int rope : {-1, 1}) expect_bad(rope, partial_config(), Status::cache_rope_unknown);
  expect_bad(0, with([](RopeConfig& c) { c.factor = 0.5; }), Status::factor_out_of_range);
  expect_bad(0, with([](RopeConfig& c) { c.head_dim = 18; }), Status::plans_differ);
  expect_bad(0, with([](RopeConfig& c) { c.rotary_dim = 10; }), Status::plans_differ);
  expect_bad(0, with([](RopeConfig& c) { c.rotary_offset = 0; }), Status::plans_differ);
  expect_bad(0, with([](RopeConfig& c) { c.pairing = Pairing::interleaved; }), Status::plans_differ);
  expect_bad(0, with([](RopeConfig& c) { c.mrope_section = sections; }), Status::plans_differ);
  expect_bad(0, with([](RopeConfig& c) { c.xpos_scale_base = 1, c.xpos_center = 1000; }), Status::position_out_of_range);

  ConfiguredCache raw(simple_setup(plain_config(16), RowType::f32, KeyMode::raw));
  EXPECT_EQ(raw.retune(0, plain_config(18)), Status::head_dim_mismatch);
  static const std::vector<double> two = {4, 4}, three = {4, 2, 2};
  ConfiguredCache on_axes(simple_setup(mrope_config(16, 1e4, three, MropeLayout::chunked), RowType::f32, KeyMode::raw));
  EXPECT_EQ(on_axes.retune(0, mrope_config(16, 1e4, two, MropeLayout::chunked)), Status::plans_differ);
  // an empty sequence has no positions, so nothing is out of range
  RopeConfig far = xpos_config(16, 1, 1000);
  EXPECT_EQ(raw.retune(0, far), Status::ok);
}

// New ropes and positions at once: each is checked before either is applied.
TEST_F(KvErrors, RetuneRopesAndPositions) {
  RopeConfig config = partial_config(), xpos = partial_config();
  config.rope_theta = 1e6, xpos.xpos_scale_base = 10, xpos.xpos_center = 0;
  const int ropes[] = {0}, unknown[] = {9};
  std::vector<double> ids(kHeld, 3.0);
  const Positions valid = {0, ids.data(), 1, 1, kHeld}, far = {5000, nullptr, 1, 1, kHeld}, short_by_one = {0, nullptr, 1, 1, kHeld - 1};
  const auto expect_refused = [&](const KvRetune& change, Status status) {
    expect_status(cache.can_retune(change), status);
    expect_status(cache.retune(change), status);
  };
  expect_refused({ropes, &config, 0, &short_by_one}, Status::shape_out_of_range);
  expect_refused({ropes, &config, 9, &valid}, Status::sequence_out_of_range);
  expect_refused({unknown, &config, 0, &valid}, Status::cache_rope_unknown);
  expect_refused({ropes, &xpos, 0, &far}, Status::position_out_of_range);
}

TEST_F(KvErrors, Read) {
  std::vector<float> keys(kHeld * 32, 42), values(kHeld * 32, 42);
  const auto expect_bad = [&](int layer, int sequence, int first, int count, Status status) {
    EXPECT_EQ(cache.read(layer, sequence, first, count, keys.data(), values.data()), status);
    EXPECT_EQ(keys, std::vector<float>(kHeld * 32, 42));
    EXPECT_EQ(values, std::vector<float>(kHeld * 32, 42));
  };
  for (const int layer : {-1, 3}) expect_bad(layer, 0, 0, 1, Status::layer_out_of_range);
  for (const int sequence : {-2, kAllSequences, 2}) expect_bad(0, sequence, 0, 1, Status::sequence_out_of_range);
  const int bad_ranges[][2] = {{-1, 1}, {0, -1}, {0, kHeld + 1}, {kHeld, 1}, {INT_MAX, 1}, {1, INT_MAX}, {INT_MAX, INT_MAX}};
  for (const auto& [first, count] : bad_ranges) expect_bad(0, 0, first, count, Status::token_count_out_of_range);
  expect_bad(2, 0, kHeld - 3, 1, Status::token_count_out_of_range);
  EXPECT_EQ(cache.read(0, 0, kHeld, 0, keys.data(), values.data()), Status::ok);
}

}  // namespace
}  // namespace ropewalk
