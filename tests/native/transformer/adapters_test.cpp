// Adapters compared with models whose weights were changed by the same terms, and errors.
#include "matmul/low_rank.h"

#include <gtest/gtest.h>

#include "native/transformer/model_memory.h"
#include "native/transformer/transformer_oracle.h"

namespace ropewalk {
namespace {

// As in forward_test.cpp, of models that random terms make worse conditioned. Measured: up to 6.4e-6, where the model with the changed
// weights is off by 2.6e-6 itself (Falcon Mamba).
constexpr double kTolerance = 1.5e-5;

struct Term {
  std::array<int, 3> at;  // layer, slot, expert
  int rank;
  std::vector<float> a, b;
};

std::vector<float> random_floats(Random& random, int count, float spread) {
  std::vector<float> values(count);
  for (float& value : values) value = spread * (2 * static_cast<float>(random.next_bits() % 65536) / 65536 - 1);
  return values;
}

bool is_read_by_rows(const std::array<int, 3>& at) {
  const ModelMatrix slot = static_cast<ModelMatrix>(at[1]);
  return at[0] == kWholeModel &&
         (slot == ModelMatrix::embedding || slot == ModelMatrix::per_layer_embedding || slot >= ModelMatrix::positions);
}

// A term for every matrix that products read.
std::vector<Term> random_terms(const TestModel& model, std::uint32_t seed) {
  Random random(seed);
  std::vector<Term> terms;
  const std::vector<std::array<int, 3>> parts = model.all_parts();
  for (int i = 0; i < model.matrices(); ++i) {
    if (is_read_by_rows(parts[i])) continue;
    const TestMatrix& matrix = model.matrix(parts[i][0], parts[i][1], parts[i][2]);
    const int rank = 1 + static_cast<int>(random.next_bits() % 11);
    const float spread = 1 / std::sqrt(static_cast<float>(matrix.columns));
    terms.push_back(
        {parts[i], rank, random_floats(random, rank * matrix.columns, spread), random_floats(random, matrix.rows * rank, 0.2f)});
  }
  return terms;
}

Status add(Adapter& adapter, Weights& weights, const TestModel& model, const Term& term, float scale) {
  const TestMatrix& matrix = model.matrix(term.at[0], term.at[1], term.at[2]);
  const WeightMatrix* of = nullptr;
  if (const Status status = weights.find(term.at[0], term.at[1], term.at[2], of); status != Status::ok) return status;
  return adapter.add(*of, {0, matrix.rows}, term.rank, term.a.data(), term.b.data(), nullptr, scale);
}

// Adds scale · B A to the matrices of a model.
void merge(TestModel& model, const std::vector<Term>& terms, double scale) {
  for (const Term& term : terms) {
    const TestMatrix& matrix = model.matrix(term.at[0], term.at[1], term.at[2]);
    std::vector<float> changed = matrix.values;
    for (int row = 0; row < matrix.rows; ++row) {
      for (int column = 0; column < matrix.columns; ++column) {
        double sum = 0;
        for (int k = 0; k < term.rank; ++k) sum += static_cast<double>(term.b[row * term.rank + k]) * term.a[k * matrix.columns + column];
        changed[row * matrix.columns + column] += static_cast<float>(scale * sum);
      }
    }
    model.replace(term.at, changed);
  }
}

std::vector<float> run_with(Weights& weights, const TestModel& model, const std::vector<ScaledAdapter>& adapters,
                            const std::vector<int>& tokens, const std::vector<int>& pieces) {
  ModelMemory memory(model);
  Forward forward;
  EXPECT_EQ(forward.use_adapters(adapters), Status::ok);
  std::vector<float> logits;
  int done = 0;
  for (const int count : pieces) {
    EXPECT_EQ(forward.run(weights, memory.text(), tokens.data() + done, count), Status::ok);
    const std::size_t before = logits.size();
    logits.resize(before + static_cast<std::size_t>(count) * weights.config().vocabulary_size);
    EXPECT_EQ(forward.logits(weights, 0, count, logits.data() + before), Status::ok);
    done += count;
  }
  return logits;
}

double worst_difference(const std::vector<float>& logits, const oracle::Rows& exact) {
  double largest = 0, worst = 0;
  std::size_t at = 0;
  for (const oracle::Row& row : exact) {
    for (const double logit : row) {
      largest = std::max(largest, std::fabs(logit));
      const double difference = std::fabs(logits[at++] - logit);
      worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    }
  }
  return worst / largest;
}

// Two adapters on every matrix of every kind of model, at once.
TEST(Adapters, AreTheModelWithChangedWeights) {
  for (const Description& description : every_float_model()) {
    const TestModel model(description);
    LoadedWeights weights(model);
    TestModel merged(description);
    std::vector<Adapter> adapters(2);
    for (int i = 0; i < 2; ++i) {
      const std::vector<Term> terms = random_terms(model, 7 + i);
      ASSERT_EQ(adapters[i].resize(static_cast<int>(terms.size())), Status::ok);
      for (const Term& term : terms) ASSERT_EQ(add(adapters[i], weights, model, term, 0.5f), Status::ok) << model.name();
      merge(merged, terms, 0.5 * (i == 0 ? 0.25 : -0.5));
    }
    const std::vector<int> tokens = prompt(model, 19);
    const std::vector<ScaledAdapter> used = {{&adapters[0], 0.25f}, {&adapters[1], -0.5f}};
    const std::vector<float> logits = run_with(weights, model, used, tokens, {17, 1, 1});
    const double off = worst_difference(logits, oracle::Transformer(merged).logits(tokens));
    EXPECT_LE(off, kTolerance) << model.name();
    // without them it is another model
    EXPECT_GE(worst_difference(run_with(weights, model, {}, tokens, {19}), oracle::Transformer(merged).logits(tokens)), 1e-3)
        << model.name();
  }
}

// A scale of zero, and no adapters after some: the bits of the model alone.
TEST(Adapters, LeaveTheModelAsItWas) {
  const TestModel model(every_float_model()[0]);
  LoadedWeights weights(model);
  const std::vector<Term> terms = random_terms(model, 3);
  Adapter adapter;
  ASSERT_EQ(adapter.resize(static_cast<int>(terms.size())), Status::ok);
  for (const Term& term : terms) ASSERT_EQ(add(adapter, weights, model, term, 1), Status::ok);
  const std::vector<int> tokens = prompt(model, 9);
  const std::vector<float> alone = run_with(weights, model, {}, tokens, {9});
  EXPECT_EQ(run_with(weights, model, {{&adapter, 0}}, tokens, {9}), alone);
  EXPECT_NE(run_with(weights, model, {{&adapter, 1}}, tokens, {9}), alone);
  Forward forward;
  const ScaledAdapter used = {&adapter, 1};
  ASSERT_EQ(forward.use_adapters({&used, 1}), Status::ok);
  ASSERT_EQ(forward.use_adapters({}), Status::ok);
  ModelMemory memory(model);
  ASSERT_EQ(forward.run(weights, memory.text(), tokens.data(), 9), Status::ok);
  std::vector<float> logits(alone.size());
  ASSERT_EQ(forward.logits(weights, 0, 9, logits.data()), Status::ok);
  EXPECT_EQ(logits, alone);
}

// Two terms for parts of a matrix are one term for all of it, and a bias is added once for each token.
TEST(Adapters, HaveTermsForSomeRowsAndBiases) {
  const Description description = llama();
  const TestModel model(description);
  LoadedWeights weights(model);
  const WeightMatrix& head = weights.head();
  const int rows = model.config().vocabulary_size, columns = model.config().hidden_size;
  Random random(5);
  const std::vector<float> a = random_floats(random, 3 * columns, 0.3f), b = random_floats(random, rows * 3, 0.3f);
  const std::vector<float> bias = random_floats(random, rows, 1);
  Adapter whole, parts;
  ASSERT_EQ(whole.resize(1), Status::ok);
  ASSERT_EQ(parts.resize(2), Status::ok);
  ASSERT_EQ(whole.add(head, {0, rows}, 3, a.data(), b.data(), nullptr, 2), Status::ok);
  const int first = 5;
  ASSERT_EQ(parts.add(head, {first, rows - first}, 3, a.data(), b.data() + first * 3, bias.data() + first, 2), Status::ok);
  ASSERT_EQ(parts.add(head, {0, first}, 3, a.data(), b.data(), bias.data(), 2), Status::ok);
  const std::vector<int> tokens = prompt(model, 6);
  const std::vector<float> of_whole = run_with(weights, model, {{&whole, 0.5f}}, tokens, {6});
  const std::vector<float> of_parts = run_with(weights, model, {{&parts, 0.5f}}, tokens, {6});
  for (std::size_t i = 0; i < of_whole.size(); ++i) EXPECT_NEAR(of_parts[i], of_whole[i] + bias[i % rows], 2e-6);
}

// Its gate is a vector, of which a term is a matrix of one row.
TEST(Adapters, ChangeTheGateOfASharedExpert) {
  const Description description = shared_expert();
  const TestModel model(description);
  LoadedWeights weights(model);
  TestModel merged(description);
  const WeightMatrix* gate = nullptr;
  ASSERT_EQ(weights.find(1, kSharedExpertGate, 0, gate), Status::ok);
  const int columns = model.config().hidden_size;
  Random random(11);
  const std::vector<float> a = random_floats(random, 2 * columns, 0.7f), b = random_floats(random, 2, 1);
  Adapter adapter;
  ASSERT_EQ(adapter.resize(1), Status::ok);
  ASSERT_EQ(adapter.add(*gate, {0, 1}, 2, a.data(), b.data(), nullptr, 2), Status::ok);
  std::vector<float> changed = model.vector(1, LayerVector::shared_expert_gate);
  for (int i = 0; i < columns; ++i) changed[i] += 2 * (b[0] * a[i] + b[1] * a[columns + i]);
  merged.replace(1, LayerVector::shared_expert_gate, changed);
  const std::vector<int> tokens = prompt(model, 9);
  const oracle::Rows exact = oracle::Transformer(merged).logits(tokens);
  EXPECT_LE(worst_difference(run_with(weights, model, {{&adapter, 1}}, tokens, {7, 1, 1}), exact), kTolerance);
  EXPECT_GE(worst_difference(run_with(weights, model, {}, tokens, {9}), exact), 1e-4);
  EXPECT_EQ(weights.find(kWholeModel, kSharedExpertGate, 0, gate), Status::weight_slot_unknown);
}

TEST(Adapters, RefuseTermsThatDoNotFit) {
  const TestModel model(llama());
  LoadedWeights weights(model);
  const WeightMatrix& query = weights.layer(0)[LayerMatrix::query];
  const std::vector<float> a(10000), b(10000);
  Adapter adapter;
  ASSERT_EQ(adapter.resize(1), Status::ok);
  const auto status = [&](RowRange rows, int rank = 2) { return adapter.add(query, rows, rank, a.data(), b.data(), nullptr, 1); };
  EXPECT_EQ(status({1, query.rows}), Status::weight_shape);
  EXPECT_EQ(status({-1, 2}), Status::weight_shape);
  EXPECT_EQ(status({0, 0}), Status::weight_shape);
  EXPECT_EQ(status({0, query.rows}, 0), Status::weight_shape);
  EXPECT_EQ(status({0, query.rows}), Status::ok);
  EXPECT_EQ(status({0, query.rows}), Status::out_of_memory);  // no room
  EXPECT_EQ(adapter.terms_of(query).size(), 1u);
  EXPECT_TRUE(adapter.terms_of(weights.layer(1)[LayerMatrix::query]).empty());
}

TEST(Adapters, FindMatricesThatProductsRead) {
  const TestModel model(llama());
  LoadedWeights weights(model);
  const WeightMatrix* found = nullptr;
  const int query = static_cast<int>(LayerMatrix::query);
  EXPECT_EQ(weights.find(model.config().layers, query, 0, found), Status::layer_out_of_range);
  EXPECT_EQ(weights.find(0, kLayerMatrices + 1, 0, found), Status::weight_slot_unknown);
  EXPECT_EQ(weights.find(kWholeModel, static_cast<int>(ModelMatrix::embedding), 0, found), Status::weight_slot_unknown);
  EXPECT_EQ(weights.find(0, static_cast<int>(LayerMatrix::router), 0, found), Status::weight_missing);
  EXPECT_EQ(weights.find(0, query, 0, found), Status::ok);
  EXPECT_EQ(found, &weights.layer(0)[LayerMatrix::query]);
  EXPECT_EQ(weights.find(kWholeModel, static_cast<int>(ModelMatrix::head), 0, found), Status::ok);
  EXPECT_EQ(found, &weights.head());
}

}  // namespace
}  // namespace ropewalk
