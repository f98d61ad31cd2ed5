// append() and attend() for all kinds of pieces, layouts, element types, layers, sequences and positions.
#include "cache/kv_cache.h"

#include <gtest/gtest.h>

#include <numeric>

#include "native/cache/kv_expect.h"

namespace ropewalk {
namespace {

RopeConfig partial_yarn(Pairing pairing = Pairing::half) {
  RopeConfig config = yarn_config(40, 10000, 4, 64);
  config.rotary_dim = 34, config.rotary_offset = 3, config.pairing = pairing;
  return config;
}

// Copies tokens [first, first + count).
struct Piece : Tokens {
  Piece(const KvLayer& layer, const Tokens& whole, int first, int count, Layout layout)
      : Tokens(layer, count, 0, whole.k.shape().batches, whole.k.dtype(), layout) {
    for (int token = 0; token < count; ++token) take(token, whole, first + token);
  }
};

TEST(KvCache, PiecesAndLayoutsDoNotChangeABit) {
  const int tokens = 75;
  const std::vector<std::vector<int>> cuts = {std::vector<int>(tokens, 1), {1, 31, 33, 10}, {64, 11}, {33, 42}};
  for (const RowType type : kTestedRowTypes) {
    for (const KeyMode mode : kKeyModes) {
      const CacheSetup setup = simple_setup(partial_yarn(), type, mode, 1, 2);
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        SCOPED_TRACE(testing::Message() << name_of(type, mode) << " from type " << static_cast<int>(dtype));
        const Tokens source(setup.layers[0], tokens, 1, 2, dtype);
        Piece at_once(setup.layers[0], source, 0, tokens, Layout::bthd);
        ConfiguredCache whole(setup);
        ASSERT_EQ(whole.append(0, kAllSequences, at_once.with_queries()), Status::ok);
        KvModel model(setup);
        model.append(0, 0, source);
        ASSERT_NO_FATAL_FAILURE(expect_holds(whole, model));
        for (const Layout layout : {Layout::bthd, Layout::bhtd}) {
          for (const std::vector<int>& cut : cuts) {
            ConfiguredCache pieces(setup);
            int first = 0;
            for (const int count : cut) {
              Piece piece(setup.layers[0], source, first, count, layout);
              ASSERT_EQ(pieces.append(0, kAllSequences, piece.with_queries()), Status::ok);
              const Piece expected(setup.layers[0], at_once, first, count, layout);
              ASSERT_TRUE(piece.q.same_bits(expected.q)) << "queries from " << first;
              ASSERT_TRUE(piece.q.guards_are_intact());
              first += count;
            }
            ASSERT_TRUE(snapshot_of(pieces) == snapshot_of(whole)) << cut.size() << " pieces, layout " << static_cast<int>(layout);
          }
        }
      }
    }
  }
}

TEST(KvCache, ATensorWithoutBatchGoesToItsSequence) {
  const CacheSetup setup = simple_setup(partial_yarn(), RowType::f16, KeyMode::rotated, 1, 3);
  ConfiguredCache cache(setup);
  KvModel model(setup);
  for (const int sequence : {2, 0, 2}) {
    Tokens tokens(setup.layers[0], 20, sequence + 1, 1, DType::f32, Layout::thd);
    ASSERT_EQ(cache.append(0, sequence, tokens.with_queries()), Status::ok);
    model.append(0, sequence, tokens);
  }
  ASSERT_NO_FATAL_FAILURE(expect_holds(cache, model));
}

// As in decoding: append() rotates q as Rope::rotate() does, and doesn't change k and v.
TEST(KvCache, RotatesQueriesAsRopeDoes) {
  std::vector<RopeConfig> configs = {dynamic_config(16, 10000, 2, 24), longrope_config(16, 10000, 24, 96), xpos_config(16, 64)};
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved, Pairing::interleaved_to_half})
    configs.push_back(partial_yarn(pairing));
  for (const RopeConfig& config : configs) {
    for (const KeyMode mode : kKeyModes) {
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        ConfiguredCache cache(simple_setup(config, RowType::f32, mode));
        Rope rope;
        ASSERT_EQ(rope.configure(config), Status::ok);
        for (int first = 0; first < 40; first += 10) {
          Tokens tokens({2, config.head_dim, 0}, 10, first + 1, 1, dtype, Layout::bhtd, 3),
              alone({2, config.head_dim, 0}, 10, first + 1, 1, dtype, Layout::bhtd, 3);
          ASSERT_EQ(cache.append(0, 0, tokens.with_queries()), Status::ok);
          ASSERT_EQ(rope.rotate(alone.q.in_place(), {static_cast<double>(first), nullptr, 1, 1, 10}, 0, {Role::query, false}), Status::ok);
          ASSERT_TRUE(tokens.q.same_bits(alone.q)) << "from " << first;
          ASSERT_TRUE(tokens.k.same_bits(alone.k) && tokens.v.same_bits(alone.v));
          ASSERT_TRUE(tokens.k.guards_are_intact() && tokens.v.guards_are_intact() && tokens.q.guards_are_intact());
        }
      }
    }
  }
}

