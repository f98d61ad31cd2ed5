// Runs models on texts, with what they remember of them: a cache, and the states of recurrent layers.
#pragma once

#include "native/transformer/transformer_model.h"
#include "transformer/forward.h"

namespace ropewalk {

struct ModelMemory : ConfiguredCache {
  explicit ModelMemory(const TestModel& model, int max_tokens = 200) : ModelMemory(model, model.cache_setup(max_tokens)) {}
  ModelMemory(const TestModel& model, const CacheSetup& setup) : ConfiguredCache(setup), has_states(model.is_recurrent()) {
    if (has_states) {
      EXPECT_EQ(states.configure(model.state_sizes(), 2), Status::ok);
    }
  }

  TextMemory text(int sequence = 0) { return {this, sequence, has_states ? &states : nullptr}; }

  // The numbers of all states.
  std::vector<float> state() const {
    std::vector<float> all;
    for (int layer = 0; layer < states.layers(); ++layer)
      all.insert(all.end(), states.from(layer), states.from(layer) + states.size(layer));
    return all;
  }

  bool has_states;
  RecurrentState states;
};

struct LoadedWeights : Weights {
  explicit LoadedWeights(const TestModel& model) { EXPECT_EQ(model.load_and_finish(*this), Status::ok); }
};

inline std::vector<int> prompt(const TestModel& model, int count, std::uint32_t seed = 5) {
  Random random(seed);
  std::vector<int> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<int>(random.next_bits() % model.config().vocabulary_size));
  return tokens;
}

// Runs tokens in pieces and returns the logits of all of them.
inline std::vector<float> run(const Weights& weights, ModelMemory& cache, const std::vector<int>& tokens, const std::vector<int>& pieces,
                              const MatmulKernels& kernels = fastest_matmul_kernels(), int sequence = 0) {
  Forward forward;
  forward.use_kernels(kernels);
  std::vector<float> logits;
  int done = 0;
  for (const int count : pieces) {
    EXPECT_EQ(forward.run(weights, cache.text(sequence), tokens.data() + done, count), Status::ok);
    EXPECT_EQ(forward.tokens(), count);
    const std::size_t before = logits.size();
    logits.resize(before + count * weights.config().vocabulary_size, NAN);
    EXPECT_EQ(forward.logits(weights, 0, count, logits.data() + before), Status::ok);
    done += count;
  }
  EXPECT_EQ(done, static_cast<int>(tokens.size()));
  return logits;
}

}  // namespace ropewalk
