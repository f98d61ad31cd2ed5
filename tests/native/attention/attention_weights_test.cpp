// Attention::weights() against the oracle, and against what attend() computes.
#include <gtest/gtest.h>

#include "attention/attention.h"
#include "native/attention/attention_call.h"

namespace ropewalk {
namespace {

// Of a weight, as a share of it plus 1e-6. A score of |s| <= 20 is off by a few roundings of 2^-24 · |s|. Measured: 6e-6.
constexpr double kTolerance = 2e-5;

TEST(AttentionWeights, RandomCallsAgreeWithTheOracle) {
  Random random(4);
  const auto pick = [&](int low, int high) { return low + static_cast<int>(random.next_bits() % (high - low + 1)); };
  const int dims[] = {1, 7, 8, 20, 64, 128}, groups[] = {1, 2, 3, 7};
  for (int i = 0; i < 120; ++i) {
    CallShape shape;
    shape.head_dim = dims[pick(0, 5)];
    const int group = groups[pick(0, 3)];
    shape.kv_heads = pick(1, 3);
    shape.heads = group * shape.kv_heads;
    shape.keys = pick(1, i % 10 == 0 ? 1500 : 100);  // several chunks of 512 keys, or one
    SCOPED_TRACE(testing::Message() << "call " << i << ": " << shape.keys << " keys, " << shape.heads << "/" << shape.kv_heads
                                    << " heads of " << shape.head_dim);
    AttentionCall call(shape, 300 + i, kEveryRowType[pick(0, 4)], static_cast<Place>(pick(0, 2)));
    std::vector<float> sinks(shape.heads);
    for (float& sink : sinks) sink = static_cast<float>(random.next());
    if (pick(0, 1) == 0) call.options.window = pick(1, shape.keys + 3);
    if (pick(0, 1) == 0) call.options.sink_tokens = pick(0, shape.keys + 3);
    if (pick(0, 2) == 0) call.options.sinks = sinks.data();
    if (pick(0, 2) == 0) call.options.soft_cap = random.between(0.5, 4.5);

    Attention attention;
    Guarded<float> weights(static_cast<std::size_t>(shape.heads) * shape.keys, AttentionCall::kUnwritten);
    std::vector<float> out;
    ASSERT_EQ(call.weights(attention, weights.data(), out), Status::ok);
    ASSERT_TRUE(weights.guards_are_intact());
    const oracle::Attention exact = call.exact();
    for (int head = 0; head < shape.heads; ++head) {
      const std::vector<double> expected = exact.weights(head, 0);
      for (int key = 0; key < shape.keys; ++key) {
        const double weight = weights.data()[head * shape.keys + key];
        ASSERT_LE(std::fabs(weight - expected[key]), kTolerance * (expected[key] + 1e-6)) << "head " << head << ", key " << key;
        if (!exact.sees(0, key)) ASSERT_EQ(weight, 0);
      }
    }
    ASSERT_EQ(out, call.attend());
  }
}

TEST(AttentionWeights, OnlyOneQuery) {
  AttentionCall call({2, 8, 1, 1, 4}, 1);
  Attention attention;
  std::vector<float> weights(16, AttentionCall::kUnwritten), out;
  EXPECT_EQ(call.weights(attention, weights.data(), out), Status::query_shape_out_of_range);
  EXPECT_EQ(weights, std::vector<float>(16, AttentionCall::kUnwritten));
}

}  // namespace
}  // namespace ropewalk
