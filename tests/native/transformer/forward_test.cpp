// The forward pass of every kind of model compared with double, for whole prompts and in pieces; and errors.
#include "transformer/forward.h"

#include <gtest/gtest.h>

#include "native/transformer/model_memory.h"
#include "native/transformer/transformer_oracle.h"

namespace ropewalk {
namespace {

// Relative to the largest logit. Three layers with some hundred f32 roundings each; measured: 2e-7 to 1e-6.
constexpr double kTolerance = 4e-6;

// With quantized weights, inputs are rounded to 1/254 of the largest in their group. Measured: 2.6e-2.
constexpr double kQuantizedTolerance = 5e-2;

// Equal except for the planned length of keys, which the next append corrects (KvCache::append).
bool same_tokens(Snapshot a, const Snapshot& b) {
  a.planned = b.planned;
  return a == b;
}

TEST(Forward, IsTheTransformer) {
  for (const Description& description : every_model()) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    ModelMemory cache(model);
    const std::vector<int> tokens = prompt(model, 19);
    const std::vector<float> logits = run(weights, cache, tokens, {19});
    const oracle::Rows exact = oracle::Transformer(model).logits(tokens);
    double largest = 0, worst = 0;
    std::size_t at = 0;
    for (const oracle::Row& row : exact) {
      for (const double logit : row) {
        largest = std::max(largest, std::fabs(logit));
        worst = std::max(worst, std::isnan(logits[at]) ? INFINITY : std::fabs(logits[at] - logit));
        ++at;
      }
    }
    const bool is_quantized = description.formats[0] == WeightFormat::q8_0;
    EXPECT_LE(worst, largest * (is_quantized ? kQuantizedTolerance : kTolerance)) << model.name();
  }
}

// Models whose mechanisms have no effect would show nothing: without any one of them, logits change by 1e-3 of the largest or more.
TEST(Forward, EveryMechanismMatters) {
  using Change = void (*)(Description&);
  const std::vector<std::pair<Description, Change>> changes = {
      {llama4(), [](Description& d) { d.layers[0].chunk = 0; }},
      {llama4(), [](Description& d) { d.layers[1].chunk = 9; }},
      {llama4(), [](Description& d) { d.layers[2].has_temperature = false; }},
      {llama4(), [](Description& d) { d.layers[0].has_unit_heads = false; }},
      {llama4(), [](Description& d) { d.config.temperature.offset = 0; }},
      {llama4(), [](Description& d) { d.config.routing.scales_input = false; }},
      {llama4(), [](Description& d) { d.rope_of[2] = 0; }},
      {gpt_oss(), [](Description& d) { d.config.gate_limit = 0.7f; }},
      {gpt_oss(), [](Description& d) { d.config.gate_slope = 1; }},
      {gpt_oss(), [](Description& d) { d.layers[1].window = 6; }},
      {latent(6), [](Description& d) { d.config.attention_scale = 0.4; }},
      {latent(6), [](Description& d) { d.config.latent_norm.epsilon = 1e-1f; }},
      {latent(0), [](Description& d) { d.rope.pairing = Pairing::half; }},
      {gemma4(), [](Description& d) { d.config.normalizes_values = false; }},
      {gemma4(), [](Description& d) { d.layers[3].keys_of = 0; }},
      {gemma4(), [](Description& d) { d.more_ropes[0].rope_theta = 10000; }},
      {gemma3n(0), [](Description& d) { d.config.per_layer.active_stream = 2; }},
      {gemma3n(0), [](Description& d) { d.layers[0].gate_deviations = 0.5f; }},
      {gemma3n(0), [](Description& d) { d.layers[2].keys_of = 1; }},
      {gpt2(), [](Description& d) { d.config.positions = 0; }},
      {lfm3(), [](Description& d) { d.config.attention_gate = AttentionGate::none; }},
      {lfm3(), [](Description& d) { d.config.attention_gate = AttentionGate::elements; }},
      {delta_hybrid(false), [](Description& d) { d.config.recurrence.is_tiled = true; }},
      {mamba2_hybrid(), [](Description& d) { d.config.recurrence.least_step = 0.6f; }},
      {mamba2_hybrid(), [](Description& d) { d.config.recurrence.largest_step = 0.9f; }},
      {mamba2_hybrid(), [](Description& d) { d.config.recurrence.norm_groups = 1; }},
      {pure_mamba(true), [](Description& d) { d.config.recurrence.select_norm_epsilon = 1e-1f; }},
      {mamba_hybrid(), [](Description& d) { d.vectors.pop_back(); }},
      {single_blocks(), [](Description& d) { d.config.recurrence.norms_before_gate = false; }},
      {rwkv(true), [](Description& d) { d.config.recurrence.removal_epsilon = 1e-1f; }},
      {rwkv(false), [](Description& d) { d.config.recurrence.head_norm_epsilon = 1e-1f; }},
      {rwkv(false), [](Description& d) { d.model_vectors.pop_back(); }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.attention_in = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.key = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.attention_out = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.gate = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.down = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.recurrent_in = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.recurrent_gate = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.recurrent_value = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.recurrent_key = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.recurrent_query = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.recurrent_step = 1; }},
      {parallel_mixers(), [](Description& d) { d.config.multipliers.recurrent_out = 1; }},
  };
  int index = 0;
  for (const auto& [description, change] : changes) {
    Description changed = description;
    change(changed);
    std::vector<std::vector<float>> logits;
    for (const Description& one : {description, changed}) {
      const TestModel model(one);
      const LoadedWeights weights(model);
      ModelMemory cache(model);
      logits.push_back(run(weights, cache, prompt(model, 19), {19}));
    }
    float largest = 0, difference = 0;
    for (std::size_t i = 0; i < logits[0].size(); ++i) {
      largest = std::max(largest, std::fabs(logits[0][i]));
      difference = std::max(difference, std::fabs(logits[0][i] - logits[1][i]));
    }
    EXPECT_GE(difference, 1e-3f * largest) << description.name << ", change " << index;
    ++index;
  }
}

