// Caches of q4_channel: groups are closed by one rule however a text is divided, and stay as they are until they are cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>

#include "base/native_threads.h"
#include "native/cache/kv_images.h"
#include "native/cache/kv_tokens.h"
#include "native/requested_memory.h"

namespace ropewalk {
namespace {

constexpr int kTokens = 170;

CacheSetup setup_of(int sequences = 1) {
  return {{{2, 40, 0}, {1, 5, kNoRope}, {3, 32, 1}},
          {yarn_config(40, 10000, 4, 16), plain_config(32)},
          RowType::q4_channel,
          KeyMode::raw,
          sequences,
          1000};
}

// All tokens of a text, layer by layer.
struct Text {
  std::deque<Tokens> layers;

  Text(const CacheSetup& setup, int tokens, std::uint32_t seed) {
    for (std::size_t i = 0; i < setup.layers.size(); ++i)
      layers.emplace_back(setup.layers[i], tokens, seed + static_cast<std::uint32_t>(i));
  }
};

// Appends tokens [first, last) of a text and attends from them. Returns the outputs of all layers, token by token.
std::vector<std::vector<float>> read_tokens(KvCache& cache, const CacheSetup& setup, const Text& text, int first, int last,
                                            int sequence = 0) {
  std::vector<std::vector<float>> outputs(last - first);
  for (std::size_t i = 0; i < setup.layers.size(); ++i) {
    const int layer = static_cast<int>(i);
    Tokens part(setup.layers[i], last - first, 0);
    for (int token = first; token < last; ++token) part.take(token - first, text.layers[i], token);
    EXPECT_EQ(cache.append(layer, sequence, part.with_queries()), Status::ok);
    AttentionOptions options;
    options.scale = NAN;
    if (setup.layers[i].rope == kNoRope) options.position.scheme = PositionScheme::sinusoidal;
    EXPECT_EQ(cache.attend(layer, sequence, part.q.in_place(), options), Status::ok);
    for (int token = 0; token < last - first; ++token) {
      for (int head = 0; head < part.q.shape().heads; ++head) {
        const std::vector<float> row = part.row(part.q, 0, token, head);
        outputs[token].insert(outputs[token].end(), row.begin(), row.end());
      }
    }
  }
  return outputs;
}

std::vector<std::vector<float>> read_singly(KvCache& cache, const CacheSetup& setup, const Text& text, int first, int last) {
  std::vector<std::vector<float>> outputs;
  for (int token = first; token < last; ++token) outputs.push_back(read_tokens(cache, setup, text, token, token + 1)[0]);
  return outputs;
}

Snapshot settled(KvCache& cache) {
  for (int sequence = 0; sequence < cache.sequences(); ++sequence) cache.settle(sequence);
  return snapshot_of(cache);
}

TEST(KvGroups, APromptAtOnceAndTokenByTokenGiveTheSameBits) {
  const CacheSetup setup = setup_of();
  const Text text(setup, kTokens, 1);
  ConfiguredCache singly(setup), scalar(setup);
  scalar.use_kernels(kScalarAttentionKernels, kScalarRotateKernels);
  const auto expected = read_singly(singly, setup, text, 0, kTokens);
  EXPECT_EQ(read_tokens(scalar, setup, text, 0, kTokens), expected);
  EXPECT_EQ(settled(scalar), settled(singly));
  Random random(7);
  for (int round = 0; round < 12; ++round) {
    ConfiguredCache cache(setup);
    for (int first = 0; first < kTokens;) {
      const int last = std::min(kTokens, first + 1 + static_cast<int>(random.next_bits() % (round % 3 == 0 ? 100 : 20)));
      const auto found = read_tokens(cache, setup, text, first, last);
      for (int token = first; token < last; ++token) ASSERT_EQ(found[token - first], expected[token]) << round << " " << token;
      if (round % 2 == 0) cache.settle(0);
      first = last;
    }
    ASSERT_EQ(settled(cache), settled(singly)) << round;
  }
}

TEST(KvGroups, AnyNumberOfThreadsGivesTheSameBits) {
  const CacheSetup setup = setup_of();
  constexpr int kLong = 900;  // two chunks of attention
  const Text text(setup, kLong, 3);
  const auto read = [&] {
    ConfiguredCache cache(setup);
    std::vector<std::vector<float>> outputs = read_tokens(cache, setup, text, 0, kLong - 3);
    for (int token = kLong - 3; token < kLong; ++token) outputs.push_back(read_tokens(cache, setup, text, token, token + 1)[0]);
    return outputs;
  };
  const auto alone = read();
  for (const int threads : {2, 5}) {
    NativeThreads helpers(threads, 1);
    EXPECT_EQ(read(), alone) << threads << " threads";
  }
}

TEST(KvGroups, TheOpenEndIsExactAndClosedGroupsAreNear) {
  const CacheSetup setup = setup_of();
  const Text text(setup, kTokens, 2);
  ConfiguredCache cache(setup);
  read_tokens(cache, setup, text, 0, kTokens);
  for (std::size_t i = 0; i < setup.layers.size(); ++i) {
    const KvLayer& shape = setup.layers[i];
    const int closed = cache.sequence(0).closed(static_cast<int>(i)) * kBlockTokens;
    EXPECT_EQ(closed, 128);  // of 170 tokens: 128 + 32 ≤ 170
    const KeysAndValues stored = read_all(cache, static_cast<int>(i), 0);
    for (int head = 0; head < shape.kv_heads; ++head) {
      std::vector<std::vector<float>> keys;
      for (int token = 0; token < kTokens; ++token) keys.push_back(text.layers[i].row(text.layers[i].k, 0, token, head));
      for (int channel = 0; channel < shape.head_dim; ++channel) {
        for (int token = 0; token < kTokens; ++token) {
          const float found = stored.keys[(static_cast<std::size_t>(token) * shape.kv_heads + head) * shape.head_dim + channel];
          const float given = keys[token][channel];
          if (token >= closed) {
            EXPECT_NEAR(found, given, std::fabs(given) * 0x1p-11f);
            continue;
          }
          if (token < 32) {  // q8_0
            EXPECT_NEAR(found, given, 2 * (1 / 254.0f + 0x1p-11f));
            continue;
          }
          float low = INFINITY, high = -INFINITY;
          for (int other = token / 32 * 32; other < token / 32 * 32 + 32; ++other) {
            low = std::min(low, keys[other][channel]);
            high = std::max(high, keys[other][channel]);
          }
          EXPECT_NEAR(found, given, (high - low) / 15.5f * 0.5f * 1.07f + 0x1p-9f * std::max(std::fabs(low), std::fabs(high)));
        }
      }
    }
  }
}

TEST(KvGroups, MemoryIsAsPredictedAndAtMostThirtyPercentOfF16) {
  const CacheSetup setup = setup_of();
  const Text text(setup, kTokens, 3);
  ConfiguredCache cache(setup);
  for (int token = 0; token < kTokens; ++token) {
    read_tokens(cache, setup, text, token, token + 1);
    ASSERT_EQ(settled(cache).bytes, cache.geometry().bytes(token + 1)) << token;
  }
  for (const int head_dim : {64, 128}) {
    const std::vector<KvLayer> layers(30, {4, head_dim, 0});
    KvGeometry small, f16;
    ASSERT_EQ(small.prepare(layers, RowType::q4_channel, 1), Status::ok);
    ASSERT_EQ(f16.prepare(layers, RowType::f16, 1), Status::ok);
    EXPECT_LE(small.bytes(4096), 0.30 * f16.bytes(4096));
  }
}

TEST(KvGroups, RetuningChangesNoKey) {
  const CacheSetup setup = setup_of();
  const Text text(setup, kTokens, 4);
  ConfiguredCache cache(setup);
  read_tokens(cache, setup, text, 0, 150);
  const Snapshot before = settled(cache);
  ASSERT_EQ(cache.retune(0, plain_config(40)), Status::ok);
  EXPECT_EQ(read_all(cache, 0, 0), before.stored[0]);
  CacheSetup other = setup;
  other.ropes[0] = plain_config(40);
  ConfiguredCache fresh(other);
  read_tokens(fresh, other, text, 0, 150);
  EXPECT_EQ(read_tokens(cache, setup, text, 150, kTokens), read_tokens(fresh, other, text, 150, kTokens));

  std::vector<double> ids(kTokens);
  for (int token = 0; token < kTokens; ++token) ids[token] = 1000 + token;
  ASSERT_EQ(cache.move(0, {0, ids.data(), 1, 1, kTokens}), Status::ok);
  EXPECT_EQ(read_all(cache, 0, 0), read_all(fresh, 0, 0));
  for (int token = 0; token < kTokens; ++token) EXPECT_EQ(cache.sequence(0).position(0, token), ids[token]);
}

TEST(KvGroups, RejectedGuessesLeaveNoTrace) {
  const CacheSetup setup = setup_of();
  const Text text(setup, kTokens, 5), guesses(setup, 400, 6);
  ConfiguredCache plain(setup), guessing(setup);
  for (int token = 0; token < kTokens; ++token) {
    const auto expected = read_tokens(plain, setup, text, token, token + 1);
    read_tokens(guessing, setup, guesses, token, token + token % (kOpenTokens + 1) + 1);
    ASSERT_EQ(guessing.truncate(0, token), Status::ok);
    ASSERT_EQ(read_tokens(guessing, setup, text, token, token + 1), expected) << token;
  }
  EXPECT_EQ(settled(guessing), settled(plain));
}

TEST(KvGroups, TruncationAtAGroupKeepsItsBitsAndWithinOneOpensIt) {
  const CacheSetup setup = setup_of();
  const Text text(setup, kTokens, 7);
  for (const int tokens : {0, 1, 31, 32, 64, 77, 96, 127, 128, 129, 140, 160, kTokens}) {
    ConfiguredCache cache(setup);
    read_tokens(cache, setup, text, 0, kTokens);
    const Snapshot before = settled(cache);
    ASSERT_EQ(cache.truncate(0, tokens), Status::ok);
    EXPECT_EQ(cache.sequence(0).tokens(), tokens);
    for (std::size_t i = 0; i < setup.layers.size(); ++i) {
      const KeysAndValues kept = read_all(cache, static_cast<int>(i), 0);
      for (std::size_t j = 0; j < kept.keys.size(); ++j) {
        const float key = before.stored[i].keys[j], value = before.stored[i].values[j];
        const bool is_cut = static_cast<int>(j / (setup.layers[i].kv_heads * setup.layers[i].head_dim)) >= tokens / 32 * 32 && tokens < 128;
        ASSERT_NEAR(kept.keys[j], key, is_cut ? std::fabs(key) * 0x1p-11f : 0) << tokens;
        ASSERT_NEAR(kept.values[j], value, is_cut ? std::fabs(value) * 0x1p-11f : 0) << tokens;
      }
    }
    // what follows doesn't depend on how it is divided
    ConfiguredCache other(setup);
    ASSERT_EQ(other.copy_prefix(cache, 0, 0, tokens), Status::ok);
    const Text more(setup, 90, 8);
    EXPECT_EQ(read_tokens(cache, setup, more, 0, 90), read_singly(other, setup, more, 0, 90));
    EXPECT_EQ(settled(cache).stored, settled(other).stored);
  }
}

TEST(KvGroups, AShiftByGroupsMovesThemAndAnotherRoundsOnceMore) {
  const CacheSetup setup = setup_of();
  const Text text(setup, kTokens, 9);
  for (const auto& [keep, discard] : {std::pair{0, 32}, {32, 64}, {96, 64}, {4, 30}, {40, 50}, {32, 33}, {10, 160}, {100, 70}}) {
    ConfiguredCache cache(setup);
    read_tokens(cache, setup, text, 0, kTokens);
    const Snapshot before = settled(cache);
    ASSERT_EQ(cache.shift(0, keep, discard), Status::ok);
    const Snapshot after = settled(cache);
    const bool is_exact = keep % 32 == 0 && discard % 32 == 0;
    for (std::size_t i = 0; i < setup.layers.size(); ++i) {
      const std::size_t row = static_cast<std::size_t>(setup.layers[i].kv_heads) * setup.layers[i].head_dim;
      ASSERT_EQ(after.stored[i].keys.size(), (kTokens - discard) * row);
      for (std::size_t j = 0; j < after.stored[i].keys.size(); ++j) {
        const std::size_t from = j < keep * row ? j : j + discard * row;
        ASSERT_NEAR(after.stored[i].keys[j], before.stored[i].keys[from], is_exact || j < keep / 32 * 32 * row ? 0 : 0.15) << keep;
        ASSERT_NEAR(after.stored[i].values[j], before.stored[i].values[from], is_exact || j < keep / 32 * 32 * row ? 0 : 0.27) << keep;
      }
    }
    for (int token = 0; token < kTokens - discard; ++token) ASSERT_EQ(cache.sequence(0).position(0, token), token);
    ConfiguredCache other(setup);
    ASSERT_EQ(restore(other, 0, saved(cache, 0)), Status::ok);
    const Text more(setup, 90, 10);
    ASSERT_EQ(read_tokens(cache, setup, more, 0, 90), read_singly(other, setup, more, 0, 90)) << keep << " " << discard;
    EXPECT_EQ(settled(cache), settled(other));
  }
}

TEST(KvGroups, ForksShareGroupsAndDontSeeEachOther) {
  const CacheSetup setup = setup_of(2);
  const Text text(setup, kTokens, 11), one(setup, 100, 12), two(setup, 100, 13);
  ConfiguredCache cache(setup);
  read_tokens(cache, setup, text, 0, kTokens);
  const double bytes = settled(cache).bytes;
  ASSERT_EQ(cache.copy_prefix(0, 1, kTokens), Status::ok);
  EXPECT_EQ(settled(cache).bytes, bytes);
  ConfiguredCache first(setup), second(setup);
  read_tokens(first, setup, text, 0, kTokens);
  read_tokens(second, setup, text, 0, kTokens);
  const auto expected_one = read_tokens(first, setup, one, 0, 100), expected_two = read_tokens(second, setup, two, 0, 100);
  EXPECT_EQ(read_tokens(cache, setup, one, 0, 50, 0), std::vector(expected_one.begin(), expected_one.begin() + 50));
  EXPECT_EQ(read_tokens(cache, setup, two, 0, 100, 1), expected_two);
  EXPECT_EQ(read_tokens(cache, setup, one, 50, 100, 0), std::vector(expected_one.begin() + 50, expected_one.end()));
  EXPECT_EQ(read_all(cache, 0, 0), read_all(first, 0, 0));
  EXPECT_EQ(read_all(cache, 0, 1), read_all(second, 0, 0));
}

TEST(KvGroups, ASavedSequenceGoesOnWithTheSameBits) {
  const CacheSetup setup = setup_of();
  const Text text(setup, kTokens, 14);
  for (const int tokens : {0, 5, 63, 64, 65, 100, 150}) {
    ConfiguredCache cache(setup), other(setup);
    if (tokens > 0) read_tokens(cache, setup, text, 0, tokens);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{97}, SIZE_MAX})
      ASSERT_EQ(restore(other, 0, saved(cache, 0), piece), Status::ok);
    ASSERT_EQ(settled(other), settled(cache));
    EXPECT_EQ(read_tokens(other, setup, text, tokens, kTokens), read_tokens(cache, setup, text, tokens, kTokens)) << tokens;
  }
}

