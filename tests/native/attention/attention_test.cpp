// Attention without positions: all shapes, masks and memory layouts against the oracle, and scalar against SIMD bit for bit. Position
// encodings are in attention_position_test.cpp.
#include "attention/attention.h"

#include <gtest/gtest.h>

#include "native/attention/attention_call.h"

namespace ropewalk {
namespace attention_test {

// Largest allowed error of f32 attention, as a share of the sum of weights times |values| (worst_error). Measured: 1.2e-6 over 6000 keys,
// 9e-7 over 300.
constexpr double kTolerance = 2e-6;

// Compares both kernels with the oracle; they must agree to the last bit.
void expect_exact(AttentionCall& call) {
  const std::vector<float> out = call.attend(kWasmSimdAttentionKernels, kWasmSimdRotateKernels);
  ASSERT_LE(worst_error(out, call.exact().attend()), kTolerance);
  ASSERT_EQ(std::memcmp(call.attend(kScalarAttentionKernels, kScalarRotateKernels).data(), out.data(), out.size() * sizeof(float)), 0);
}

testing::Message shape_text(const CallShape& shape) {
  return testing::Message() << shape.queries << " queries, " << shape.keys << " keys, " << shape.heads << "/" << shape.kv_heads
                            << " heads of " << shape.head_dim;
}

// Random combinations of shapes and options: often small, sometimes large.
TEST(Attention, RandomCallsAgreeWithTheOracle) {
  Random random(1);
  const auto pick = [&](int low, int high) { return low + static_cast<int>(random.next_bits() % (high - low + 1)); };
  const int dims[] = {1, 7, 8, 20, 64, 80, 128}, groups[] = {1, 2, 3, 4, 7};
  for (int i = 0; i < 150; ++i) {
    CallShape shape;
    shape.head_dim = dims[pick(0, 6)];
    const int group = groups[pick(0, 4)];
    shape.kv_heads = pick(1, 12 / group);
    shape.heads = group * shape.kv_heads;
    shape.keys = pick(1, i % 10 == 0 ? 300 : i % 3 == 0 ? 100 : 40);
    const bool causal = pick(0, 2) != 0;
    const int most = causal ? shape.keys : shape.keys + 5;
    shape.queries = pick(0, 2) == 0 ? 1 : pick(1, shape.head_dim > 20 ? std::min(most, 60) : most);
    SCOPED_TRACE(testing::Message() << "call " << i << ": " << shape_text(shape));

    AttentionCall call(shape, 100 + i, kEveryRowType[pick(0, 4)], static_cast<Place>(pick(0, 2)));
    std::vector<float> sinks(shape.heads), temperatures(shape.queries);
    for (float& sink : sinks) sink = static_cast<float>(random.next());
    for (float& temperature : temperatures) temperature = static_cast<float>(random.between(0.8, 1.3));
    call.options.causal = causal;
    if (pick(0, 1) == 0) call.options.window = pick(1, shape.keys + 3);
    if (pick(0, 1) == 0) call.options.sink_tokens = pick(0, shape.keys + 3);
    if (pick(0, 3) == 0) call.options.sinks = sinks.data();
    if (pick(0, 3) == 0) call.options.soft_cap = random.between(0.5, 4.5);
    if (pick(0, 3) == 0) call.options.temperatures = temperatures.data();
    if (pick(0, 3) == 0) call.options.scale *= random.next();
    SCOPED_TRACE(testing::Message() << "causal " << causal << ", window " << call.options.window << ", sink tokens "
                                    << call.options.sink_tokens << ", cap " << call.options.soft_cap);
    ASSERT_NO_FATAL_FAILURE(expect_exact(call));
  }
}

// Windows and sink tokens around multiples of 32, smaller and larger than each other and than the sequence.
TEST(Attention, EveryWindowAndSinkTokens) {
  for (const bool causal : {true, false}) {
    for (const int queries : {1, 7, 40}) {
      for (const int window : {1, 2, 9, 31, 32, 33, 40, 41, kNoWindow}) {
        for (const int sink_tokens : {0, 1, 9, 31, 32, 33, 40, 1000}) {
          SCOPED_TRACE(testing::Message() << queries << " queries, window " << window << ", " << sink_tokens << " sink tokens, causal "
                                          << causal);
          AttentionCall call({queries, 40, 2, 1, 4}, 1);
          call.options.causal = causal;
          call.options.window = window;
          call.options.sink_tokens = sink_tokens;
          ASSERT_NO_FATAL_FAILURE(expect_exact(call));
        }
      }
    }
  }
}

TEST(Attention, ManyKeysAndLargeHeads) {
  for (const CallShape& shape : {CallShape{1, 6000, 2, 1, 64}, CallShape{3, 50, 2, 1, kMaxHeadDim}, CallShape{2, 40, 200, 2, 4}}) {
    SCOPED_TRACE(shape_text(shape));
    AttentionCall call(shape, 2);
    ASSERT_NO_FATAL_FAILURE(expect_exact(call));
  }
}

// Windows and sink tokens around multiples of 512, where chunks of keys are merged.
TEST(Attention, ChunksOfKeys) {
  const float sinks[] = {0.5f, -1};
  for (const auto& [queries, keys] : {std::pair{1, 1300}, {1, 1024}, {1, 513}, {70, 1100}}) {
    for (const int window : {1, 500, 512, 513, 700, kNoWindow}) {
      for (const int sink_tokens : {0, 4, 512, 600}) {
        SCOPED_TRACE(testing::Message() << queries << " queries, " << keys << " keys, window " << window << ", " << sink_tokens
                                        << " sink tokens");
        AttentionCall call({queries, keys, 2, 1, 8}, 1, kEveryRowType[(window % kRowTypes + sink_tokens) % kRowTypes], Place::pages);
        call.options.window = window;
        call.options.sink_tokens = sink_tokens;
        if (window % 2 == 0) call.options.sinks = sinks;
        ASSERT_NO_FATAL_FAILURE(expect_exact(call));
      }
    }
  }
}

int scored_keys = 0;

// The cost of a window doesn't depend on the tokens outside it.
TEST(Attention, AWindowReadsOnlyItsOwnKeys) {
  AttentionKernels counting = kWasmSimdAttentionKernels;
  counting.score_f16 = [](const ScoreBlockOf<Float16>& block) {
    scored_keys += block.count;
    kWasmSimdAttentionKernels.score_f16(block);
  };
  for (const int keys : {600, 9000}) {
    AttentionCall call({1, keys, 2, 1, 4}, 1, RowType::f16, Place::pages);
    call.options.window = 512;
    call.options.sink_tokens = 4;
    scored_keys = 0;
    call.attend(counting);
    EXPECT_GE(scored_keys, 512 + 4);
    EXPECT_LT(scored_keys, 512 + 4 + kRowFloats);  // a range starts at a multiple of four
  }
}

// Few queries use rows of f16 as they are stored, unless a query is so large that its multiple would be infinite. Powers of two that cancel
// each other don't change a bit.
TEST(Attention, LargeQueriesOverF16GiveTheSameBits) {
  for (const int head_dim : {12, 64, 128}) {
    for (const int group : {1, 2, 3, 7, 8, 9}) {
      AttentionCall call({1, 700, 2 * group, 2, head_dim}, 6, RowType::f16, Place::pages);
      const std::vector<float> small = call.attend();
      const std::vector<float> scalar = call.attend(kScalarAttentionKernels);
      for (int head = 0; head < 2 * group; ++head) {
        for (int i = 0; i < head_dim; ++i) call.query(head, 0, i) *= 0x1p30f;
      }
      call.options.scale *= 0x1p-30;
      const std::vector<float> large = call.attend();
      EXPECT_EQ(small, large) << head_dim << ", " << group;
      EXPECT_EQ(small, scalar) << head_dim << ", " << group;
    }
  }
}

TEST(Attention, OneKeyGivesItsValueToTheBit) {
  for (const int head_dim : {1, 7, 64}) {
    AttentionCall call({1, 1, 6, 2, head_dim}, 3);
    const oracle::Attention exact = call.exact();
    const std::vector<float> out = call.attend();
    for (int head = 0; head < 6; ++head) {
      for (int i = 0; i < head_dim; ++i) EXPECT_EQ(out[head * head_dim + i], exact.v[head / 3 * head_dim + i]);
    }
  }
}

// Uses every second head of keys, values and queries, by strides.
TEST(Attention, HeadsMayHaveGaps) {
  AttentionCall call({5, 40, 4, 4, 12}, 4);
  const std::vector<float> all = call.attend();
  KeyValues kv = call.keys_and_values();
  kv.heads = 2;
  kv.head_stride *= 2;
  const std::vector<float> untouched(5 * 4 * 12, AttentionCall::kUnwritten);
  std::vector<float> out = untouched;
  Attention attention;
  ASSERT_EQ(attention.attend(kv, {&call.query(0, 0, 0), out.data(), 4 * 12, 2 * 12, 5, 2}, call.query_positions, call.options), Status::ok);
  for (int token = 0; token < 5; ++token) {
    for (int head = 0; head < 4; ++head) {
      const float* row = &out[(token * 4 + head) * 12];
      const float* expected = head % 2 == 0 ? &all[(head * 5 + token) * 12] : untouched.data();
      EXPECT_TRUE(std::equal(row, row + 12, expected)) << token << ", " << head;
    }
  }
}

}  // namespace attention_test
}  // namespace ropewalk
