#include "transformer/blocks/mlp.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "vectors/normalize_rows.h"
#include "vectors/row_work.h"
#include "vectors/scale_rows.h"

namespace ropewalk {

bool Mlp::allocate(const ModelConfig& c, int rows) {
  const std::uint64_t size = static_cast<std::uint64_t>(rows) * std::max({c.feed_forward_size, c.expert_size, c.shared_expert_size});
  return resize({{&gate_, size}, {&up_, size}});
}

void Mlp::run(const ForwardPass& pass, const FeedForwardWeights& w, const LayerConfig& layer, const float* input, int rows, float* out) {
  const ModelConfig& c = pass.config();
  const int size = w.up.rows;
  const Product up = product_of(w.up, w.up_bias, up_.data());
  input_.set(input, c.hidden_size, rows, c.hidden_size);
  if (c.is_gated) {
    pass.multiply(Stage::gate_and_up, input_, {up, product_of(w.gate, w.gate_bias, gate_.data())});
  } else {
    pass.multiply(Stage::gate_and_up, input_, {up});
  }
  activate_inner(c, w, layer, rows, size);
  normalize_rows(c.norm, up_.data(), rows, size, w.sub_norm);
  inner_.set(up_.data(), size, rows, size);
  pass.multiply(Stage::down, inner_, {product_of(w.down, w.down_bias, out)});
  scale_rows(out, rows, w.down.rows, c.multipliers.down);
}

void Mlp::activate_inner(const ModelConfig& c, const FeedForwardWeights& w, const LayerConfig& layer, int rows, int size) {
  if (c.is_gated) scale_rows(gate_.data(), rows, size, c.multipliers.gate);
  const StageTimer timer(Stage::activation);
  each_in_parallel(rows, kActivationWork * size, [&](int row) {
    float* up = up_.data() + elements(row, size);
    float* gate = gate_.data() + elements(row, size);
    if (c.is_gated && layer.gate_deviations > kAllElements) keep_largest(layer.gate_deviations, gate, size);
    if (!c.is_gated && c.activation == Activation::xielu) {
      activate_xielu(w.xielu, up, size);
    } else if (!c.is_gated) {
      activate(c.activation, up, size);
    } else if (c.activation == Activation::clamped_silu) {
      activate_clamped(c.gate_slope, c.gate_limit, gate, up, size);
    } else {
      activate_gated(c.activation, gate, up, size);
    }
  });
}

}  // namespace ropewalk