TEST(KvGroups, AnImageWithOtherCountsIsRefused) {
  const CacheSetup setup = setup_of();
  const Text text(setup, kTokens, 15);
  ConfiguredCache cache(setup), other(setup);
  read_tokens(cache, setup, text, 0, kTokens);
  const Bytes image = saved(cache, 0);
  const std::size_t at = kAtHeader + 40 + 16 * setup.layers.size();
  ASSERT_EQ(value_at<std::int32_t>(image, at), 4);
  for (const std::int32_t closed : {-1, 6, 1 << 30, 3}) EXPECT_EQ(restore(other, 0, patched(image, at, closed)), Status::image_content);
  CacheSetup plain = setup;
  plain.type = RowType::f16;
  ConfiguredCache f16(plain);
  EXPECT_EQ(restore(f16, 0, image), Status::image_geometry);
  EXPECT_EQ(other.sequence(0).tokens(), 0);
}

TEST(KvGroups, ADamagedImageIsRefusedOrRead) {
  const CacheSetup setup = setup_of();
  const Text text(setup, kTokens, 16);
  ConfiguredCache cache(setup);
  read_tokens(cache, setup, text, 0, kTokens);
  const Bytes image = saved(cache, 0);
  Random random(17);
  for (int round = 0; round < 400; ++round) {
    ConfiguredCache other(setup);
    const std::size_t area = round % 2 == 0 ? kAtHeader + 150 : image.size() - 8;  // the header, or all
    const std::size_t at = random.next_bits() % area;
    const std::uint32_t value = round % 3 == 0 ? random.next_bits() : random.next_bits() % 8;
    if (restore(other, 0, patched(image, at, value)) != Status::ok) {
      EXPECT_EQ(other.sequence(0).tokens(), 0);
      continue;
    }
    read_tokens(other, setup, text, 0, 40);
    EXPECT_EQ(other.shift(0, 5, 9), Status::ok);
    settled(other);
  }
}

