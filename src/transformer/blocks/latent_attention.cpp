#include "transformer/blocks/latent_attention.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "vectors/row_work.h"

namespace ropewalk {

bool LatentAttention::allocate(const ModelConfig& config, int count) {
  count_ = count;
  const LatentConfig& c = config.latent;
  const auto rows = [count](int size) { return static_cast<std::uint64_t>(count) * size; };
  return resize({{&query_latents_, rows(c.query)},
                 {&queries_, rows(config.heads * (c.plain + c.rotated))},
                 {&rows_, rows(row_size(c))},
                 {&values_, rows(config.heads * c.value)}});
}

void LatentAttention::project(const ForwardPass& pass, const LayerWeights& w, const float* input, float* queries, float* rows) {
  const ModelConfig& config = pass.config();
  const LatentConfig& c = config.latent;
  const int query = c.plain + c.rotated, row = row_size(c);
  const Product query_product = {&w[LayerMatrix::query], w[LayerVector::query_bias], queries_.data(), config.heads * query};
  const Product row_product = {&w[LayerMatrix::latent], nullptr, rows_.data(), row};
  input_.set(input, config.hidden_size, count_, config.hidden_size);
  if (c.query > 0) {
    pass.multiply(Stage::query_key_value, input_, {{&w[LayerMatrix::query_latent], nullptr, query_latents_.data(), c.query}, row_product});
    each_in_parallel(count_, kRowWork * c.query, [&](int t) {
      float* latent = query_latents_.data() + elements(t, c.query);
      normalize(config.latent_norm, latent, c.query, w[LayerVector::query_latent_norm], nullptr, latent);
    });
    input_.set(query_latents_.data(), c.query, count_, c.query);
    pass.multiply(Stage::query_key_value, input_, {query_product});
  } else {
    pass.multiply(Stage::query_key_value, input_, {query_product, row_product});
  }

  each_in_parallel(count_, kRowWork * (row + config.heads * c.rotated), [&](int t) {
    const float* from = rows_.data() + elements(t, row);
    float* to = rows + elements(t, row);
    std::copy_n(from + c.latent, c.rotated, to);
    normalize(config.latent_norm, from, c.latent, w[LayerVector::latent_norm], nullptr, to + c.rotated);
    for (int head = 0; head < config.heads; ++head) {
      const int at = t * config.heads + head;
      std::copy_n(queries_.data() + elements(at, query) + c.plain, c.rotated, queries + elements(at, row));
    }
  });
  for (int head = 0; head < config.heads; ++head) {
    head_.set(queries_.data() + head * query, config.heads * query, count_, c.plain);
    pass.multiply(Stage::query_key_value, head_,
                  {{&w.of_head(LayerMatrix::key_up, head), nullptr, queries + head * row + c.rotated, config.heads * row}});
  }
}

const float* LatentAttention::values(const ForwardPass& pass, const LayerWeights& w, const float* attended) {
  const ModelConfig& config = pass.config();
  const LatentConfig& c = config.latent;
  for (int head = 0; head < config.heads; ++head) {
    head_.set(attended + head * row_size(c) + c.rotated, config.heads * row_size(c), count_, c.latent);
    pass.multiply(Stage::attention_output, head_,
                  {{&w.of_head(LayerMatrix::value_up, head), nullptr, values_.data() + head * c.value, config.heads * c.value}});
  }
  return values_.data();
}

}  // namespace ropewalk
