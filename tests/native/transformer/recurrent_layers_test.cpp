// Runs of models with recurrent layers and the states that they remember. forward_test.cpp compares the numbers.
#include "native/transformer/model_memory.h"
#include "native/transformer/transformer_models.h"

namespace ropewalk {
namespace {

TEST(RecurrentLayers, RefuseTheStatesOfAnotherModel) {
  for (const Description& description : every_recurrent_model()) {
    SCOPED_TRACE(description.name);
    const TestModel model(description);
    const LoadedWeights weights(model);
    ModelMemory memory(model), other(model);
    const std::vector<int> tokens = prompt(model, 9);
    std::vector<float> expected = run(weights, other, tokens, {9});
    expected.erase(expected.begin(), expected.begin() + 4 * model.config().vocabulary_size);
    run(weights, memory, {tokens.begin(), tokens.begin() + 4}, {4});
    const Snapshot before = snapshot_of(memory);
    const std::vector<float> state = memory.state();

    std::vector<std::size_t> sizes = model.state_sizes();
    RecurrentState smaller, fewer, empty;
    ASSERT_EQ(empty.configure(sizes, 1), Status::ok);  // has seen fewer tokens than the cache
    sizes[0] -= 1;
    ASSERT_EQ(smaller.configure(sizes, 1), Status::ok);
    sizes = model.state_sizes(), sizes.pop_back();
    ASSERT_EQ(fewer.configure(sizes, 1), Status::ok);
    std::vector<RecurrentState*> others = {nullptr, &smaller, &fewer};
    if (memory.geometry().layers() > 0) others.push_back(&empty);
    for (RecurrentState* states : others) {
      Forward forward;
      EXPECT_EQ(forward.run(weights, {&memory, 0, states}, tokens.data() + 4, 5), Status::cache_geometry);
      EXPECT_EQ(forward.tokens(), 0);
      EXPECT_TRUE(snapshot_of(memory) == before);
    }
    EXPECT_EQ(memory.state(), state);
    EXPECT_EQ(memory.states.tokens(), 4);
    EXPECT_EQ(run(weights, memory, {tokens.begin() + 4, tokens.end()}, {5}), expected) << "continues as if nothing had happened";
  }
}

TEST(RecurrentLayers, KeepTheirStatesIfARunFails) {
  TestModel model(delta_hybrid(false));
  const LoadedWeights sound(model);
  ModelMemory memory(model), other(model);
  const std::vector<int> tokens = prompt(model, 20);
  std::vector<float> expected = run(sound, other, tokens, {20});
  expected.erase(expected.begin(), expected.begin() + 4 * model.config().vocabulary_size);
  run(sound, memory, {tokens.begin(), tokens.begin() + 4}, {3, 1});
  const std::vector<float> before = memory.state();
  model.set(2, LayerMatrix::key, 7, NAN);
  const LoadedWeights damaged(model);
  Forward forward;
  EXPECT_EQ(forward.run(damaged, memory.text(), tokens.data() + 4, 16), Status::key_not_finite);
  EXPECT_EQ(memory.state(), before);
  EXPECT_EQ(memory.states.tokens(), 4);
  EXPECT_EQ(run(sound, memory, {tokens.begin() + 4, tokens.end()}, {16}), expected) << "continues as if nothing had happened";
}

// Without keys, only the sum of the layers shows a damaged weight: products of quantized inputs hide it.
TEST(RecurrentLayers, DamagedWeightsInAnyLayer) {
  for (const LayerMatrix matrix : {LayerMatrix::recurrent_in, LayerMatrix::recurrent_out}) {
    TestModel model(pure_mamba(false));
    const LoadedWeights sound(model);
    ModelMemory memory(model), other(model);
    const std::vector<int> tokens = prompt(model, 12);
    std::vector<float> expected = run(sound, other, tokens, {12});
    expected.erase(expected.begin(), expected.begin() + 4 * model.config().vocabulary_size);
    run(sound, memory, {tokens.begin(), tokens.begin() + 4}, {4});
    const std::vector<float> before = memory.state();
    model.set(0, matrix, 7, NAN);
    const LoadedWeights damaged(model);
    Forward forward;
    EXPECT_EQ(forward.run(damaged, memory.text(), tokens.data() + 4, 8), Status::hidden_not_finite);
    EXPECT_EQ(forward.tokens(), 0);
    EXPECT_EQ(memory.state(), before);
    EXPECT_EQ(run(sound, memory, {tokens.begin() + 4, tokens.end()}, {8}), expected) << "continues as if nothing had happened";
  }
}

// A refused call writes nothing, so the state before the last call is still known.
TEST(RecurrentLayers, KeepTheStateBeforeTheLastCallIfACallIsRefused) {
  const TestModel model(pure_mamba(false));
  const LoadedWeights weights(model);
  ModelMemory memory(model);
  const std::vector<int> tokens = prompt(model, 9), bad = {1, model.config().vocabulary_size, -1};
  run(weights, memory, tokens, {4, 5});
  Forward forward;
  EXPECT_EQ(forward.run(weights, memory.text(), bad.data(), 2), Status::token_out_of_range);
  EXPECT_EQ(forward.run(weights, memory.text(), bad.data() + 2, 1), Status::token_out_of_range);
  EXPECT_EQ(forward.run(weights, memory.text(), tokens.data(), 0), Status::token_count_out_of_range);
  EXPECT_EQ(memory.states.rewind(8), 4);
}

// From the last known state, a text gives the bits that it gave before.
TEST(RecurrentLayers, ReadARewoundTextAgain) {
  for (const Description& description : every_recurrent_model()) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    ModelMemory memory(model), other(model);
    const std::vector<int> tokens = prompt(model, 20);
    const std::vector<float> expected = run(weights, other, tokens, {20});
    run(weights, memory, {tokens.begin(), tokens.begin() + 9}, {9});
    ASSERT_EQ(memory.states.keep(), Status::ok);
    run(weights, memory, std::vector<int>(8, 3), {5, 3});
    for (const int to : {15, 11, 5}) {  // the state before the last call, a checkpoint, and an empty text
      const int known = memory.states.rewind(to);
      ASSERT_EQ(known, to == 15 ? 14 : to == 11 ? 9 : 0);
      memory.truncate(0, known);
      if (known == 14) continue;
      const std::vector<float> logits = run(weights, memory, {tokens.begin() + known, tokens.end()}, {20 - known});
      EXPECT_TRUE(std::equal(logits.begin(), logits.end(), expected.end() - static_cast<std::ptrdiff_t>(logits.size()))) << model.name();
    }
  }
}

}  // namespace
}  // namespace ropewalk