// The weights with which the last token of a run reads each key, after a prompt and after one more token.
TEST(Forward, AttentionWeightsAreThoseOfTheTransformer) {
  for (const Description& description : every_float_model()) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    ModelMemory cache(model);
    const ModelConfig& c = model.config();
    const std::vector<int> tokens = prompt(model, 19);
    Forward forward;
    int before = 0;
    for (const int count : {18, 19}) {
      ASSERT_EQ(forward.run(weights, cache.text(), tokens.data() + before, count - before), Status::ok);
      before = count;
      const std::vector<oracle::Rows> exact = oracle::Transformer(model).attention_weights({tokens.begin(), tokens.begin() + count});
      for (int layer = 0; layer < c.layers; ++layer) {
        std::vector<float> read(c.heads * count, NAN);
        if (!model.layer_config(layer).has_attention) {
          ASSERT_EQ(forward.attention_weights(weights, cache, 0, layer, read.data()), Status::layer_out_of_range);
          continue;
        }
        ASSERT_EQ(forward.attention_weights(weights, cache, 0, layer, read.data()), Status::ok);
        for (int i = 0; i < c.heads * count; ++i) {
          const double expected = exact[layer][i / count][i % count];
          ASSERT_EQ(read[i] == 0, expected == 0) << model.name() << ", layer " << layer << ": a key is outside the mask or not";
          ASSERT_NEAR(read[i], expected, kTolerance) << model.name() << ", layer " << layer;
        }
      }
    }
    std::vector<float> read(c.heads * 19);
    for (const int layer : {-1, c.layers})
      EXPECT_EQ(forward.attention_weights(weights, cache, 0, layer, read.data()), Status::layer_out_of_range);
  }
}