TEST(KvCache, QueriesMayHaveAnotherType) {
  ConfiguredCache cache(simple_setup(partial_yarn(), RowType::bf16));
  Rope rope;
  ASSERT_EQ(rope.configure(partial_yarn()), Status::ok);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    Tokens keys({2, 40, 0}, 7, 1, 1, DType::f16), queries({2, 40, 0}, 7, 2, 1, dtype), alone({2, 40, 0}, 7, 2, 1, dtype);
    NewTokens tokens = keys.without_queries();
    tokens.queries = queries.q.in_place();
    const Positions positions = {static_cast<double>(cache.sequence(0).tokens()), nullptr, 1, 1, 7};
    ASSERT_EQ(cache.append(0, 0, tokens), Status::ok);
    ASSERT_EQ(rope.rotate(alone.q.in_place(), positions, 0, {Role::query, false}), Status::ok);
    EXPECT_TRUE(queries.q.same_bits(alone.q) && queries.q.guards_are_intact());
  }
}

// Fractional positions round up to the next integer for the length, as in Rope.
TEST(KvCache, TheLengthIsThatOfRope) {
  for (const double position : {0.0, 23.0, 23.5, 24.0, 30.25, -8.0, -0.5}) {
    const RopeConfig config = dynamic_config(16, 10000, 2, 24);
    ConfiguredCache cache(simple_setup(config));
    Rope rope;
    ASSERT_EQ(rope.configure(config), Status::ok);
    Tokens tokens({2, 16, 0}, 1, 1), alone({2, 16, 0}, 1, 1);
    ASSERT_EQ(cache.append(0, 0, tokens.at({position}).with_queries()), Status::ok);
    ASSERT_EQ(rope.rotate(alone.q.in_place(), alone.at({position}).positions(), 0, {Role::query, false}), Status::ok);
    EXPECT_TRUE(tokens.q.same_bits(alone.q)) << position;
    EXPECT_EQ(cache.sequence(0).planned_length(0), std::max(1.0, std::ceil(position) + 1));
    EXPECT_EQ(cache.append(0, 0, tokens.at({-100}).with_queries()), Status::ok);
    EXPECT_EQ(cache.sequence(0).planned_length(0), std::max(1.0, std::ceil(position) + 1)) << "a smaller one changes nothing";
  }
}

