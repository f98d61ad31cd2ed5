// Compares a cache with its model.
#pragma once

#include <set>

#include "native/cache/kv_model.h"

namespace ropewalk {

// The largest error of any key as a share of its bound, for the test log.
inline double& worst_part() {
  static double worst = 0;
  return worst;
}

inline void expect_holds(const KvCache& cache, const KvModel& model, int sequence, int layer) {
  const ModelSequence& cached = model[sequence];
  const KeysAndValues read = read_all(cache, layer, sequence);
  std::size_t at = 0;
  double worst = 0;
  for (const ModelToken& token : cached.layers[layer]) {
    for (const ModelHead& head : token.heads) {
      for (std::size_t i = 0; i < head.stored.size(); ++i, ++at) {
        const double error = std::fabs(read.keys[at] - head.stored[i]);
        if (!(error <= head.error[i]) || read.values[at] != head.value[i]) {
          FAIL() << "sequence " << sequence << ", layer " << layer << ", slot " << &token - cached.layers[layer].data() << ", element " << i
                 << ": key " << read.keys[at] << " for " << head.stored[i] << " ± " << head.error[i] << ", value " << read.values[at]
                 << " for " << head.value[i];
        }
        if (error > worst * head.error[i]) worst = error / head.error[i];
      }
    }
  }
  worst_part() = std::max(worst_part(), worst);
}

// Compares lengths, positions, plans, memory, and all keys and values.
inline void expect_holds(const KvCache& cache, const KvModel& model) {
  std::set<const char*> pages;  // copies share theirs
  for (int index = 0; index < cache.sequences(); ++index) {
    const KvSequence& sequence = cache.sequence(index);
    const ModelSequence& cached = model[index];
    ASSERT_EQ(sequence.tokens(), static_cast<int>(cached.positions.size())) << "sequence " << index;
    ASSERT_EQ(sequence.largest_position(), cached.largest_position()) << "sequence " << index;
    for (int slot = 0; slot < sequence.tokens(); ++slot) {
      for (int axis = 0; axis < cache.geometry().axes(); ++axis) ASSERT_EQ(sequence.position(axis, slot), cached.positions[slot][axis]);
    }
    for (int rope = 0; rope < cache.ropes(); ++rope) ASSERT_EQ(sequence.planned_length(rope), cached.planned) << "sequence " << index;
    for (int layer = 0; layer < cache.geometry().layers(); ++layer) {
      ASSERT_EQ(sequence.written(layer), static_cast<int>(cached.layers[layer].size())) << "sequence " << index << ", layer " << layer;
      ASSERT_NO_FATAL_FAILURE(expect_holds(cache, model, index, layer));
    }
    ASSERT_EQ(sequence.pages(), (sequence.tokens() + kBlockTokens - 1) / kBlockTokens);
    pages.insert(sequence.page_list(), sequence.page_list() + sequence.pages());
  }
  ASSERT_EQ(cache.bytes(), static_cast<double>(pages.size() * cache.geometry().page_bytes()));
}

// Reference attention in double precision: one query head over keys [tokens][dim].
inline std::vector<double> attention_by_hand(const std::vector<double>& query, const std::vector<std::vector<double>>& keys,
                                             const std::vector<std::vector<float>>& values, double scale) {
  std::vector<double> weights;
  double largest = -INFINITY, sum = 0;
  for (const auto& key : keys) {
    double score = 0;
    for (std::size_t i = 0; i < query.size(); ++i) score += query[i] * key[i];
    weights.push_back(score * scale);
    largest = std::max(largest, weights.back());
  }
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  std::vector<double> out(query.size(), 0);
  for (std::size_t n = 0; n < keys.size(); ++n) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += weights[n] / sum * values[n][i];
  }
  return out;
}

