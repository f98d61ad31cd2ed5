// Out of memory in the transformer: fails each allocation of each operation in turn.
#include <gtest/gtest.h>

#include "native/requested_memory.h"
#include "native/transformer/model_memory.h"
#include "native/transformer/transformer_models.h"
#include "sampling/sampler.h"
#include "transformer/loss.h"

namespace ropewalk {
namespace {

class TransformerMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_refuse_memory()) GTEST_SKIP() << "linked without --wrap";
  }
};

// Repeats `act` on objects from `make`, failing another allocation each time, until none fails. `expect` checks the object after a failure;
// then `act` must succeed. `expect_done` checks the result in both cases.
template <class Make, class Act, class Expect, class ExpectDone>
void refuse_each(Make make, Act act, Expect expect, ExpectDone expect_done) {
  for (const bool all_later : {false, true}) {
    int count = 0;
    for (bool is_done = false; !is_done; ++count) {
      SCOPED_TRACE(testing::Message() << "request " << count << (all_later ? " and all after it" : ""));
      auto object = make();
      const Status status = without_request(count, all_later, [&] { return act(*object); });
      is_done = refused_requests == 0;
      ASSERT_EQ(status, is_done ? Status::ok : Status::out_of_memory);
      if (!is_done) {
        ASSERT_NO_FATAL_FAILURE(expect(*object));
        ASSERT_EQ(act(*object), Status::ok) << "with memory again";
      }
      ASSERT_NO_FATAL_FAILURE(expect_done(*object));
    }
    EXPECT_GT(count, 1) << "the operation allocates no memory";
  }
}

std::vector<Description> some_models() {
  return {llama(), experts(true), delta_hybrid(true), mamba2_hybrid(),
          stored("quantized", {WeightFormat::q8_0, WeightFormat::q4_0, WeightFormat::f32})};
}

// A model with four tokens in its cache, and the next tokens.
struct Begun {
  explicit Begun(const TestModel& model) : cache(model) {
    Random random(1);
    for (int i = 0; i < 40; ++i) tokens.push_back(static_cast<int>(random.next_bits() % model.config().vocabulary_size));
    EXPECT_EQ(model.load_and_finish(weights), Status::ok);
    EXPECT_EQ(run(0, 4), Status::ok);
    forward = std::make_unique<Forward>();  // has no memory yet
  }

  Status run(int first, int count) { return forward->run(weights, cache.text(), tokens.data() + first, count); }
  std::vector<float> last_logits() {
    std::vector<float> logits(weights.config().vocabulary_size);
    EXPECT_EQ(forward->logits(weights, forward->tokens() - 1, 1, logits.data()), Status::ok);
    return logits;
  }

  Weights weights;
  ModelMemory cache;
  std::vector<int> tokens;
  std::unique_ptr<Forward> forward = std::make_unique<Forward>();
};

std::vector<float> expected_logits(const TestModel& model) {
  Begun begun(model);
  EXPECT_EQ(begun.run(4, 36), Status::ok);
  return begun.last_logits();
}

TEST_F(TransformerMemory, Load) {
  for (const Description& description : some_models()) {
    const TestModel model(description);
    const std::vector<float> expected = expected_logits(model);
    const auto make = [] { return std::make_unique<Weights>(); };
    const auto act = [&](Weights& weights) { return model.load_and_finish(weights); };
    refuse_each(
        make, act, [](Weights& weights) { EXPECT_FALSE(weights.is_finished()); },
        [&](Weights& weights) {
          Begun begun(model);
          ASSERT_EQ(begun.forward->run(weights, begun.cache.text(), begun.tokens.data() + 4, 36), Status::ok);
          EXPECT_EQ(begun.last_logits(), expected);
        });
  }
}

