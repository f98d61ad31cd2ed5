// The output of a query doesn't depend on anything else in the call, to the bit: alone as in decoding, in a whole prompt, in pieces of it,
// with other heads or without.
#include <gtest/gtest.h>

#include <numeric>

#include "native/attention/attention_call.h"
#include "native/rope/configs.h"

namespace ropewalk {
namespace {

// Queries [first, last) of the heads of `kv_heads` key heads, with the keys that exist when these queries are the newest.
struct Part {
  int first, last;
  int kv_head, kv_heads;
};

// Attends part of a call and writes to its place in `out`, [heads][queries][head_dim].
void attend_part(AttentionCall& call, const Part& part, std::vector<float>& out) {
  const CallShape& shape = call.shape();
  const int group = shape.heads / shape.kv_heads, dim = shape.head_dim, tokens = part.last - part.first, heads = part.kv_heads * group;
  const int first_head = part.kv_head * group;
  KeyValues kv = call.keys_and_values();
  kv.tokens = kv.positions.tokens = shape.keys - shape.queries + part.last;
  kv.heads = part.kv_heads;
  if (kv.pages == nullptr) {
    kv.keys += part.kv_head * kv.head_stride;
    kv.values += part.kv_head * kv.head_stride;
  }
  kv.key_offset += part.kv_head * kv.head_stride;
  kv.value_offset += part.kv_head * kv.head_stride;

  std::vector<float> queries;
  for (int head = first_head; head < first_head + heads; ++head) {
    for (int query = part.first; query < part.last; ++query) {
      queries.insert(queries.end(), &call.query(head, query, 0), &call.query(head, query, 0) + dim);
    }
  }
  Positions positions = call.query_positions;
  positions.offset += part.first;
  if (positions.ids != nullptr) positions.ids += part.first;
  positions.tokens = tokens;
  AttentionOptions options = call.options;
  if (options.sinks != nullptr) options.sinks += first_head;
  if (options.temperatures != nullptr) options.temperatures += part.first;

  Attention attention;
  const Status status = attention.attend(kv, {queries.data(), queries.data(), dim, dim * tokens, tokens, heads}, positions, options);
  EXPECT_EQ(status, Status::ok);
  for (int head = 0; head < heads; ++head) {
    std::copy_n(&queries[head * dim * tokens], dim * tokens, &out[((first_head + head) * shape.queries + part.first) * dim]);
  }
}

// Attends a prompt in pieces of `tokens` tokens, `kv_heads` key heads at a time.
void expect_same_in_parts(AttentionCall& call, int tokens, int kv_heads) {
  SCOPED_TRACE(testing::Message() << "pieces of " << tokens << " tokens, " << kv_heads << " key heads");
  const CallShape& shape = call.shape();
  const std::vector<float> whole = call.attend();
  std::vector<float> parts(whole.size());
  for (int first = 0; first < shape.queries; first += tokens) {
    for (int head = 0; head < shape.kv_heads; head += kv_heads) {
      attend_part(call, {first, std::min(first + tokens, shape.queries), head, std::min(kv_heads, shape.kv_heads - head)}, parts);
    }
  }
  int different = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) different += std::memcmp(&whole[i], &parts[i], sizeof(float)) != 0;
  EXPECT_EQ(different, 0) << "of " << whole.size();
}

void expect_independent(AttentionCall& call) {
  for (const int tokens : {1, 3, 17, 64}) expect_same_in_parts(call, tokens, call.shape().kv_heads);
}

// 90 tokens of 4 heads: the whole has tiles of 64 tokens of one key head, and a piece of 17 has all heads in a tile.
constexpr CallShape kPrompt = {90, 90, 4, 2, 12};

TEST(AttentionIndependence, CausalPrompt) {
  AttentionCall call(kPrompt, 1);
  expect_independent(call);
}

TEST(AttentionIndependence, PromptAfterOtherTokens) {
  AttentionCall call({50, 140, 4, 1, 12}, 2);
  expect_independent(call);
}

TEST(AttentionIndependence, Windows) {
  for (const int window : {1, 2, 5, 31, 32, 33, 70}) {
    SCOPED_TRACE(window);
    AttentionCall call(kPrompt, 3);
    call.options.window = window;
    expect_independent(call);
  }
}

TEST(AttentionIndependence, SinkTokensWithAWindow) {
  for (const int sink_tokens : {1, 3, 32, 37}) {
    for (const int window : {4, 30}) {
      SCOPED_TRACE(testing::Message() << sink_tokens << " sink tokens, window " << window);
      AttentionCall call(kPrompt, 4);
      call.options.window = window;
      call.options.sink_tokens = sink_tokens;
      expect_independent(call);
    }
  }
}

// Tokens that start at different chunks of keys.
TEST(AttentionIndependence, ChunksOfKeys) {
  const float sinks[] = {-1, 0, 2, 3};
  for (const int window : {300, 511, kNoWindow}) {
    for (const int sink_tokens : {0, 40}) {
      SCOPED_TRACE(testing::Message() << "window " << window << ", " << sink_tokens << " sink tokens");
      AttentionCall call({90, 1070, 4, 2, 8}, 15);
      call.options.window = window;
      call.options.sink_tokens = sink_tokens;
      call.options.sinks = sinks;
      for (const int tokens : {1, 17, 64}) expect_same_in_parts(call, tokens, 2);
    }
  }
}

TEST(AttentionIndependence, SinksCapsAndTemperatures) {
  AttentionCall call(kPrompt, 5);
  const float sinks[] = {-1, 0, 2, 30};
  std::vector<float> temperatures(kPrompt.queries);
  std::iota(temperatures.begin(), temperatures.end(), 1.0f);
  for (float& temperature : temperatures) temperature = 1 + temperature / 100;
  call.options.sinks = sinks;
  call.options.soft_cap = 3;
  call.options.temperatures = temperatures.data();
  expect_independent(call);
}

TEST(AttentionIndependence, EveryRowTypeAndPlace) {
  for (const RowType type : kEveryRowType) {
    for (const Place place : {Place::tokens_first, Place::heads_first, Place::pages}) {
      SCOPED_TRACE(testing::Message() << name_of(type) << ", place " << static_cast<int>(place));
      AttentionCall call({45, 70, 6, 2, 20}, 6, type, place);
      expect_same_in_parts(call, 1, 2);
      expect_same_in_parts(call, 20, 2);
    }
  }
}

// A tile has 128 rows: 16 tokens of 8 heads fit together, 17 go head by head.
TEST(AttentionIndependence, AllHeadsTogetherOrOneByOne) {
  for (const int queries : {16, 17}) {
    AttentionCall call({queries, 40, 8, 4, 8}, 7);
    for (const int kv_heads : {1, 3}) expect_same_in_parts(call, queries, kv_heads);
  }
}

// Groups that fill a tile, and groups larger than a tile.
TEST(AttentionIndependence, LargeGroups) {
  for (const int heads : {127, 128, 129, 200}) {
    SCOPED_TRACE(heads);
    AttentionCall call({3, 40, heads, 1, 4}, 8);
    expect_same_in_parts(call, 1, 1);
  }
}

TEST(AttentionIndependence, PositionEncodings) {
  Rope rope;
  ASSERT_EQ(rope.configure(yarn_config(12, 10000, 4, 64)), Status::ok);
  std::vector<float> table(200 * 12);
  Random random(9);
  for (float& value : table) value = static_cast<float>(random.next());
  for (const PositionScheme scheme :
       {PositionScheme::rope, PositionScheme::sinusoidal, PositionScheme::learned, PositionScheme::alibi, PositionScheme::t5}) {
    SCOPED_TRACE(static_cast<int>(scheme));
    AttentionCall call(kPrompt, 10);
    call.options.window = 50;
    call.options.position.scheme = scheme;
    call.options.position.rope = &rope;
    call.options.position.table = table.data();
    call.options.position.table_rows = 200;
    expect_independent(call);
  }
}

// Without `causal`, the newest queries see the same keys alone as together with older ones.
TEST(AttentionIndependence, NewestQueriesOfAFullPrompt) {
  for (const int window : {kNoWindow, 9, 40}) {
    AttentionCall call(kPrompt, 11);
    call.options.causal = false;
    call.options.window = window;
    const std::vector<float> whole = call.attend();
    for (const int newest : {1, 5, 70}) {
      std::vector<float> part = whole;
      attend_part(call, {kPrompt.queries - newest, kPrompt.queries, 0, 2}, part);
      EXPECT_EQ(part, whole) << newest << " of window " << window;
    }
  }
}

// The working memory that is kept between calls doesn't affect the next call.
TEST(AttentionIndependence, CallsShareNothing) {
  AttentionCall large({40, 100, 6, 3, 33}, 12), small({2, 37, 2, 1, 7}, 13, RowType::q8_0, Place::pages), spoilt({40, 100, 6, 3, 64}, 14);
  std::fill_n(&spoilt.query(0, 0, 0), 40 * 6 * 64, std::numeric_limits<float>::quiet_NaN());
  Attention attention;
  std::vector<float> out;
  for (AttentionCall* call : {&large, &small, &large}) {
    ASSERT_EQ(spoilt.attend(attention, out), Status::ok);  // leaves NaN behind
    ASSERT_EQ(call->attend(attention, out), Status::ok);
    EXPECT_EQ(out, call->attend());
  }
}

TEST(AttentionIndependence, InPlaceOrNot) {
  for (const int queries : {5, 60}) {  // all heads in a tile, and head by head
    AttentionCall call({queries, 60, 6, 3, 10}, 14);
    Attention attention;
    std::vector<float> out;
    ASSERT_EQ(call.attend(attention, out, true), Status::ok);
    EXPECT_EQ(out, call.attend());
  }
}

}  // namespace
}  // namespace ropewalk