// Attends with random queries for the `count` newest tokens of a sequence, and compares with reference attention over the keys of the
// model. A score is off by at most `error`: the error of its key plus the f32 rounding of the sum. So a weight is off by a factor within
// e^±2error.
inline void expect_attends(KvCache& cache, const KvModel& model, int sequence, int layer, int count, std::uint32_t seed) {
  const ModelSequence& cached = model[sequence];
  const KvLayer& shape = model.setup().layers[layer];
  const int tokens = static_cast<int>(cached.layers[layer].size()), heads = 2 * shape.kv_heads, dim = shape.head_dim;
  const bool has_rope = shape.rope != kNoRope;
  const FrequencyPlan plan = has_rope ? model.plan(sequence, shape.rope) : FrequencyPlan{};
  const double scale = has_rope ? plan.softmax_scale : 1 / std::sqrt(static_cast<double>(dim));

  std::vector<PairRow> key_rows;
  for (int slot = 0; has_rope && slot < tokens; ++slot) key_rows.push_back(pair_row(plan, cached.positions[slot], Role::key));
  GuardedTensor q(DType::f32, Layout::bhtd, {1, count, heads, dim});
  q.fill(seed);
  for (int token = 0; token < count; ++token) {
    const int slot = tokens - count + token;
    const PairRow row = has_rope ? pair_row(plan, cached.positions[slot], Role::query) : PairRow{};
    for (int head = 0; has_rope && head < heads; ++head) {
      std::vector<float> query;
      for (int i = 0; i < dim; ++i) query.push_back(static_cast<float>(q.value(q.index(0, token, head, i))));
      const std::vector<double> rotated_query = rotated(query.data(), plan, row);
      for (int i = 0; i < dim; ++i) q.set_bits(q.index(0, token, head, i), oracle::encode(rotated_query[i], DType::f32));
    }
  }
  GuardedTensor out(DType::f32, Layout::bhtd, q.shape());
  AttentionOptions options;
  options.scale = seed % 2 == 0 ? NAN : scale;  // default scale, or given
  ASSERT_EQ(cache.attend(layer, sequence, q.into(out), options), Status::ok);
  for (int head = 0; head < heads; ++head) {
    std::vector<std::vector<double>> keys;
    std::vector<std::vector<float>> values;
    double largest_value = 0;
    for (int slot = 0; slot < tokens; ++slot) {
      const ModelHead& stored = cached.layers[layer][slot].heads[head / 2];
      const std::vector<float> raw(stored.stored.begin(), stored.stored.end());
      const bool rotates_now = has_rope && model.setup().mode == KeyMode::raw;
      keys.push_back(rotates_now ? rotated(raw.data(), plan, key_rows[slot]) : stored.stored);
      values.push_back(stored.value);
      for (const float value : stored.value) largest_value = std::max<double>(largest_value, std::fabs(value));
    }
    for (int token = 0; token < count; ++token) {
      std::vector<double> query;
      for (int i = 0; i < dim; ++i) query.push_back(static_cast<double>(q.value(q.index(0, token, head, i))));
      const int seen = tokens - count + token + 1;
      keys.resize(tokens);
      double error = 0;
      for (int slot = 0; slot < seen; ++slot) {
        const std::vector<double>& key_error = cached.layers[layer][slot].heads[head / 2].error;
        double sum = 0;
        for (int i = 0; i < dim; ++i) sum += std::fabs(query[i]) * (key_error[i] + std::fabs(keys[slot][i]) * 0x1p-19);
        error = std::max(error, sum * scale);
      }
      const std::vector<double> expected = attention_by_hand(query, {keys.begin(), keys.begin() + seen}, values, scale);
      for (int i = 0; i < dim; ++i) {
        ASSERT_NEAR(static_cast<double>(out.value(out.index(0, token, head, i))), expected[i],
                    (std::expm1(2 * error) + 0x1p-20) * largest_value)
            << "sequence " << sequence << ", layer " << layer << ", head " << head << ", query " << token << " of " << count;
      }
    }
  }
}

}  // namespace ropewalk
