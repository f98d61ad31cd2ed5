// Whole texts compared with double, in any company, and their vectors; and errors.
#include "transformer/whole_texts.h"

#include <gtest/gtest.h>

#include "native/transformer/transformer_oracle.h"
#include "transformer/text_vectors.h"

namespace ropewalk {
namespace whole_texts_test {

constexpr double kTolerance = 4e-6;  // relative to the largest element, as in forward_test

struct Texts : WholeTexts {
  explicit Texts(const TestModel& model) {
    const CacheSetup setup = model.cache_setup();
    EXPECT_EQ(configure(setup.layers, setup.ropes), Status::ok);
  }
};

struct LoadedWeights : Weights {
  explicit LoadedWeights(const TestModel& model) { EXPECT_EQ(model.load_and_finish(*this), Status::ok); }
};

std::vector<int> text(const TestModel& model, int count, int below) {
  Random random(static_cast<std::uint32_t>(count));
  std::vector<int> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<int>(random.next_bits() % std::min(below, model.config().vocabulary_size)));
  return tokens;
}

std::vector<float> hidden_of(const TestModel& model, const Weights& weights, const std::vector<int>& lengths) {
  Texts texts(model);
  std::vector<int> tokens, types;
  for (const int length : lengths) {
    for (const int token : text(model, length, 1 << 20)) tokens.push_back(token);
    for (const int type : text(model, length, 2)) types.push_back(type);
  }
  Forward forward;
  EXPECT_EQ(texts.begin(lengths, model.config().token_types > 0 ? types.data() : nullptr), Status::ok);
  EXPECT_EQ(forward.run(weights, texts, tokens.data()), Status::ok) << model.name();
  return {forward.hidden(), forward.hidden() + tokens.size() * model.config().hidden_size};
}

std::vector<Description> float_models_and_encoders() {
  std::vector<Description> all = every_float_model();
  for (const Description& encoder : {bert(), mpnet(), embedding_gemma2()}) all.push_back(encoder);
  return all;
}

TEST(WholeTexts, AreReadByTheTransformer) {
  for (const Description& description : float_models_and_encoders()) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    const std::vector<float> hidden = hidden_of(model, weights, {5, 1, 19});
    double largest = 0, worst = 0;
    std::size_t at = 0;
    for (const int length : {5, 1, 19}) {
      const std::vector<int> types = model.config().token_types > 0 ? text(model, length, 2) : std::vector<int>();
      for (const oracle::Row& row : oracle::Transformer(model).hidden(text(model, length, 1 << 20), types)) {
        for (const double exact : row) {
          largest = std::max(largest, std::fabs(exact));
          worst = std::max(worst, std::isnan(hidden[at]) ? INFINITY : std::fabs(hidden[at] - exact));
          ++at;
        }
      }
    }
    EXPECT_EQ(at, hidden.size());
    EXPECT_LE(worst, largest * kTolerance) << model.name();
  }
}

// More tokens than a block of the feed-forward layer, and texts of which each fills another part of it.
TEST(WholeTexts, HaveTheSameBitsInAnyCompany) {
  for (const Description& description : {llama(), bert()}) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    const std::vector<int> lengths(40, 17);
    const std::vector<float> together = hidden_of(model, weights, lengths), alone = hidden_of(model, weights, {17});
    for (std::size_t i = 0; i < together.size(); ++i) ASSERT_EQ(together[i], alone[i % alone.size()]) << model.name() << ' ' << i;
  }
}

// Rows that take a token's embedding away and add another one's make it the other token.
TEST(WholeTexts, ContinueRows) {
  for (const Description& description : {llama(), bert()}) {
    const TestModel model(description);
    const LoadedWeights weights(model);
    const int width = model.config().hidden_size, count = 11;
    const std::vector<int> tokens = text(model, count, 29);
    std::vector<float> rows(static_cast<std::size_t>(count) * width), own(width);
    for (int t = 0; t < count; ++t) {
      float* row = rows.data() + static_cast<std::size_t>(t) * width;
      read_row(weights.embedding(), tokens[t], row);
      read_row(weights.embedding(), 0, own.data());
      for (int i = 0; i < width; ++i) row[i] = model.config().embedding_scale * (row[i] - own[i]);
    }
    Texts texts(model);
    Forward forward;
    ASSERT_EQ(texts.begin(std::vector<int>{3, 8}, nullptr), Status::ok);
    ASSERT_EQ(forward.run(weights, texts, tokens.data()), Status::ok);
    const std::vector<float> hidden(forward.hidden(), forward.hidden() + rows.size());
    ASSERT_EQ(forward.run(weights, texts, std::vector<int>(count).data(), rows.data()), Status::ok);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(forward.hidden()[i], hidden[i], 1e-5) << model.name() << ' ' << i;
    std::fill(rows.begin(), rows.end(), 0.0f);
    ASSERT_EQ(forward.run(weights, texts, tokens.data(), rows.data()), Status::ok);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(forward.hidden()[i], hidden[i]) << model.name() << ' ' << i;
  }
}

// What a model makes of texts of 3 and 8 tokens.
struct TwoTexts {
  explicit TwoTexts(const TestModel& model) : weights(model), texts(model) {
    EXPECT_EQ(texts.begin(std::vector<int>{3, 8}, nullptr), Status::ok);
    EXPECT_EQ(forward.run(weights, texts, text(model, 11, 29).data()), Status::ok);
  }
  const LoadedWeights weights;
  Texts texts;
  Forward forward;
};