// Layer by layer, with the weights of every token, and the bits of a run in one call.
TEST(Forward, InSteps) {
  for (const Description& description : every_float_model()) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    const ModelConfig& c = model.config();
    const std::vector<int> tokens = prompt(model, 19);
    ModelMemory cache(model), whole(model);
    Forward forward;
    const std::vector<float> expected = run(weights, whole, tokens, {5, 14});
    const std::vector<oracle::Rows> exact = oracle::Transformer(model).attention_weights(tokens);
    ASSERT_EQ(forward.run(weights, cache.text(), tokens.data(), 5), Status::ok);
    ASSERT_EQ(forward.begin(weights, cache.text(), tokens.data() + 5, 14), Status::ok);
    for (int layer = 0; layer < c.layers; ++layer) {
      ASSERT_EQ(forward.run_next_layer(), Status::ok);
      std::vector<float> read(c.heads * 19, NAN);
      if (!model.layer_config(layer).has_attention) {
        EXPECT_EQ(forward.attention_weights(13, read.data()), Status::layer_out_of_range);
        continue;
      }
      for (const int token : {-1, 14}) EXPECT_EQ(forward.attention_weights(token, read.data()), Status::token_count_out_of_range);
      ASSERT_EQ(forward.attention_weights(0, read.data()), Status::ok);  // reads 6 tokens
      ASSERT_EQ(forward.attention_weights(13, read.data()), Status::ok);
      for (int i = 0; i < c.heads * 19; ++i) ASSERT_NEAR(read[i], exact[layer][i / 19][i % 19], kTolerance) << model.name() << layer;
    }
    ASSERT_EQ(forward.end(), Status::ok);
    std::vector<float> logits(c.vocabulary_size);
    ASSERT_EQ(forward.logits(weights, 13, 1, logits.data()), Status::ok);
    EXPECT_TRUE(std::equal(logits.begin(), logits.end(), expected.end() - c.vocabulary_size)) << model.name();
    EXPECT_TRUE(snapshot_of(cache) == snapshot_of(whole)) << model.name();
    EXPECT_EQ(cache.state(), whole.state()) << model.name();

    ASSERT_EQ(forward.begin(weights, cache.text(), tokens.data(), 3), Status::ok);
    ASSERT_EQ(forward.run_next_layer(), Status::ok);
    forward.cancel();
    EXPECT_EQ(forward.tokens(), 0);
    EXPECT_TRUE(same_tokens(snapshot_of(cache), snapshot_of(whole))) << model.name();
    EXPECT_EQ(cache.state(), whole.state()) << model.name();
  }
}

// Token by token or in pieces, the bits equal those of the whole prompt: results don't depend on what else is in a run.
TEST(Forward, InAnyPieces) {
  for (const Description& description : every_model()) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    const std::vector<int> tokens = prompt(model, 23);
    ModelMemory whole(model);
    const std::vector<float> expected = run(weights, whole, tokens, {23});
    for (const std::vector<int>& pieces : {std::vector<int>(23, 1), {22, 1}, {1, 22}, {5, 1, 2, 8, 7}, {3, 4, 16}}) {
      ModelMemory cache(model);
      EXPECT_EQ(run(weights, cache, tokens, pieces), expected) << model.name() << ", " << pieces.size() << " pieces";
      EXPECT_TRUE(snapshot_of(cache) == snapshot_of(whole)) << model.name();
      EXPECT_EQ(cache.state(), whole.state()) << model.name();
    }
  }
}

TEST(Forward, KernelsGiveTheSameBits) {
  for (const Description& description : every_model()) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    const std::vector<int> tokens = prompt(model, 12);
    ModelMemory scalar(model), simd(model);
    EXPECT_EQ(run(weights, scalar, tokens, {11, 1}, kScalarMatmulKernels), run(weights, simd, tokens, {11, 1}, kWasmSimdMatmulKernels))
        << model.name();
  }
}

// The maximum number of tokens of a run, in either sequence of a cache.
TEST(Forward, TheLargestRun) {
  const TestModel model(llama());
  const LoadedWeights weights(model);
  ModelMemory cache(model, kForwardTokens + 1);
  const std::vector<int> tokens = prompt(model, kForwardTokens + 1);
  const std::vector<float> all = run(weights, cache, tokens, {kForwardTokens, 1}, fastest_matmul_kernels(), 1);
  EXPECT_EQ(cache.sequence(0).tokens(), 0);
  EXPECT_EQ(cache.sequence(1).tokens(), kForwardTokens + 1);
  EXPECT_EQ(run(weights, cache, tokens, {1, kForwardTokens}), all);
}