// The previous model stays complete.
TEST_F(TransformerMemory, ConfigureAnother) {
  const TestModel model(llama()), other(experts(true));
  const std::vector<float> expected = expected_logits(model);
  const std::vector<LayerConfig> layers = {other.layer_config(0), other.layer_config(1), other.layer_config(2)};
  refuse_each([&] { return std::make_unique<Begun>(model); },
              [&](Begun& begun) { return begun.weights.configure(other.config(), layers.data()); },
              [&](Begun& begun) {
                ASSERT_EQ(begun.run(4, 36), Status::ok);
                EXPECT_EQ(begun.last_logits(), expected);
              },
              [](Begun& begun) { EXPECT_FALSE(begun.weights.is_finished()); });
}

// Some matrices are packed, others not: all have the same numbers, and finish() continues from there.
TEST_F(TransformerMemory, Finish) {
  for (const Description& description : some_models()) {
    const TestModel model(description);
    const auto make = [&] {
      auto weights = std::make_unique<Weights>();
      EXPECT_EQ(model.load(*weights), Status::ok);
      return weights;
    };
    const auto expect = [&](Weights& weights) {
      const WeightMatrix& query = weights.layer(2)[LayerMatrix::query];
      std::vector<float> row(query.columns);
      read_row(query, 1, row.data());
      EXPECT_TRUE(std::equal(row.begin(), row.end(), model.matrix(2, LayerMatrix::query).values.begin() + query.columns));
    };
    refuse_each(
        make, [](Weights& weights) { return weights.finish(); }, expect, expect);
  }
}

TEST_F(TransformerMemory, Run) {
  for (const Description& description : some_models()) {
    const TestModel model(description);
    const std::vector<float> expected = expected_logits(model);
    const Snapshot before = snapshot_of(Begun(model).cache);
    const std::vector<float> state = Begun(model).cache.state();
    refuse_each([&] { return std::make_unique<Begun>(model); }, [](Begun& begun) { return begun.run(4, 36); },
                [&](Begun& begun) {
                  Snapshot after = snapshot_of(begun.cache);
                  after.planned = before.planned;  // KvCache::append may leave keys
                                                   // rotated for the longer length
                  EXPECT_TRUE(after == before);
                  EXPECT_EQ(begun.cache.state(), state);
                  EXPECT_EQ(begun.forward->tokens(), 0);
                },
                [&](Begun& begun) { EXPECT_EQ(begun.last_logits(), expected); });
  }
}

TEST_F(TransformerMemory, LogitsAndLosses) {
  const TestModel model(some_models().back());
  const std::vector<int> targets(36, 3);
  std::vector<double> losses(36);
  const auto make = [&] {
    auto begun = std::make_unique<Begun>(model);
    EXPECT_EQ(begun->run(4, 36), Status::ok);
    return begun;
  };
  const auto nothing = [](auto&) {};
  const auto measure = [&](Begun& begun) {
    Losses measured;
    return measured.measure(*begun.forward, begun.weights, 0, targets, losses.data());
  };
  ASSERT_EQ(measure(*make()), Status::ok);
  const std::vector<double> expected = losses;
  refuse_each(make, measure, nothing, [&](Begun&) { EXPECT_EQ(losses, expected); });
}

TEST_F(TransformerMemory, Sample) {
  const float logits[] = {0, 1, 2, 3, 4, 5};
  SamplerOptions options;
  options.temperature = 1e6;
  const auto make = [&] {
    auto sampler = std::make_unique<Sampler>();
    EXPECT_EQ(sampler->configure(options), Status::ok);
    sampler->seed(9);
    return sampler;
  };
  int token = -7;
  EXPECT_EQ(make()->sample(logits, 6, {}, nullptr, token), Status::ok);
  const int expected = token;
  token = -7;
  refuse_each(
      make, [&](Sampler& sampler) { return sampler.sample(logits, 6, {}, nullptr, token); }, [&](Sampler&) { EXPECT_EQ(token, -7); },
      [&](Sampler&) {
        EXPECT_EQ(token, expected);
        token = -7;
      });
}

}  // namespace
}  // namespace ropewalk