TEST(KvCache, LayersMayHaveDifferentRopesOrNone) {
  const std::vector<KvLayer> layers = {{2, 40, 0}, {1, 16, kNoRope}, {3, 24, 1}, {1, 40, 0}};
  for (const RowType type : kTestedRowTypes) {
    for (const KeyMode mode : kKeyModes) {
      const CacheSetup setup = {layers, {partial_yarn(), llama3_config(24, 5e5, 8, 32)}, type, mode, 2, 100};
      ConfiguredCache cache(setup);
      KvModel model(setup);
      for (int n = 0; n < 4; ++n) {
        for (std::size_t layer = 0; layer < layers.size(); ++layer) {
          Tokens tokens(layers[layer], 15, n + 1, 2, DType::f32, Layout::bhtd),
              before(layers[layer], 15, n + 1, 2, DType::f32, Layout::bhtd);
          ASSERT_EQ(cache.append(static_cast<int>(layer), kAllSequences, tokens.with_queries()), Status::ok);
          model.append(static_cast<int>(layer), 0, tokens);
          EXPECT_EQ(tokens.q.same_bits(before.q), layers[layer].rope == kNoRope);
        }
        for (int layer = 0; layer < 4; ++layer)
          ASSERT_NO_FATAL_FAILURE(expect_attends(cache, model, n % 2, layer, 3, n)) << name_of(type, mode);
      }
      ASSERT_NO_FATAL_FAILURE(expect_holds(cache, model)) << name_of(type, mode);
      // without a rope, f32 keys keep their bits
      if (type != RowType::f32) continue;
      const Tokens last(layers[1], 15, 4, 2, DType::f32, Layout::bhtd);
      const KeysAndValues cached = read_all(cache, 1, 1);
      for (int i = 0; i < 16; ++i) EXPECT_EQ(cached.keys[59 * 16 + i], static_cast<float>(last.k.value(last.k.index(1, 14, 0, i))));
    }
  }
}

// The first layer that gets a token sets its position; others may follow later, in other pieces.
TEST(KvCache, LayersMayLagBehind) {
  const CacheSetup setup = simple_setup(dynamic_config(16, 10000, 2, 24), RowType::f32, KeyMode::rotated, 3);
  ConfiguredCache cache(setup);
  KvModel model(setup);
  const struct { int layer, tokens; } steps[] = {{0, 10}, {1, 4}, {0, 20}, {1, 30}, {2, 1}, {2, 40}, {0, 11}, {1, 7}};
  int seed = 0;
  for (const auto& [layer, count] : steps) {
    Tokens tokens(setup.layers[0], count, ++seed);
    ASSERT_EQ(cache.append(layer, 0, tokens.with_queries()), Status::ok);
    model.append(layer, 0, tokens);
    ASSERT_NO_FATAL_FAILURE(expect_holds(cache, model)) << "step " << seed;
    ASSERT_NO_FATAL_FAILURE(expect_attends(cache, model, 0, layer, count, seed)) << "step " << seed;
  }
}

TEST(KvCache, SequencesOfABatchHaveIndependentLengths) {
  for (const KeyMode mode : kKeyModes) {
    for (const RopeConfig& config : {dynamic_config(16, 10000, 2, 24), longrope_config(16, 10000, 24, 96), plain_config(16)}) {
      const CacheSetup setup = simple_setup(config, RowType::f16, mode, 2, 4);
      ConfiguredCache cache(setup);
      KvModel model(setup);
      const auto append = [&](int sequence, int count, std::uint32_t seed, std::vector<double> ids = {}) {
        const int batches = sequence == kAllSequences ? 4 : 1;
        for (int layer = 0; layer < 2; ++layer) {
          Tokens tokens(setup.layers[0], count, seed, batches);
          if (!ids.empty()) tokens.at(ids, 1, batches);
          ASSERT_EQ(cache.append(layer, sequence, tokens.with_queries()), Status::ok);
          model.append(layer, std::max(0, sequence), tokens);
        }
      };
      for (int sequence = 0; sequence < 4; ++sequence) append(sequence, 10 * sequence + 3, sequence + 1);
      append(kAllSequences, 5, 9);
      append(kAllSequences, 2, 10, {50, 51, 7, 60, 0, 1, 80, 90});
      ASSERT_NO_FATAL_FAILURE(expect_holds(cache, model));
      for (int sequence = 0; sequence < 4; ++sequence) ASSERT_NO_FATAL_FAILURE(expect_attends(cache, model, sequence, 1, 7, sequence));
    }
  }
}