// Logits in parts, from an object that was used for another model before.
TEST(Forward, LogitsOfSomeTokens) {
  const TestModel large(gemma()), small(stored("quantized", {WeightFormat::q8_0}));
  Forward forward;
  for (const TestModel* model : {&large, &small}) {
    const LoadedWeights weights(*model);
    ModelMemory cache(*model), other(*model);
    const std::vector<int> tokens = prompt(*model, 7);
    const int size = model->config().vocabulary_size;
    const std::vector<float> all = run(weights, other, tokens, {7});
    ASSERT_EQ(forward.run(weights, cache.text(), tokens.data(), 7), Status::ok);
    for (const int first : {6, 0, 2}) {
      for (int count = 1; count <= 7 - first; ++count) {
        std::vector<float> logits(count * size + 1, -7);
        ASSERT_EQ(forward.logits(weights, first, count, logits.data()), Status::ok);
        ASSERT_TRUE(std::equal(logits.begin(), logits.end() - 1, all.begin() + first * size)) << first << ", " << count;
        ASSERT_EQ(logits.back(), -7);
      }
    }
    float none = -7;
    const int bad[][2] = {{-1, 1}, {0, 0}, {0, 8}, {7, 1}, {3, 5}, {0, -1}, {2147483647, 1}, {0, 2147483647}, {-2147483647, 2147483647}};
    for (const auto& [first, count] : bad) EXPECT_EQ(forward.logits(weights, first, count, &none), Status::token_count_out_of_range);
    EXPECT_EQ(none, -7);
  }
}

// The hidden states are the input of the head.
TEST(Forward, HiddenStatesAreNormalized) {
  const TestModel model(olmo());
  const LoadedWeights weights(model);
  ModelMemory cache(model);
  const std::vector<int> tokens = prompt(model, 5);
  Forward forward;
  ASSERT_EQ(forward.run(weights, cache.text(), tokens.data(), 5), Status::ok);
  const ModelConfig& c = model.config();
  for (int t = 0; t < 5; ++t) {
    double squares = 0;
    for (int i = 0; i < c.hidden_size; ++i) {
      const double x = forward.hidden()[t * c.hidden_size + i] / weights[ModelVector::final_norm][i];
      squares += x * x / c.hidden_size;
    }
    EXPECT_NEAR(squares, 1, 1e-4) << "mean of squares, slightly reduced by epsilon";
  }
}

// A refused run doesn't change the cache, gives no logits, and doesn't affect the next run.
class Refusal {
 public:
  explicit Refusal(const TestModel& model, int max_tokens = 200)
      : model_(model), weights_(model), cache_(model, max_tokens), tokens_(prompt(model, 9)) {
    EXPECT_EQ(forward_.run(weights_, cache_.text(), tokens_.data(), 4), Status::ok);
  }

  void expect(Status status, ModelMemory& cache, int sequence, const std::vector<int>& tokens, int count) {
    const Snapshot before = snapshot_of(cache);
    EXPECT_EQ(forward_.run(weights_, cache.text(sequence), tokens.data(), count), status);
    EXPECT_TRUE(snapshot_of(cache) == before) << "status " << static_cast<int>(status);
  }
  void expect(Status status, int sequence, const std::vector<int>& tokens, int count) { expect(status, cache_, sequence, tokens, count); }

  // The prompt continues as if nothing had happened.
  void expect_goes_on() {
    ModelMemory whole(model_);
    const std::vector<float> expected = run(weights_, whole, tokens_, {9});
    const std::vector<int> rest(tokens_.begin() + 4, tokens_.end());
    const std::vector<float> logits = run(weights_, cache_, rest, {5});
    EXPECT_TRUE(std::equal(logits.begin(), logits.end(), expected.end() - static_cast<std::ptrdiff_t>(logits.size())));
  }

  const std::vector<int>& tokens() const { return tokens_; }
  Forward& forward() { return forward_; }
  const Weights& weights() const { return weights_; }

