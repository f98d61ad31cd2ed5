// Attention of the reference transformer for whole prompts: every head has keys and values, nothing is cached or absorbed.
#pragma once

#include "native/transformer/oracle_math.h"

namespace ropewalk::oracle {

// Queries, and keys and values, of all tokens by head: [tokens][heads][elements].
using Heads = std::vector<Rows>;

class AttentionOracle {
 public:
  explicit AttentionOracle(const TestModel& model)
      : model_(model), c_(model.config()), keys_(c_.layers), values_(c_.layers), weights_(c_.layers) {}

  // The output for all tokens of a layer, whose inputs are [tokens][hidden_size]. Layers must be called in order.
  Rows attend(int layer, const Rows& unscaled) {
    const Rows inputs = scaled(unscaled, c_.multipliers.attention_in);
    const LayerConfig& l = model_.layer_config(layer);
    Heads queries = c_.latent.latent > 0 ? project_latent(layer, inputs) : project(layer, inputs);
    const int owner = l.keys_of == kOwnKeys ? layer : l.keys_of;
    Rows out;
    for (int t = 0; t < static_cast<int>(inputs.size()); ++t) {
      Row attended;
      weights_[layer].clear();
      for (int head = 0; head < c_.heads; ++head) {
        scale_by_temperature(layer, t, queries[t][head]);
        weights_[layer].push_back(weights_of(layer, owner, t, head, queries[t][head]));
        const Row sum = weighted(weights_[layer].back(), values_[owner], head);
        attended.insert(attended.end(), sum.begin(), sum.end());
      }
      if (c_.attention_gate != AttentionGate::none) {
        const std::vector<float>& bias = model_.vector(layer, LayerVector::attention_gate_bias);
        const Row gates = times(model_.matrix(layer, LayerMatrix::attention_gate), inputs[t], bias);
        const std::size_t span = attended.size() / gates.size();
        for (std::size_t i = 0; i < attended.size(); ++i) attended[i] *= sigmoid(gates[i / span]);
      }
      attended = normalized(c_.norm, attended, model_.vector(layer, LayerVector::attention_sub_norm));
      out.push_back(times(model_.matrix(layer, LayerMatrix::output), attended, model_.vector(layer, LayerVector::output_bias)));
    }
    return scaled(out, c_.multipliers.attention_out);
  }

  // The weights of a layer's last token, [heads][tokens].
  const Rows& last_weights(int layer) const { return weights_[layer]; }

 private:
  // Queries and keys by head, normalized and rotated, and values.
  Heads project(int layer, const Rows& inputs) {
    const LayerConfig& l = model_.layer_config(layer);
    const int dim = model_.head_dim(layer), kv_heads = model_.kv_heads(layer);
    Heads queries;
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      const int position = static_cast<int>(t);
      const auto row = [&](LayerMatrix matrix, LayerVector bias) {
        return times(model_.matrix(layer, matrix), inputs[t], model_.vector(layer, bias));
      };
      queries.push_back(placed(layer, row(LayerMatrix::query, LayerVector::query_bias), LayerVector::query_norm, c_.heads, position));
      if (l.keys_of != kOwnKeys) continue;
      const Row key = row(LayerMatrix::key, LayerVector::key_bias);
      keys_[layer].push_back(placed(layer, scaled(key, c_.multipliers.key), LayerVector::key_norm, kv_heads, position));
      values_[layer].push_back(split(l.values_are_keys ? key : row(LayerMatrix::value, LayerVector::value_bias), dim));
      for (Row& value : values_[layer].back()) {
        if (c_.normalizes_values) normalize_span(c_.norm, value.data(), dim, nullptr, {});
      }
    }
    return queries;
  }

