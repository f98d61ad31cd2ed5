// Reference transformer in double precision for whole prompts, without a cache, written from the papers named in forward.h.
#pragma once

#include "native/transformer/transformer_model.h"

namespace ropewalk::oracle {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

inline Row times(const TestMatrix& w, const Row& x, const std::vector<float>& bias = {}) {
  Row out(w.rows, 0);
  for (int r = 0; r < w.rows; ++r) {
    for (int c = 0; c < w.columns; ++c) out[r] += static_cast<double>(w.values[r * w.columns + c]) * x[c];
    if (!bias.empty()) out[r] += bias[r];
  }
  return out;
}

inline void normalize_span(const Norm& norm, double* x, int size, const float* weight, const std::vector<float>& bias) {
  double mean = 0, squares = 0;
  for (int i = 0; i < size; ++i) mean += norm.kind == NormKind::layer ? x[i] / size : 0;
  for (int i = 0; i < size; ++i) squares += (x[i] - mean) * (x[i] - mean) / size;
  for (int i = 0; i < size; ++i) x[i] = (x[i] - mean) / std::sqrt(squares + norm.epsilon) * weight[i] + (bias.empty() ? 0 : bias[i]);
}

inline Row normalized(const Norm& norm, Row x, const std::vector<float>& weight, const std::vector<float>& bias = {}) {
  if (!weight.empty()) normalize_span(norm, x.data(), static_cast<int>(x.size()), weight.data(), bias);
  return x;
}

inline double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::gelu: return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
    case Activation::gelu_tanh: return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) / 2;
    case Activation::relu2: return x > 0 ? x * x : 0;
    case Activation::relu: return x > 0 ? x : 0;
    case Activation::tanh: return std::tanh(x);
    case Activation::xielu: break;
  }
  return x;
}

class Transformer {
 public:
  explicit Transformer(const TestModel& model) : model_(model), c_(model.config()) {}

  // Logits [tokens][vocabulary_size].
  Rows logits(const std::vector<int>& tokens) const {
    const auto vector = [this](ModelVector slot) { return model_.vector(kWholeModel, static_cast<int>(slot)); };
    const ModelMatrix head = model_.has_head() ? ModelMatrix::head : ModelMatrix::embedding;
    Rows out;
    for (const Row& row : hidden(tokens)) {
      out.push_back(times(model_.matrix(kWholeModel, static_cast<int>(head)), row, vector(ModelVector::head_bias)));
      for (double& logit : out.back()) {
        logit *= c_.logit_scale;
        if (c_.logit_soft_cap != 0) logit = c_.logit_soft_cap * std::tanh(logit / c_.logit_soft_cap);
      }
    }
    return out;
  }