 private:
  const TestModel& model_;
  LoadedWeights weights_;
  ModelMemory cache_;
  std::vector<int> tokens_;
  Forward forward_;
};

TEST(Forward, RefusesArguments) {
  const TestModel model(llama());
  Refusal refusal(model);
  for (const int bad : {-1, 29, 2147483647, -2147483647}) {
    for (const int at : {0, 1, 2}) {
      std::vector<int> tokens = {1, 2, 3};
      tokens[at] = bad;
      refusal.expect(Status::token_out_of_range, 0, tokens, 3);
    }
  }
  for (const int count : {0, -1, kForwardTokens + 1}) refusal.expect(Status::token_count_out_of_range, 0, refusal.tokens(), count);
  for (const int sequence : {-1, 2, 2147483647}) refusal.expect(Status::sequence_out_of_range, sequence, {1}, 1);
  refusal.expect_goes_on();
}

TEST(Forward, RefusesTheCacheOfAnotherModel) {
  const TestModel model(llama());
  Refusal refusal(model);
  for (const KvLayer& other : {KvLayer{1, 6, 0}, KvLayer{4, 6, 0}, KvLayer{2, 8, kNoRope}}) {
    for (int layer = 0; layer < 3; ++layer) {
      CacheSetup setup = model.cache_setup();
      setup.layers[layer] = other;
      ModelMemory cache(model, setup);
      refusal.expect(Status::cache_geometry, cache, 0, {1, 2}, 2);
    }
  }
  for (const int layers : {1, 2, 4}) {
    CacheSetup setup = model.cache_setup();
    setup.layers.resize(layers, setup.layers[0]);
    ModelMemory cache(model, setup);
    refusal.expect(Status::cache_geometry, cache, 0, {1, 2}, 2);
  }
  refusal.expect_goes_on();
}

// Layers with different numbers of tokens can't come from runs of a model.
TEST(Forward, RefusesACacheWhoseLayersDiffer) {
  const TestModel model(llama());
  Refusal refusal(model);
  ModelMemory cache(model);
  Tokens tokens(model.cache_setup().layers[0], 3, 1);
  ASSERT_EQ(cache.append(1, 0, tokens.without_queries()), Status::ok);
  refusal.expect(Status::cache_geometry, cache, 0, {1, 2}, 2);
}

TEST(Forward, AFullCacheRefusesTokensButKeepsItsOwn) {
  const TestModel model(llama());
  Refusal refusal(model, 9);
  refusal.expect(Status::cache_full, 0, {1, 2, 3, 4, 5, 6}, 6);
  std::vector<float> logits(29);
  EXPECT_EQ(refusal.forward().logits(refusal.weights(), 0, 1, logits.data()), Status::token_count_out_of_range);
  refusal.expect_goes_on();
}

// Keys of NaN are detected in their layer, when earlier layers already have the tokens.
TEST(Forward, DamagedWeightsInAnyLayer) {
  for (int layer = 0; layer < 3; ++layer) {
    TestModel model(llama());
    const LoadedWeights sound(model);
    ModelMemory cache(model), other(model);
    const std::vector<int> tokens = prompt(model, 40);
    std::vector<float> expected = run(sound, other, tokens, {40});
    expected.erase(expected.begin(), expected.begin() + 4 * model.config().vocabulary_size);
    run(sound, cache, {tokens.begin(), tokens.begin() + 4}, {4});
    const Snapshot before = snapshot_of(cache);
    model.set(layer, LayerMatrix::key, 7, NAN);
    const LoadedWeights damaged(model);
    Forward forward;
    EXPECT_EQ(forward.run(damaged, cache.text(), tokens.data(), 40), Status::key_not_finite) << "layer " << layer;
    EXPECT_TRUE(same_tokens(snapshot_of(cache), before)) << "layer " << layer;
    EXPECT_EQ(forward.tokens(), 0);
    EXPECT_EQ(run(sound, cache, {tokens.begin() + 4, tokens.end()}, {36}), expected) << "continues as if nothing had happened";
  }
}

}  // namespace
}  // namespace ropewalk