// Attention of all sequences at once equals attention of each.
TEST(KvCache, ABatchAttendsAsItsRowsDo) {
  for (const KeyMode mode : kKeyModes) {
    const CacheSetup setup = simple_setup(dynamic_config(16, 10000, 2, 24), RowType::q8_0, mode, 1, 3);
    ConfiguredCache cache(setup);
    for (int sequence = 0; sequence < 3; ++sequence) {
      Tokens tokens(setup.layers[0], 5 + 20 * sequence, sequence + 1);
      ASSERT_EQ(cache.append(0, sequence, tokens.with_queries()), Status::ok);
    }
    for (const Layout layout : {Layout::bthd, Layout::bhtd}) {
      Tokens tokens(setup.layers[0], 4, 9, 3, DType::f32, layout);
      ASSERT_EQ(cache.append(0, kAllSequences, tokens.with_queries()), Status::ok);
      GuardedTensor all(DType::f32, layout, tokens.q.shape());
      AttentionOptions options;
      options.scale = NAN;
      ASSERT_EQ(cache.attend(0, kAllSequences, tokens.q.into(all), options), Status::ok);
      for (int row = 0; row < 3; ++row) {
        GuardedTensor one(DType::f32, layout, {1, 4, 4, 16});
        for (std::size_t i = 0; i < one.count(); ++i) one.set_bits(i, tokens.q.bits(row * one.count() + i));
        ASSERT_EQ(cache.attend(0, row, one.in_place(), options), Status::ok);
        for (std::size_t i = 0; i < one.count(); ++i) ASSERT_EQ(one.bits(i), all.bits(row * one.count() + i));
      }
      EXPECT_TRUE(all.guards_are_intact());
    }
  }
}

// All options work as over plain tensors; a raw cache gives the same bits.
TEST(KvCache, AttendsAsAttentionDoesOverTensors) {
  const int tokens = 70, dim = 16, heads = 4, queries = 3;
  std::vector<float> sinks = {0.5f, -1, 2, 0}, temperatures = {1, 1.5f, 2}, table(100 * dim, 0.25f);
  for (std::size_t i = 0; i < table.size(); i += 3) table[i] = -0.5f;
  std::vector<AttentionOptions> all(8);
  all[1].window = 40, all[1].sink_tokens = 4;
  all[2].sinks = sinks.data(), all[2].soft_cap = 5;
  all[3].temperatures = temperatures.data(), all[3].causal = false;
  all[4].position.scheme = PositionScheme::alibi;
  all[5].position.scheme = PositionScheme::sinusoidal;
  all[6].position.scheme = PositionScheme::learned, all[6].position.table = table.data(), all[6].position.table_rows = 100;
  all[7].position.scheme = PositionScheme::t5, all[7].position.table = table.data();
  for (const int rope : {kNoRope, 0}) {
    const RopeConfig config = longrope_config(dim, 10000, 24, 96);
    ConfiguredCache cache({{{2, dim, rope}}, {config}, RowType::f32, KeyMode::raw});
    Tokens given({2, dim, rope}, tokens, 1, 1, DType::f32, Layout::bthd), last({2, dim, rope}, queries, 2);
    ASSERT_EQ(cache.append(0, 0, given.without_queries()), Status::ok);
    ASSERT_EQ(cache.append(0, 0, last.with_queries()), Status::ok);
    const KeysAndValues cached = read_all(cache, 0, 0);
    Rope rotating;
    ASSERT_EQ(rotating.configure(config), Status::ok);
    ASSERT_EQ(rotating.use_length(tokens + queries), Status::ok);
    for (AttentionOptions& options : all) {
      KeyValues kv;
      kv.heads = 2, kv.head_dim = dim, kv.tokens = tokens + queries;
      kv.head_stride = dim * 4, kv.token_stride = 2 * dim * 4;
      kv.keys = reinterpret_cast<const char*>(cached.keys.data()), kv.values = reinterpret_cast<const char*>(cached.values.data());
      kv.positions = {0, nullptr, 1, 1, tokens + queries};
      AttentionOptions over_tensors = options;
      if (rope != kNoRope) over_tensors.position = {}, over_tensors.position.scheme = PositionScheme::rope;
      over_tensors.position.encodes_queries = rope == kNoRope;  // append() has rotated them
      over_tensors.position.rope = &rotating;
      over_tensors.scale = options.scale = 0.3;
      Attention attention;
      std::vector<float> expected(queries * heads * dim), q(expected.size());
      for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(last.q.value(i));
      ASSERT_EQ(attention.attend(kv, {q.data(), expected.data(), heads * dim, dim, queries, heads}, {tokens, nullptr, 1, 1, queries},
                                 over_tensors),
                Status::ok);
      GuardedTensor out(DType::f32, Layout::bthd, last.q.shape());
      ASSERT_EQ(cache.attend(0, 0, last.q.into(out), options), Status::ok);
      for (std::size_t i = 0; i < q.size(); ++i) {
        ASSERT_EQ(static_cast<float>(out.value(i)), expected[i]) << "options " << &options - all.data() << ", rope " << rope;
      }
    }
  }
}