TEST(KvGroups, WithoutMemoryNothingChanges) {
  if (!can_refuse_memory()) GTEST_SKIP() << "linked without --wrap";
  const CacheSetup setup = setup_of(2);
  const Text text(setup, kTokens, 18);
  const std::vector<std::function<Status(KvCache&)>> changes = {
      [&](KvCache& cache) {
        Tokens part(setup.layers[0], 40, 5);
        return cache.append(0, 0, part.without_queries());
      },
      [](KvCache& cache) { return cache.truncate(0, 50); },
      [](KvCache& cache) { return cache.shift(0, 5, 40); },
      [](KvCache& cache) { return cache.shift(0, 32, 64); },
      [](KvCache& cache) { return cache.copy_prefix(0, 1, 50); },
  };
  for (std::size_t index = 0; index < changes.size(); ++index) {
    for (int granted = 0;; ++granted) {
      ConfiguredCache cache(setup);
      read_tokens(cache, setup, text, 0, kTokens);
      ASSERT_EQ(cache.copy_prefix(0, 1, kTokens), Status::ok);
      cache.settle(0);
      const Snapshot before = settled(cache);
      const Status status = without_request(granted, true, [&] { return changes[index](cache); });
      if (status == Status::ok) break;
      ASSERT_EQ(status, Status::out_of_memory) << index;
      const Snapshot after = snapshot_of(cache);
      EXPECT_EQ(after.stored, before.stored) << index << " " << granted;
      EXPECT_EQ(after.tokens, before.tokens);
      EXPECT_EQ(after.written, before.written);
      EXPECT_EQ(after.positions, before.positions);
    }
  }
}

TEST(KvGroups, KeysAreRawAndValuesTheirOwn) {
  CacheSetup setup = setup_of();
  setup.mode = KeyMode::rotated;
  KvCache cache;
  EXPECT_EQ(cache.configure(setup.config()), Status::cache_mode_unknown);
  setup.mode = KeyMode::raw;
  setup.layers[2].has_values = false;
  EXPECT_EQ(cache.configure(setup.config()), Status::row_type_unknown);
}

}  // namespace
}  // namespace ropewalk
