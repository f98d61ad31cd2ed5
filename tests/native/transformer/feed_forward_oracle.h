// Feed-forward blocks and mixtures of experts of the reference transformer.
#pragma once

#include <algorithm>

#include "native/transformer/oracle_math.h"

namespace ropewalk::oracle {

class FeedForwardOracle {
 public:
  explicit FeedForwardOracle(const TestModel& model) : model_(model), c_(model.config()) {}

  // `residual` is what the router and the experts read if they have norms of their own.
  Row output(int layer, const Row& input, const Row& residual) const {
    if (!model_.layer_config(layer).has_experts) return block(layer, 0, input);
    const auto input_with = [&](LayerVector slot) {
      const std::vector<float>& norm = model_.vector(layer, slot);
      return norm.empty() ? input : normalized(c_.norm, residual, norm);
    };
    Row weights = times(model_.matrix(layer, LayerMatrix::router), input_with(LayerVector::router_norm),
                        model_.vector(layer, LayerVector::router_logit_bias));
    Row out(c_.hidden_size, 0);
    const Routing& routing = c_.routing;
    double all = 0, used = 0;
    for (double& weight : weights) all += weight = std::exp(routing.score_scale * weight);
    for (double& weight : weights) weight = routing.weight == ExpertWeight::sigmoid ? weight / (1 + weight) : weight / all;
    const std::vector<float>& bias = model_.vector(layer, LayerVector::router_bias);
    const auto rank = [&](int i) { return weights[i] + (bias.empty() ? 0 : bias[i]); };
    std::vector<int> order;
    for (int i = 0; i < c_.experts; ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) > rank(b); });
    order.resize(routing.used);
    for (const int index : order) used += weights[index];
    const auto add_share = [&](double share, const Row& part) {
      for (int i = 0; i < c_.hidden_size; ++i) out[i] += share * part[i];
    };
    const Row routed = input_with(LayerVector::expert_norm);
    const std::vector<float>& scales = model_.vector(layer, LayerVector::expert_scales);
    for (const int index : order) {
      const double share = weights[index] / (routing.normalizes ? std::max(used, double{routing.least_sum}) : 1) * routing.scale *
                           (scales.empty() ? 1 : scales[index]);
      Row x = routed;
      for (double& element : x) element *= routing.scales_input ? share : 1;
      add_share(routing.scales_input ? 1 : share, block(layer, index, x));
    }
    out = normalized(c_.norm, out, model_.vector(layer, LayerVector::expert_post_norm));
    if (c_.shared_expert_size == 0) return out;
    const Row shared = normalized(c_.norm, block(layer, c_.experts, input), model_.vector(layer, LayerVector::shared_expert_post_norm));
    add_share(shared_expert_share(model_.vector(layer, LayerVector::shared_expert_gate), input), shared);
    return out;
  }

 private:
  static double shared_expert_share(const std::vector<float>& gate, const Row& input) {
    if (gate.empty()) return 1;
    double score = 0;
    for (std::size_t i = 0; i < input.size(); ++i) score += gate[i] * input[i];
    return sigmoid(score);
  }

  double xielu(int layer, double x) const {
    const auto number = [&](LayerVector slot) { return static_cast<double>(model_.vector(layer, slot)[0]); };
    const double beta = number(LayerVector::xielu_beta), above = std::log1p(std::exp(number(LayerVector::xielu_alpha_p)));
    const double below = beta + std::log1p(std::exp(number(LayerVector::xielu_alpha_n)));
    if (x > 0) return above * x * x + beta * x;
    return (std::expm1(std::min(x, number(LayerVector::xielu_eps))) - x) * below + beta * x;
  }

  // gpt-oss: (clamp(up) + 1) times the gate, clamped from above, times the sigmoid of its slope.
  double clamped(double gate, double up) const {
    const double limit = c_.gate_limit, low = std::min(gate, limit);
    return (std::max(-limit, std::min(up, limit)) + 1) * low * sigmoid(static_cast<double>(c_.gate_slope) * low);
  }

  // Gemma 3n: what exceeds mean + deviations · standard deviation.
  static void keep_largest(double deviations, Row& gate) {
    const double size = static_cast<double>(gate.size());
    double mean = 0, variance = 0;
    for (const double element : gate) mean += element / size;
    for (const double element : gate) variance += (element - mean) * (element - mean) / size;
    for (double& element : gate) element = std::max(0.0, element - mean - deviations * std::sqrt(variance));
  }

  // The biases of a block, or of one expert, whose matrix has `rows` rows. The shared expert has none.
  std::vector<float> biases(int layer, LayerVector of_block, LayerVector of_experts, int index, int rows) const {
    if (!model_.layer_config(layer).has_experts) return model_.vector(layer, of_block);
    const std::vector<float>& all = model_.vector(layer, of_experts);
    if (all.empty() || index == c_.experts) return {};
    return {all.begin() + index * rows, all.begin() + (index + 1) * rows};
  }

  Row block(int layer, int index, const Row& input) const {
    const auto product = [&](LayerMatrix slot, LayerVector of_block, LayerVector of_experts, const Row& x) {
      const TestMatrix& w = model_.matrix(layer, slot, index);
      return times(w, x, biases(layer, of_block, of_experts, index, w.rows));
    };
    Row inner = product(LayerMatrix::up, LayerVector::up_bias, LayerVector::expert_up_bias, input);
    if (c_.is_gated) {
      Row gate = scaled(product(LayerMatrix::gate, LayerVector::gate_bias, LayerVector::expert_gate_bias, input), c_.multipliers.gate);
      const float deviations = model_.layer_config(layer).gate_deviations;
      if (std::isfinite(deviations)) keep_largest(deviations, gate);
      for (std::size_t i = 0; i < inner.size(); ++i)
        inner[i] = c_.activation == Activation::clamped_silu ? clamped(gate[i], inner[i]) : inner[i] * activated(c_.activation, gate[i]);
    } else {
      for (double& element : inner)
        element = c_.activation == Activation::xielu ? xielu(layer, element) : activated(c_.activation, element);
    }
    if (!model_.layer_config(layer).has_experts)
      inner = normalized(c_.norm, inner, model_.vector(layer, LayerVector::feed_forward_sub_norm));
    return scaled(product(LayerMatrix::down, LayerVector::down_bias, LayerVector::expert_down_bias, inner), c_.multipliers.down);
  }

  const TestModel& model_;
  const ModelConfig& c_;
};

}  // namespace ropewalk::oracle
