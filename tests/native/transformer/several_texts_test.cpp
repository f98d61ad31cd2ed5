// Several texts in one run: each has the bits that it has alone. A failure changes none of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "native/transformer/model_memory.h"
#include "native/transformer/transformer_oracle.h"

namespace ropewalk {
namespace several_texts_test {

// Equal except for the planned length of keys, which the next append corrects (KvCache::append).
bool same_tokens(Snapshot a, const Snapshot& b) {
  a.planned = b.planned;
  return a == b;
}

// Texts of different lengths in one run: each gets the bits it gets alone, and so do its keys and states.
TEST(ForwardOfTexts, SeveralTexts) {
  for (const Description& description : every_model()) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    const int vocabulary = model.config().vocabulary_size;
    const std::vector<std::vector<int>> pieces = {{1, 1, 1}, {7, 1, 2}, {3, 5, 1}, {12, 1, 1}};
    std::vector<std::unique_ptr<ModelMemory>> alone, together;
    std::vector<std::vector<int>> tokens;
    std::vector<std::vector<float>> expected;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      tokens.push_back(prompt(model, pieces[i][0] + pieces[i][1] + pieces[i][2], static_cast<std::uint32_t>(i)));
      alone.push_back(std::make_unique<ModelMemory>(model));
      together.push_back(std::make_unique<ModelMemory>(model));
      expected.push_back(run(weights, *alone[i], tokens[i], pieces[i]));
    }
    Forward forward;
    std::vector<int> done(pieces.size());
    for (int step = 0; step < 3; ++step) {
      std::vector<TextTokens> texts;
      for (std::size_t i = 0; i < pieces.size(); ++i) texts.push_back({together[i]->text(), tokens[i].data() + done[i], pieces[i][step]});
      ASSERT_EQ(forward.run(weights, texts), Status::ok) << model.name();
      std::vector<float> logits(static_cast<std::size_t>(forward.tokens()) * vocabulary);
      ASSERT_EQ(forward.logits(weights, 0, forward.tokens(), logits.data()), Status::ok);
      std::vector<std::vector<float>> last(pieces.size(), std::vector<float>(vocabulary));
      std::vector<float*> outs;
      for (std::vector<float>& row : last) outs.push_back(row.data());
      ASSERT_EQ(forward.last_logits(weights, outs.data()), Status::ok);
      auto row = logits.begin();
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto before = expected[i].begin() + done[i] * vocabulary, after = before + pieces[i][step] * vocabulary;
        EXPECT_TRUE(std::equal(before, after, row)) << model.name() << ", text " << i << ", step " << step;
        EXPECT_TRUE(std::equal(last[i].begin(), last[i].end(), after - vocabulary)) << model.name() << ", text " << i;
        row += pieces[i][step] * vocabulary;
        done[i] += pieces[i][step];
      }
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_TRUE(snapshot_of(*together[i]) == snapshot_of(*alone[i])) << model.name() << ", text " << i;
      EXPECT_EQ(together[i]->state(), alone[i]->state()) << model.name() << ", text " << i;
    }
  }
}

// A text that fails leaves the memories of all texts as they were.
TEST(ForwardOfTexts, SeveralTextsOfWhichOneFails) {
  for (const Description& description : every_float_model()) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    ModelMemory first(model), second(model), full(model, 4);
    const std::vector<int> tokens = prompt(model, 12);
    Forward forward;
    for (ModelMemory* memory : {&first, &second, &full}) ASSERT_EQ(forward.run(weights, memory->text(), tokens.data(), 4), Status::ok);
    const auto before = snapshot_of(first);
    const std::vector<float> state = first.state();
    const int bad = model.config().vocabulary_size;
    const auto status_of = [&](std::vector<TextTokens> texts) { return forward.run(weights, texts); };
    const TextTokens good = {first.text(), tokens.data() + 4, 3};
    std::vector<float> logits(model.config().vocabulary_size);
    float* const out = logits.data();
    EXPECT_EQ(status_of({good, {second.text(), &bad, 1}}), Status::token_out_of_range);
    EXPECT_EQ(forward.last_logits(weights, &out), Status::token_count_out_of_range);
    EXPECT_EQ(status_of({good, {second.text(), tokens.data(), 0}}), Status::token_count_out_of_range);
    EXPECT_EQ(status_of({good, {second.text(), tokens.data(), kForwardTokens - 2}}), Status::token_count_out_of_range);
    EXPECT_EQ(status_of({}), Status::token_count_out_of_range);
    EXPECT_EQ(status_of({good, good}), Status::cache_geometry) << "the same memory twice";
    EXPECT_EQ(status_of({good, {second.text(2), tokens.data(), 1}}), Status::sequence_out_of_range);
    if (weights.cache_layers() > 0) {
      EXPECT_NE(status_of({good, {full.text(), tokens.data(), 1}}), Status::ok) << "no room for the second";
    }
    EXPECT_TRUE(same_tokens(snapshot_of(first), before)) << model.name();
    EXPECT_EQ(first.state(), state) << model.name();
    ASSERT_EQ(status_of({good}), Status::ok);
  }
}

}  // namespace several_texts_test
}  // namespace ropewalk