// DeepSeek's softmax scale grows with YaRN's factor, and so with the length if the factor is dynamic.
TEST(KvCache, TheDefaultScaleIsThePlans) {
  RopeConfig deepseek = scaled_config(RopeType::dynamic_yarn, 16, 10000, 40, 8);
  deepseek.mscale = deepseek.mscale_all_dim = 1, deepseek.family = Family::deepseek;
  for (const KeyMode mode : kKeyModes) {
    const CacheSetup setup = {{{2, 16, 0}, {1, 9, kNoRope}}, {deepseek}, RowType::f32, mode};
    ConfiguredCache cache(setup);
    KvModel model(setup);
    for (const int count : {5, 30}) {
      Tokens tokens(setup.layers[0], count, 1);
      ASSERT_EQ(cache.append(0, 0, tokens.without_queries()), Status::ok);
      model.append(0, 0, tokens);
      double scale = 0;
      ASSERT_EQ(cache.default_scale(0, 0, scale), Status::ok);
      const double factor = std::max(1.0, cache.sequence(0).tokens() / 8.0), growth = 0.1 * std::log(factor) + 1;
      EXPECT_NEAR(scale, growth * growth / 4, 1e-15);
      ASSERT_NO_FATAL_FAILURE(expect_attends(cache, model, 0, 0, 2, 2));
      ASSERT_EQ(cache.default_scale(1, kAllSequences, scale), Status::ok);
      EXPECT_EQ(scale, 1 / 3.0);
    }
  }
}

struct Places {
  const char* name;
  RopeConfig config;
  std::vector<double> ids;  // [axes][12 tokens]
};