  // Hidden states after the final norm, [tokens][hidden_size]. `types` of tokens may be empty.
  Rows hidden(const std::vector<int>& tokens, const std::vector<int>& types = {}) const {
    const auto vector = [this](ModelVector slot) { return model_.vector(kWholeModel, static_cast<int>(slot)); };
    Rows x;
    const TestMatrix& embedding = model_.matrix(kWholeModel, static_cast<int>(ModelMatrix::embedding));
    for (const int token : tokens) {
      const float* row = &embedding.values[token * c_.hidden_size];
      x.emplace_back(row, row + c_.hidden_size);
      for (double& element : x.back()) element *= c_.embedding_scale;
    }
    const auto add_row = [&](ModelMatrix slot, int row, Row& to) {
      const TestMatrix& matrix = model_.matrix(kWholeModel, static_cast<int>(slot));
      for (int i = 0; i < c_.hidden_size; ++i) to[i] += matrix.values[row * c_.hidden_size + i];
    };
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (c_.positions > 0) add_row(ModelMatrix::positions, static_cast<int>(t), x[t]);
      if (c_.token_types > 0) add_row(ModelMatrix::token_types, types.empty() ? 0 : types[t], x[t]);
      x[t] = normalized(c_.norm, x[t], vector(ModelVector::embedding_norm), vector(ModelVector::embedding_norm_bias));
    }
    for (int layer = 0; layer < c_.layers; ++layer) run_layer(layer, x);
    for (Row& row : x) row = normalized(c_.norm, row, vector(ModelVector::final_norm), vector(ModelVector::final_norm_bias));
    return x;
  }

 private:
  void run_layer(int layer, Rows& x) const {
    const auto vector = [&](LayerVector slot) { return model_.vector(layer, slot); };
    Rows inputs;
    for (const Row& row : x)
      inputs.push_back(normalized(c_.norm, row, vector(LayerVector::attention_norm), vector(LayerVector::attention_norm_bias)));
    const Rows attended = attention(layer, inputs);
    for (std::size_t t = 0; t < x.size(); ++t) {
      const Row before = x[t];
      add(x[t], attended[t], vector(LayerVector::attention_post_norm), vector(LayerVector::attention_post_norm_bias));
      const Row& read = c_.is_parallel ? before : x[t];
      const bool shares = c_.is_parallel && vector(LayerVector::feed_forward_norm).empty();
      const Row input =
          shares ? inputs[t]
                 : normalized(c_.norm, read, vector(LayerVector::feed_forward_norm), vector(LayerVector::feed_forward_norm_bias));
      add(x[t], feed_forward(layer, input), vector(LayerVector::feed_forward_post_norm), vector(LayerVector::feed_forward_post_norm_bias));
    }
  }

  // The norm is of the part, or of the sum.
  void add(Row& x, const Row& part, const std::vector<float>& norm, const std::vector<float>& bias) const {
    const Row added = c_.normalizes_residual ? part : normalized(c_.norm, part, norm, bias);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += c_.residual_scale * added[i];
    if (c_.normalizes_residual) x = normalized(c_.norm, x, norm, bias);
  }

  // Normalizes and rotates queries or keys of a token in place.
  Row heads(int layer, LayerMatrix matrix, LayerVector bias, LayerVector norm, int count, const Row& input, int position) const {
    Row row = times(model_.matrix(layer, matrix), input, model_.vector(layer, bias));
    const std::vector<float>& weight = model_.vector(layer, norm);
    const int dim = c_.head_dim;
    if (c_.query_key_norm == QueryKeyNorm::all_heads) normalize_span(c_.norm, row.data(), count * dim, weight.data(), {});
    for (int head = 0; head < count; ++head) {
      double* span = row.data() + head * dim;
      if (c_.query_key_norm == QueryKeyNorm::head) normalize_span(c_.norm, span, dim, weight.data(), {});
      if (c_.query_key_norm == QueryKeyNorm::each_head) normalize_span(c_.norm, span, dim, weight.data() + head * dim, {});
      rotate(span, position);
      if (c_.query_key_norm == QueryKeyNorm::rotated) normalize_span(c_.norm, span, dim, weight.data(), {});
    }
    return row;
  }

  void rotate(double* span, int position) const {
    const RopeConfig& rope = model_.rope();
    const int dim = resolved_rotary_dim(rope), pairs = dim / 2;
    std::vector<Real> angles = plain(rope.rope_theta, dim, pairs);
    for (Real& angle : angles) angle *= position;
    const std::vector<Real> rotated = rotate_by({span, span + dim}, angles, 1, rope.pairing, rope.pairing);
    std::copy(rotated.begin(), rotated.end(), span);
  }

  Rows attention(int layer, const Rows& inputs) const {
    Rows queries, keys, values, out;
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      const int position = static_cast<int>(t);
      queries.push_back(heads(layer, LayerMatrix::query, LayerVector::query_bias, LayerVector::query_norm, c_.heads, inputs[t], position));
      keys.push_back(heads(layer, LayerMatrix::key, LayerVector::key_bias, LayerVector::key_norm, c_.kv_heads, inputs[t], position));
      values.push_back(times(model_.matrix(layer, LayerMatrix::value), inputs[t], model_.vector(layer, LayerVector::value_bias)));
    }
    const int dim = c_.head_dim, window = model_.layer_config(layer).window;
    const double scale = std::isnan(c_.attention_scale) ? 1 / std::sqrt(static_cast<double>(dim)) : c_.attention_scale;
    for (int t = 0; t < static_cast<int>(inputs.size()); ++t) {
      Row attended(c_.heads * dim, 0);
      for (int head = 0; head < c_.heads; ++head) {
        const int kv_head = head / (c_.heads / c_.kv_heads);
        Row weights;
        double sum = 0;
        const int tokens = static_cast<int>(inputs.size()), first = t < window ? 0 : t - window + 1;
        const int last = c_.is_causal ? t : window > tokens - t ? tokens - 1 : t + window - 1;
        for (int key = first; key <= last; ++key) {
          double score = 0;
          for (int i = 0; i < dim; ++i) score += queries[t][head * dim + i] * keys[key][kv_head * dim + i];
          score *= scale;
          if (c_.attention_soft_cap != 0) score = c_.attention_soft_cap * std::tanh(score / c_.attention_soft_cap);
          weights.push_back(std::exp(score));
          sum += weights.back();
        }
        for (int key = first; key <= last; ++key) {
          for (int i = 0; i < dim; ++i) attended[head * dim + i] += weights[key - first] / sum * values[key][kv_head * dim + i];
        }
      }
      attended = normalized(c_.norm, attended, model_.vector(layer, LayerVector::attention_sub_norm));
      out.push_back(times(model_.matrix(layer, LayerMatrix::output), attended, model_.vector(layer, LayerVector::output_bias)));
    }
    return out;
  }

  Row feed_forward(int layer, const Row& input) const {
    if (!model_.layer_config(layer).has_experts) return expert(layer, 0, input);
    const Routing& routing = c_.routing;
    Row weights = times(model_.matrix(layer, LayerMatrix::router), input), out(c_.hidden_size, 0);
    double all = 0, used = 0;
    for (double& weight : weights) all += weight = std::exp(weight);
    for (double& weight : weights) weight = routing.weight == ExpertWeight::sigmoid ? weight / (1 + weight) : weight / all;
    const std::vector<float>& bias = model_.vector(layer, LayerVector::router_bias);
    const auto rank = [&](int i) { return weights[i] + (bias.empty() ? 0 : bias[i]); };
    std::vector<int> order;
    for (int i = 0; i < c_.experts; ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) > rank(b); });
    order.resize(routing.used);
    for (const int index : order) used += weights[index];
    const auto add_share = [&](double share, int index) {
      const Row part = expert(layer, index, input);
      for (int i = 0; i < c_.hidden_size; ++i) out[i] += share * part[i];
    };
    for (const int index : order) add_share(weights[index] / (routing.normalizes ? used : 1) * routing.scale, index);
    if (c_.shared_expert_size > 0) add_share(shared_expert_share(model_.vector(layer, LayerVector::shared_expert_gate), input), c_.experts);
    return out;
  }

  static double shared_expert_share(const std::vector<float>& gate, const Row& input) {
    if (gate.empty()) return 1;
    double score = 0;
    for (std::size_t i = 0; i < input.size(); ++i) score += gate[i] * input[i];
    return 1 / (1 + std::exp(-score));
  }

  double xielu(int layer, double x) const {
    const auto number = [&](LayerVector slot) { return static_cast<double>(model_.vector(layer, slot)[0]); };
    const double beta = number(LayerVector::xielu_beta), above = std::log1p(std::exp(number(LayerVector::xielu_alpha_p)));
    const double below = beta + std::log1p(std::exp(number(LayerVector::xielu_alpha_n)));
    if (x > 0) return above * x * x + beta * x;
    return (std::expm1(std::min(x, number(LayerVector::xielu_eps))) - x) * below + beta * x;
  }

  Row expert(int layer, int index, const Row& input) const {
    Row inner = times(model_.matrix(layer, LayerMatrix::up, index), input, model_.vector(layer, LayerVector::up_bias));
    if (c_.is_gated) {
      const Row gate = times(model_.matrix(layer, LayerMatrix::gate, index), input, model_.vector(layer, LayerVector::gate_bias));
      for (std::size_t i = 0; i < inner.size(); ++i) inner[i] *= activated(c_.activation, gate[i]);
    } else {
      for (double& element : inner)
        element = c_.activation == Activation::xielu ? xielu(layer, element) : activated(c_.activation, element);
    }
    inner = normalized(c_.norm, inner, model_.vector(layer, LayerVector::feed_forward_sub_norm));
    return times(model_.matrix(layer, LayerMatrix::down, index), inner, model_.vector(layer, LayerVector::down_bias));
  }

  const TestModel& model_;
  const ModelConfig& c_;
};

}  // namespace ropewalk::oracle