TEST(WholeTexts, BecomeVectors) {
  const TestModel model(bert());
  TwoTexts read(model);
  const auto& [weights, texts, forward] = read;
  TextVectors vectors;
  const int width = model.config().hidden_size;
  const float* hidden = forward.hidden() + 3 * width;
  std::vector<float> mean(2 * width), first(mean), last(mean), largest(mean);
  ASSERT_EQ(vectors.write(weights, texts, forward, Pooling::mean, false, mean.data()), Status::ok);
  ASSERT_EQ(vectors.write(weights, texts, forward, Pooling::cls, false, first.data()), Status::ok);
  ASSERT_EQ(vectors.write(weights, texts, forward, Pooling::last, false, last.data()), Status::ok);
  ASSERT_EQ(vectors.write(weights, texts, forward, Pooling::max, false, largest.data()), Status::ok);
  for (int i = 0; i < width; ++i) {
    double sum = 0;
    float most = hidden[i];
    for (int t = 0; t < 8; ++t) sum += hidden[t * width + i], most = std::max(most, hidden[t * width + i]);
    EXPECT_NEAR(mean[width + i], sum / 8, 1e-6);
    EXPECT_EQ(first[width + i], hidden[i]);
    EXPECT_EQ(last[width + i], hidden[7 * width + i]);
    EXPECT_EQ(largest[width + i], most);
  }
  std::vector<float> scores(2 * 5);
  EXPECT_EQ(TextVectors::size(model.config(), true), 5);
  ASSERT_EQ(vectors.write(weights, texts, forward, Pooling::cls, true, scores.data()), Status::ok);
  const auto dense = [&](int index) -> const TestMatrix& {
    return model.matrix(kWholeModel, static_cast<int>(ModelMatrix::dense_1) + index);
  };
  const auto bias = [&](ModelVector slot) { return model.vector(kWholeModel, static_cast<int>(slot)); };
  oracle::Row inner = oracle::times(dense(0), oracle::Row(hidden, hidden + width), bias(ModelVector::dense_1_bias));
  for (double& x : inner) x = std::tanh(x);
  const oracle::Row exact = oracle::times(dense(1), inner, bias(ModelVector::dense_2_bias));
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(scores[5 + i], exact[i], 1e-5);
}

// The largest element of the projected tokens isn't the projection of the largest elements.
TEST(WholeTexts, AreProjectedBeforeTheyArePooled) {
  const TestModel model(embedding_gemma2());
  TwoTexts read(model);
  const auto& [weights, texts, forward] = read;
  TextVectors vectors;
  const int width = model.config().hidden_size, size = 9;
  std::vector<float> largest(2 * size), mean(largest);
  ASSERT_EQ(vectors.write(weights, texts, forward, Pooling::max, true, largest.data()), Status::ok);
  ASSERT_EQ(vectors.write(weights, texts, forward, Pooling::mean, true, mean.data()), Status::ok);
  const TestMatrix& dense = model.matrix(ModelMatrix::dense_1);
  for (int i = 0; i < size; ++i) {
    double most = -INFINITY, sum = 0;
    for (int t = 3; t < 11; ++t) {
      const float* hidden = forward.hidden() + t * width;
      const double projected = oracle::times(dense, oracle::Row(hidden, hidden + width), {})[i];
      most = std::max(most, projected), sum += projected;
    }
    EXPECT_NEAR(largest[size + i], most, 1e-5);
    EXPECT_NEAR(mean[size + i], sum / 8, 1e-5);
  }
}

TEST(WholeTexts, Refuses) {
  const TestModel model(bert());
  const LoadedWeights weights(model);
  Texts texts(model);
  Forward forward;
  TextVectors vectors;
  std::vector<int> tokens(50, 1), types(50, 2), lengths = {0};
  EXPECT_EQ(forward.run(weights, texts, tokens.data()), Status::token_count_out_of_range);  // no texts
  EXPECT_EQ(texts.begin(lengths, nullptr), Status::token_count_out_of_range);
  EXPECT_EQ(texts.begin({}, nullptr), Status::token_count_out_of_range);
  lengths = {model.config().positions + 1};
  ASSERT_EQ(texts.begin(lengths, nullptr), Status::ok);
  EXPECT_EQ(forward.run(weights, texts, tokens.data()), Status::position_table_too_short);
  lengths = {3};
  ASSERT_EQ(texts.begin(lengths, types.data()), Status::ok);
  EXPECT_EQ(forward.run(weights, texts, tokens.data()), Status::token_out_of_range);
  ASSERT_EQ(texts.begin(lengths, nullptr), Status::ok);
  tokens[1] = model.config().vocabulary_size;
  EXPECT_EQ(forward.run(weights, texts, tokens.data()), Status::token_out_of_range);
  std::vector<float> out(100);
  EXPECT_EQ(vectors.write(weights, texts, forward, Pooling::mean, false, out.data()), Status::token_count_out_of_range);  // no run
  WholeTexts other;
  const KvLayer one[] = {{4, 6, 0}};
  EXPECT_EQ(other.configure({}, {}), Status::ok);  // a model without attention
  EXPECT_EQ(other.configure(one, {}), Status::cache_rope_unknown);
  ASSERT_EQ(other.configure(one, model.cache_setup().ropes), Status::ok);
  EXPECT_EQ(forward.run(weights, other, tokens.data()), Status::cache_geometry);
  ConfiguredCache cache(model.cache_setup());
  EXPECT_EQ(forward.run(weights, {&cache, 0, nullptr}, tokens.data(), 1), Status::cache_geometry);  // an encoder has no cache
}

}  // namespace whole_texts_test
}  // namespace ropewalk