  // DeepSeek-V2, equations 9 to 19 of arXiv:2405.04434: a key is W_UK c of its own head and a rotated part that all heads share.
  Heads project_latent(int layer, const Rows& inputs) {
    const LatentConfig& s = c_.latent;
    Heads queries;
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      const int position = static_cast<int>(t);
      Row input = inputs[t];
      if (s.query > 0) {
        input = times(model_.matrix(layer, LayerMatrix::query_latent), input);
        input = normalized(c_.latent_norm, input, model_.vector(layer, LayerVector::query_latent_norm));
      }
      queries.push_back(split(times(model_.matrix(layer, LayerMatrix::query), input, {}), s.plain + s.rotated));
      for (Row& query : queries.back()) rotate(layer, query.data() + s.plain, position);

      const Row both = times(model_.matrix(layer, LayerMatrix::latent), inputs[t]);
      const Row latent =
          normalized(c_.latent_norm, {both.begin(), both.begin() + s.latent}, model_.vector(layer, LayerVector::latent_norm));
      Row shared(both.begin() + s.latent, both.end());
      rotate(layer, shared.data(), position);
      keys_[layer].emplace_back();
      values_[layer].emplace_back();
      for (int head = 0; head < c_.heads; ++head) {
        const TestMatrix& up = model_.matrix(layer, LayerMatrix::key_up, head);  // W_UK of the head, stored as [latent][plain]
        Row key(s.plain, 0);
        for (int r = 0; r < s.latent; ++r) {
          for (int i = 0; i < s.plain; ++i) key[i] += up.values[r * s.plain + i] * latent[r];
        }
        key.insert(key.end(), shared.begin(), shared.end());
        keys_[layer].back().push_back(key);
        values_[layer].back().push_back(times(model_.matrix(layer, LayerMatrix::value_up, head), latent));
      }
    }
    return queries;
  }

  static Rows split(const Row& row, int dim) {
    Rows heads;
    for (std::size_t at = 0; at < row.size(); at += dim) heads.emplace_back(row.begin() + at, row.begin() + at + dim);
    return heads;
  }

  // The heads of a row of queries or keys, normalized and rotated.
  Rows placed(int layer, Row row, LayerVector norm, int count, int position) const {
    const std::vector<float>& weight = model_.vector(layer, norm);
    const int dim = model_.head_dim(layer);
    if (c_.query_key_norm == QueryKeyNorm::all_heads) normalize_span(c_.norm, row.data(), count * dim, weight.data(), {});
    Rows heads = split(row, dim);
    for (int head = 0; head < count; ++head) {
      double* span = heads[head].data();
      if (c_.query_key_norm == QueryKeyNorm::head) normalize_span(c_.norm, span, dim, weight.data(), {});
      if (c_.query_key_norm == QueryKeyNorm::each_head) normalize_span(c_.norm, span, dim, weight.data() + head * dim, {});
      rotate(layer, span, position);
      if (c_.query_key_norm == QueryKeyNorm::rotated) normalize_span(c_.norm, span, dim, weight.data(), {});
      if (model_.layer_config(layer).has_unit_heads) normalize_span(c_.norm, span, dim, nullptr, {});
    }
    return heads;
  }

  void rotate(int layer, double* span, int position) const {
    if (model_.rope(layer) == nullptr) return;
    const RopeConfig& rope = *model_.rope(layer);
    const int dim = resolved_rotary_dim(rope), pairs = dim / 2;
    std::vector<Real> angles = plain(rope.rope_theta, dim, pairs);
    for (Real& angle : angles) angle *= position;
    const std::vector<Real> rotated = rotate_by({span, span + dim}, angles, 1, rope.pairing, rope.pairing);
    std::copy(rotated.begin(), rotated.end(), span);
    for (int i = 0; i < dim; ++i) span[i] *= rope.attn_factor.value_or(1);  // of llama.cpp, under the default scaling
  }

  void scale_by_temperature(int layer, int position, Row& query) const {
    if (!model_.layer_config(layer).has_temperature) return;
    const QueryTemperature& t = c_.temperature;
    const double factor = 1 + t.scale * std::log(1 + std::floor((position + t.offset) / t.floor_scale));
    for (double& element : query) element *= factor;
  }

  // The weights with which a query at `t` reads each token: 0 for those that it doesn't see.
  Row weights_of(int layer, int owner, int t, int head, const Row& query) const {
    const LayerConfig& l = model_.layer_config(layer);
    const double scale = std::isnan(c_.attention_scale) ? 1 / std::sqrt(static_cast<double>(query.size())) : c_.attention_scale;
    const std::vector<float>& sinks = model_.vector(layer, LayerVector::sinks);
    Row weights(keys_[owner].size(), 0);
    double sum = sinks.empty() ? 0 : std::exp(static_cast<double>(sinks[head]));
    const int last = c_.is_causal ? t : static_cast<int>(weights.size()) - 1;
    for (int at = 0; at <= last; ++at) {
      const bool is_in_chunk = l.chunk == 0 || at / l.chunk == t / l.chunk;
      if (std::abs(t - at) >= l.window || !is_in_chunk) continue;
      const Row& key = of_head(keys_[owner][at], head);
      double score = 0;
      for (std::size_t i = 0; i < key.size(); ++i) score += query[i] * key[i];
      score *= scale;
      if (c_.attention_soft_cap != 0) score = c_.attention_soft_cap * std::tanh(score / c_.attention_soft_cap);
      if (c_.relative_buckets > 0) score += model_.vector(ModelVector::relative_bias)[bucket_of(at - t) * c_.heads + head];
      sum += weights[at] = std::exp(score);
    }
    for (double& weight : weights) weight /= sum;
    return weights;
  }

  // transformers, modeling_mpnet.py: MPNetEncoder.relative_position_bucket().
  int bucket_of(int relative) const {
    const int side = c_.relative_buckets / 2, exact = side / 2, distance = std::abs(relative);
    int bucket = distance;
    if (distance >= exact) {
      const double part = std::log(1.0 * distance / exact) / std::log(1.0 * c_.relative_max_distance / exact);
      bucket = std::min(exact + static_cast<int>(part * (side - exact)), side - 1);
    }
    return bucket + (relative > 0 ? side : 0);
  }

  Row weighted(const Row& weights, const Heads& values, int head) const {
    Row sum(of_head(values[0], head).size(), 0);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weights[t] * of_head(values[t], head)[i];
    }
    return sum;
  }

  // The key or value that a head of queries reads, among those of one token.
  const Row& of_head(const Rows& heads, int head) const { return heads[head / (c_.heads / static_cast<int>(heads.size()))]; }

  const TestModel& model_;
  const ModelConfig& c_;
  std::vector<Heads> keys_, values_;  // of each layer; empty for one that reads those of another
  std::vector<Rows> weights_;
};

}  // namespace ropewalk::oracle
