// Losses compared with log-softmax in double.
#include "transformer/loss.h"

#include <gtest/gtest.h>

#include "native/transformer/model_memory.h"
#include "native/transformer/transformer_oracle.h"

namespace ropewalk {
namespace {

struct Measured {
  explicit Measured(const Description& description, int count) : model(description), cache(model) {
    Random random(3);
    for (int i = 0; i <= count; ++i) tokens.push_back(static_cast<int>(random.next_bits() % model.config().vocabulary_size));
    EXPECT_EQ(model.load_and_finish(weights), Status::ok);
    EXPECT_EQ(forward.run(weights, cache.text(), tokens.data(), count), Status::ok);
  }

  TestModel model;
  Weights weights;
  ModelMemory cache;
  Forward forward;
  Losses losses;
  std::vector<int> tokens;  // one more than the run has
};

// Tolerances: with the computed logits, 3e-7 of log_normalizer(); with the oracle's logits, twice the tolerance of forward_test.cpp.
TEST(Loss, IsMinusTheLogarithmOfTheProbability) {
  const int count = 41;  // more than two pieces
  for (const Description& description : every_float_model()) {
    Measured measured(description, count);
    const int size = measured.model.config().vocabulary_size;
    const std::vector<int> targets(measured.tokens.begin() + 1, measured.tokens.end());
    std::vector<double> losses(count, -7);
    ASSERT_EQ(measured.losses.measure(measured.forward, measured.weights, 0, targets, losses.data()), Status::ok);
    std::vector<float> logits(count * size);
    ASSERT_EQ(measured.forward.logits(measured.weights, 0, count, logits.data()), Status::ok);
    const oracle::Rows exact = oracle::Transformer(measured.model).logits({measured.tokens.begin(), measured.tokens.end() - 1});
    for (int t = 0; t < count; ++t) {
      double sum = 0, exact_sum = 0, largest = 0;
      for (int i = 0; i < size; ++i) {
        sum += std::exp(static_cast<double>(logits[t * size + i]));
        exact_sum += std::exp(exact[t][i]);
        largest = std::max(largest, std::fabs(exact[t][i]));
      }
      ASSERT_NEAR(losses[t], std::log(sum) - logits[t * size + targets[t]], 3e-7) << measured.model.name() << ", token " << t;
      ASSERT_NEAR(losses[t], std::log(exact_sum) - exact[t][targets[t]], 3e-7 + 2 * 4e-6 * std::max(largest, 5.0)) << measured.model.name();
    }
  }
}

TEST(Loss, OfSomeTokens) {
  Measured measured(llama(), 40);
  const std::vector<int> targets(40, 3);
  std::vector<double> all(40);
  ASSERT_EQ(measured.losses.measure(measured.forward, measured.weights, 0, targets, all.data()), Status::ok);
  for (const int first : {0, 1, 16, 39}) {
    for (const int count : {0, 1, 15, 16, 17, 33}) {
      if (first + count > 40) continue;
      std::vector<double> some(count + 1, -7);
      ASSERT_EQ(measured.losses.measure(measured.forward, measured.weights, first, {targets.data(), static_cast<std::size_t>(count)},
                                        some.data()),
                Status::ok);
      EXPECT_EQ(some.back(), -7);
      for (int i = 0; i < count; ++i) EXPECT_EQ(some[i], all[first + i]) << first << ", " << count;
    }
  }
}

// Errors are found before any loss is written.
TEST(Loss, Refuses) {
  Measured measured(llama(), 20);
  const auto refuses = [&](int first, const std::vector<int>& targets, Status status) {
    std::vector<double> losses(targets.size(), -7);
    EXPECT_EQ(measured.losses.measure(measured.forward, measured.weights, first, targets, losses.data()), status);
    EXPECT_EQ(losses, std::vector<double>(targets.size(), -7)) << first << ", " << targets.size();
  };
  for (const int bad : {-1, 29, 2147483647}) {
    refuses(0, {bad}, Status::token_out_of_range);
    std::vector<int> targets(20, 1);
    targets[18] = bad;
    refuses(0, targets, Status::token_out_of_range);
  }
  for (const int first : {-1, 1, 5, 2147483647}) refuses(first, std::vector<int>(20, 1), Status::token_count_out_of_range);
  refuses(0, std::vector<int>(21, 1), Status::token_count_out_of_range);
  refuses(20, {1}, Status::token_count_out_of_range);

  const int bad_token[] = {-1};
  ASSERT_EQ(measured.forward.run(measured.weights, measured.cache.text(), bad_token, 1), Status::token_out_of_range);
  refuses(0, {1}, Status::token_count_out_of_range);
}

}  // namespace
}  // namespace ropewalk