TEST(KvCache, TokensHaveTheGivenPositions) {
  static const std::vector<double> sections = {4, 2, 2}, spread = {3, 3, 2};
  std::vector<double> image(36);
  for (int token = 0; token < 12; ++token) image[token] = 7, image[12 + token] = 7 + token / 4, image[24 + token] = 7 + token % 4;
  const Places all[] = {
      {"gaps", yarn_config(16, 10000, 4, 64), {0, 1, 5, 6, 100, 101, 1000, 5000, 5001, 9999, 20000, 131071}},
      {"repeated", plain_config(16), {3, 3, 3, 3, 4, 4, 4, 4, 0, 0, 0, 0}},
      {"fractional", plain_config(16), {0.5, 1.25, 2.125, 3, 3.5, 10.75, 64.5, 100.1, 100.2, 7.75, 0.001, 5}},
      {"negative", llama3_config(16, 5e5, 8, 32), {-12, -11, -10, -9.5, -8, -7, -6, -5, -4, -3, -2, -1.5}},
      {"descending", xpos_config(16, 64), {12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}},
      {"image, chunked", mrope_config(16, 1e4, sections, MropeLayout::chunked), image},
      {"image, interleaved", mrope_config(16, 1e4, spread, MropeLayout::interleaved), image},
      {"text on three axes", mrope_config(16, 1e4, sections, MropeLayout::chunked), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
  };
  for (const auto& [name, config, ids] : all) {
    for (const RowType type : kTestedRowTypes) {
      for (const KeyMode mode : kKeyModes) {
        SCOPED_TRACE(testing::Message() << name << ", " << name_of(type, mode));
        const CacheSetup setup = simple_setup(config, type, mode, 2);
        ConfiguredCache cache(setup);
        KvModel model(setup);
        for (const bool is_placed : {true, false}) {  // then more tokens, which follow the largest position
          for (int layer = 0; layer < 2; ++layer) {
            Tokens tokens(setup.layers[0], 12, layer + 1);
            if (is_placed) tokens.at(ids, static_cast<int>(ids.size() / 12));
            ASSERT_EQ(cache.append(layer, 0, tokens.with_queries()), Status::ok);
            model.append(layer, 0, tokens);
          }
        }
        ASSERT_NO_FATAL_FAILURE(expect_holds(cache, model));
        ASSERT_NO_FATAL_FAILURE(expect_attends(cache, model, 0, 1, 12, 5));
      }
    }
  }
}

TEST(KvCache, KernelsGiveTheSameBits) {
  for (const RowType type : kTestedRowTypes) {
    for (const KeyMode mode : kKeyModes) {
      Snapshot snapshots[2];
      std::vector<std::uint8_t> outputs[2];
      for (const bool is_simd : {false, true}) {
        ConfiguredCache cache(simple_setup(partial_yarn(), type, mode));
        is_simd ? cache.use_kernels(kWasmSimdAttentionKernels, kWasmSimdRotateKernels)
                : cache.use_kernels(kScalarAttentionKernels, kScalarRotateKernels);
        Tokens tokens({2, 40, 0}, 50, 3);
        ASSERT_EQ(cache.append(0, 0, tokens.with_queries()), Status::ok);
        ASSERT_EQ(cache.retune(0, partial_yarn()), Status::ok);
        RopeConfig other = partial_yarn();
        other.factor = 8;
        ASSERT_EQ(cache.retune(0, other), Status::ok);
        ASSERT_EQ(cache.shift(0, 3, 9), Status::ok);
        Tokens last({2, 40, 0}, 2, 4);
        ASSERT_EQ(cache.append(0, 0, last.with_queries()), Status::ok);
        ASSERT_EQ(cache.attend(0, 0, last.q.in_place(), {}), Status::ok);
        snapshots[is_simd] = snapshot_of(cache);
        outputs[is_simd] = last.q.bytes();
      }
      EXPECT_TRUE(snapshots[0] == snapshots[1]) << name_of(type, mode);
      EXPECT_EQ(outputs[0], outputs[1]) << name_of(type, mode);
    }
  }
}

// A number below q8_0's smallest scale is stored as 0, by every kernel.
TEST(KvCache, TinyNumbersBecomeZeroIn8Bits) {
  for (const float tiny : {1e-9f, 1e-38f, 1e-39f, 1e-45f}) {
    for (const bool is_simd : {false, true}) {
      ConfiguredCache cache({{{1, 32, kNoRope}}, {}, RowType::q8_0});
      is_simd ? cache.use_kernels(kWasmSimdAttentionKernels, kWasmSimdRotateKernels)
              : cache.use_kernels(kScalarAttentionKernels, kScalarRotateKernels);
      Tokens tokens({1, 32, kNoRope}, 1, 1);
      for (std::size_t i = 0; i < 32; ++i) tokens.k.set_bits(i, oracle::encode(i % 3 == 0 ? 0 : tiny, DType::f32));
      ASSERT_EQ(cache.append(0, 0, tokens.without_queries()), Status::ok);
      EXPECT_EQ(read_all(cache, 0, 0).keys, std::vector<float>(32, 0)) << tiny;
    }
  }
}

}  // namespace
}  // namespace ropewalk
