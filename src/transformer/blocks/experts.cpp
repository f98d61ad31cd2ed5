#include "transformer/blocks/experts.h"

#include <algorithm>

#include "base/float_math.h"
#include "base/thread_pool.h"
#include "vectors/normalize_rows.h"
#include "vectors/row_work.h"

namespace ropewalk {

bool Experts::allocate(const ModelConfig& c, int count) {
  const std::uint64_t hidden = static_cast<std::uint64_t>(count) * c.hidden_size;
  return resize({{&rows_, hidden}, {&normalized_, hidden}, {&gate_terms_, static_cast<std::uint64_t>(count)}}) &&
         router_.resize(c.experts, c.routing, count);
}

void Experts::run(const ForwardPass& pass, int layer, const float* input, const float* residual, Mlp& mlp, float* out) {
  const ModelConfig& c = pass.config();
  const LayerWeights& w = pass.weights.layer(layer);
  const int size = c.hidden_size, count = pass.count;
  const auto input_with = [&](LayerVector norm) {
    return w[norm] == nullptr ? input : normalized_rows(c.norm, residual, count, size, w[norm], nullptr, normalized_.data());
  };
  input_.set(input_with(LayerVector::router_norm), size, count, size);
  pass.multiply(Stage::gate_and_up, input_, {{&w[LayerMatrix::router], w[LayerVector::router_logit_bias], router_.scores(), c.experts}});
  router_.choose(count, w[LayerVector::router_bias], w[LayerVector::expert_scales]);
  const float* routed = input_with(LayerVector::expert_norm);
  std::fill_n(out, elements(count, size), 0.0f);
  for (int expert = 0; expert < c.experts; ++expert) {
    const int rows = router_.gather(expert, routed, size, rows_.data());
    if (rows == 0) continue;
    mlp.run(pass, w.expert(expert), pass.weights.layer_config(layer), rows_.data(), rows, rows_.data());
    router_.scatter(expert, rows_.data(), size, out);
  }
  normalize_rows(c.norm, out, count, size, w[LayerVector::expert_post_norm]);
  if (c.shared_expert_size > 0) add_shared(pass, layer, input, mlp, out);
}

void Experts::add_shared(const ForwardPass& pass, int layer, const float* input, Mlp& mlp, float* out) {
  const ModelConfig& c = pass.config();
  const LayerWeights& w = pass.weights.layer(layer);
  const int size = c.hidden_size;
  const float* gate = w[LayerVector::shared_expert_gate];
  std::fill_n(gate_terms_.data(), pass.count, 0.0f);
  if (gate != nullptr) {
    input_.set(input, size, pass.count, size);
    pass.multiply.add_terms({&w.shared_expert_gate(), nullptr, gate_terms_.data(), 1}, input_);
  }
  mlp.run(pass, w.expert(c.experts), pass.weights.layer_config(layer), input, pass.count, rows_.data());
  normalize_rows(c.norm, rows_.data(), pass.count, size, w[LayerVector::shared_expert_post_norm]);
  each_in_parallel(pass.count, kRowWork * size, [&](int t) {
    const float* row = rows_.data() + elements(t, size);
    double score = gate_terms_[t];
    for (int i = 0; gate != nullptr && i < size; ++i) score += static_cast<double>(gate[i]) * input[elements(t, size) + i];
    const float share = gate == nullptr ? 1 : sigmoid_f32(static_cast<float>(score));
    for (int i = 0; i < size; ++i) out[elements(t, size) + i] += share * row[i];
  });
}

}  // namespace ropewalk
