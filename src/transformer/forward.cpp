#include "transformer/forward.h"

#include <algorithm>
#include <initializer_list>

#include "base/float_math.h"
#include "base/profile.h"
#include "base/thread_pool.h"

namespace ropewalk {
namespace {

// Operations per float of norms and sums, and of activation functions (thread_pool.h).
constexpr std::int64_t kRowWork = 4, kActivationWork = 32;

std::ptrdiff_t elements(int tokens, int size) { return static_cast<std::ptrdiff_t>(tokens) * size; }

}  // namespace

Status Forward::run(const Weights& weights, KvCache& cache, int sequence, const int* tokens, int count) {
  count_ = 0;
  if (const Status status = check(weights, cache, sequence, tokens, count); status != Status::ok) return status;
  weights_ = &weights;
  config_ = &weights.config();
  if (!allocate(*config_, count)) return Status::out_of_memory;
  count_ = count;
  status_ = Status::ok;

  const int tokens_before = cache.sequence(sequence).tokens();
  embed(tokens);
  for (int layer = 0; layer < config_->layers && status_ == Status::ok; ++layer) run_layer(cache, sequence, layer);
  normalized(residual_.data(), weights[ModelVector::final_norm], weights[ModelVector::final_norm_bias]);
  keep_failure(thread_pool().status());

  if (status_ != Status::ok) {
    cache.truncate(sequence, tokens_before);
    count_ = 0;
  }
  return status_;
}

void Forward::embed(const int* tokens) {
  const StageTimer timer(Stage::embedding);
  each_in_parallel(count_, kRowWork * config_->hidden_size, [&](int t) {
    float* x = residual_.data() + elements(t, config_->hidden_size);
    read_row(weights_->embedding(), tokens[t], x);
    for (int i = 0; i < config_->hidden_size; ++i) x[i] *= config_->embedding_scale;
  });
}

void Forward::run_layer(KvCache& cache, int sequence, int layer) {
  const LayerWeights& w = weights_->layer(layer);
  const float* x = residual_.data();

  const float* input = normalized(x, w[LayerVector::attention_norm], w[LayerVector::attention_norm_bias]);
  attend(cache, sequence, layer, input);
  if (!config_->is_parallel) add_to_residual(attention_out_, w[LayerVector::attention_post_norm]);

  // in a parallel layer, feed-forward has the input of attention, unless it has its own norm
  const bool shares_input = config_->is_parallel && w[LayerVector::feed_forward_norm] == nullptr;
  if (!shares_input) input = normalized(x, w[LayerVector::feed_forward_norm], w[LayerVector::feed_forward_norm_bias]);
  feed_forward(layer, input);
  if (config_->is_parallel) add_to_residual(attention_out_, w[LayerVector::attention_post_norm]);
  add_to_residual(feed_forward_out_, w[LayerVector::feed_forward_post_norm]);
}

void Forward::attend(KvCache& cache, int sequence, int layer, const float* input) {
  const ModelConfig& c = *config_;
  const LayerWeights& w = weights_->layer(layer);
  set(inputs_, input, c.hidden_size);
  project(Stage::query_key_value, inputs_,
          {of(w[LayerMatrix::query], w[LayerVector::query_bias], queries_), of(w[LayerMatrix::key], w[LayerVector::key_bias], keys_),
           of(w[LayerMatrix::value], w[LayerVector::value_bias], values_)});
  const float *query_norm = w[LayerVector::query_norm], *key_norm = w[LayerVector::key_norm];
  const bool is_norm_of_rotated = c.query_key_norm == QueryKeyNorm::rotated;
  if (is_norm_of_rotated) {
    // A weight that a cached key was multiplied by after its rotation would be in the way of another rotation, so both are the queries'.
    for (int i = 0; i < c.head_dim; ++i) head_norms_[i] = query_norm[i] * key_norm[i], head_norms_[c.head_dim + i] = 1;
    query_norm = head_norms_.data(), key_norm = query_norm + c.head_dim;
  }
  if (!is_norm_of_rotated) normalize_heads(queries_.data(), c.heads, query_norm);
  normalize_heads(keys_.data(), c.kv_heads, key_norm);
  if (status_ != Status::ok) return;

  const auto heads_of = [this, &c](float* source, float* target, int heads) {
    return HeadTensor{source, target, DType::f32, Layout::thd, {1, count_, heads, c.head_dim}};
  };
  NewTokens tokens;
  tokens.queries = heads_of(queries_.data(), queries_.data(), c.heads);
  tokens.keys = heads_of(keys_.data(), nullptr, c.kv_heads);
  tokens.values = heads_of(values_.data(), nullptr, c.kv_heads);
  {
    const StageTimer timer(Stage::rotate_and_append);
    keep_failure(cache.append(layer, sequence, tokens));
  }
  if (status_ != Status::ok) return;
  if (is_norm_of_rotated) normalize_heads(queries_.data(), c.heads, query_norm);

  const int query_size = c.heads * c.head_dim;
  std::copy_n(queries_.data() + elements(count_ - 1, query_size), query_size, last_queries_.data() + elements(layer, query_size));
  {
    const StageTimer timer(Stage::attention);
    keep_failure(cache.attend(layer, sequence, heads_of(queries_.data(), attended_.data(), c.heads), attention_options(*weights_, layer)));
  }
  normalize_rows(attended_.data(), count_, query_size, w[LayerVector::attention_sub_norm]);
  set(inner_, attended_.data(), query_size);
  project(Stage::attention_output, inner_, {of(w[LayerMatrix::output], w[LayerVector::output_bias], attention_out_)});
}

AttentionOptions Forward::attention_options(const Weights& weights, int layer) {
  AttentionOptions options;
  options.scale = weights.config().attention_scale;
  options.soft_cap = weights.config().attention_soft_cap;
  options.window = weights.layer_config(layer).window;
  return options;
}

Status Forward::attention_weights(const Weights& weights, KvCache& cache, int sequence, int layer, float* out) {
  const ModelConfig& c = weights.config();
  if (layer < 0 || layer >= c.layers) return Status::layer_out_of_range;
  if (count_ == 0) return Status::token_count_out_of_range;
  const float* query = last_queries_.data() + elements(layer, c.heads * c.head_dim);
  return cache.weights(layer, sequence, query, c.heads, attention_options(weights, layer), out);
}

void Forward::feed_forward(int layer, const float* input) {
  const LayerWeights& w = weights_->layer(layer);
  if (weights_->layer_config(layer).has_experts) return use_experts(w, input);
  set(inputs_, input, config_->hidden_size);
  run_block(w.feed_forward(), count_, feed_forward_out_);
}

void Forward::run_block(const FeedForwardWeights& w, int rows, Buffer<float>& out) {
  const int size = w.up.rows;
  if (config_->is_gated) {
    project(Stage::gate_and_up, inputs_, {of(w.up, w.up_bias, up_), of(w.gate, w.gate_bias, gate_)});
  } else {
    project(Stage::gate_and_up, inputs_, {of(w.up, w.up_bias, up_)});
  }
  activate_inner(w, rows, size);
  normalize_rows(up_.data(), rows, size, w.sub_norm);
  inner_.set(up_.data(), size, rows, size);
  project(Stage::down, inner_, {of(w.down, w.down_bias, out)});
}

void Forward::activate_inner(const FeedForwardWeights& w, int rows, int size) {
  const StageTimer timer(Stage::activation);
  each_in_parallel(rows, kActivationWork * size, [&](int row) {
    float* up = up_.data() + elements(row, size);
    if (config_->is_gated) {
      activate_gated(config_->activation, gate_.data() + elements(row, size), up, size);
    } else if (config_->activation == Activation::xielu) {
      activate_xielu(w.xielu, up, size);
    } else {
      activate(config_->activation, up, size);
    }
  });
}

// Runs each token through the experts that the router chose for it. Works expert by expert, so that each expert's weights are read once for
// all its tokens.
void Forward::use_experts(const LayerWeights& w, const float* input) {
  const ModelConfig& c = *config_;
  set(inputs_, input, c.hidden_size);
  project(Stage::gate_and_up, inputs_, {{&w[LayerMatrix::router], nullptr, router_.scores(), c.experts}});
  router_.choose(count_, w[LayerVector::router_bias]);
  std::fill_n(feed_forward_out_.data(), elements(count_, c.hidden_size), 0.0f);
  for (int expert = 0; expert < c.experts; ++expert) {
    const int rows = router_.gather(expert, input, c.hidden_size, expert_in_.data());
    if (rows == 0) continue;
    inputs_.set(expert_in_.data(), c.hidden_size, rows, c.hidden_size);
    run_block(w.expert(expert), rows, expert_in_);
    router_.scatter(expert, expert_in_.data(), c.hidden_size, feed_forward_out_.data());
  }
  if (c.shared_expert_size > 0) use_shared_expert(w, input);
}

void Forward::use_shared_expert(const LayerWeights& w, const float* input) {
  const int size = config_->hidden_size;
  const float* gate = w[LayerVector::shared_expert_gate];
  set(inputs_, input, size);
  run_block(w.expert(config_->experts), count_, expert_in_);
  each_in_parallel(count_, kRowWork * size, [&](int t) {
    const float* row = expert_in_.data() + elements(t, size);
    float* out = feed_forward_out_.data() + elements(t, size);
    double score = 0;
    for (int i = 0; gate != nullptr && i < size; ++i) score += static_cast<double>(gate[i]) * input[elements(t, size) + i];
    const float share = gate == nullptr ? 1 : sigmoid_f32(static_cast<float>(score));
    for (int i = 0; i < size; ++i) out[i] += share * row[i];
  });
}

Status Forward::logits(const Weights& weights, int first, int count, float* out) {
  if (first < 0 || count < 1 || first > count_ - count) return Status::token_count_out_of_range;
  const ModelConfig& c = weights.config();
  status_ = Status::ok;
  inputs_.set(normed_.data() + elements(first, c.hidden_size), c.hidden_size, count, c.hidden_size);
  project(Stage::head, inputs_, {{&weights.head(), weights[ModelVector::head_bias], out, c.vocabulary_size}});
  const std::ptrdiff_t size = elements(count, c.vocabulary_size);
  if (c.logit_scale != 1) {
    for (std::ptrdiff_t i = 0; i < size; ++i) out[i] *= c.logit_scale;
  }
  if (c.logit_soft_cap != 0) {
    for (std::ptrdiff_t i = 0; i < size; ++i) out[i] = c.logit_soft_cap * tanh_f32(out[i] / c.logit_soft_cap);
  }
  return status_;
}

Product Forward::of(const WeightMatrix& w, const float* bias, Buffer<float>& out) { return {&w, bias, out.data(), w.rows}; }

void Forward::project(Stage stage, Activations& x, std::initializer_list<Product> products) {
  const StageTimer timer(stage);
  if (status_ == Status::ok) keep_failure(multiply(*kernels_, {products.begin(), products.size()}, x));
}

const float* Forward::normalized(const float* rows, const float* weight, const float* bias) {
  if (weight == nullptr) return rows;
  const StageTimer timer(Stage::norm);
  const int size = config_->hidden_size;
  each_in_parallel(count_, kRowWork * size, [&](int t) {
    normalize(config_->norm, rows + elements(t, size), size, weight, bias, normed_.data() + elements(t, size));
  });
  return normed_.data();
}

void Forward::normalize_heads(float* rows, int heads, const float* weight) const {
  const int head_dim = config_->head_dim;
  switch (config_->query_key_norm) {
    case QueryKeyNorm::all_heads: return normalize_rows(rows, count_, heads * head_dim, weight);
    case QueryKeyNorm::each_head: return normalize_rows(rows, count_ * heads, head_dim, weight, heads);
    default: return normalize_rows(rows, count_ * heads, head_dim, weight);
  }
}

void Forward::normalize_rows(float* rows, int count, int size, const float* weight, int weights) const {
  if (weight == nullptr) return;
  const StageTimer timer(Stage::norm);
  each_in_parallel(count, kRowWork * size, [&](int i) {
    float* row = rows + elements(i, size);
    normalize(config_->norm, row, size, weight + elements(i % weights, size), nullptr, row);
  });
}

void Forward::add_to_residual(Buffer<float>& rows, const float* post_norm) {
  const StageTimer timer(Stage::residual);
  const int size = config_->hidden_size;
  each_in_parallel(count_, kRowWork * size, [&](int t) {
    float* row = rows.data() + elements(t, size);
    float* x = residual_.data() + elements(t, size);
    if (post_norm != nullptr) normalize(config_->norm, row, size, post_norm, nullptr, row);
    for (int i = 0; i < size; ++i) x[i] += config_->residual_scale * row[i];
  });
}

Status Forward::check(const Weights& weights, const KvCache& cache, int sequence, const int* tokens, int count) const {
  if (!weights.is_finished()) return Status::weight_missing;
  const ModelConfig& c = weights.config();
  const KvGeometry& geometry = cache.geometry();
  if (geometry.layers() != c.layers) return Status::cache_geometry;
  for (int i = 0; i < c.layers; ++i) {
    if (geometry.layer(i).heads != c.kv_heads || geometry.layer(i).head_dim != c.head_dim) return Status::cache_geometry;
  }
  if (sequence < 0 || sequence >= cache.sequences()) return Status::sequence_out_of_range;
  const KvSequence& cached = cache.sequence(sequence);
  for (int i = 0; i < c.layers; ++i) {
    if (cached.written(i) != cached.tokens()) return Status::cache_geometry;
  }
  if (count < 1 || count > kForwardTokens) return Status::token_count_out_of_range;
  for (int t = 0; t < count; ++t) {
    if (tokens[t] < 0 || tokens[t] >= c.vocabulary_size) return Status::token_out_of_range;
  }
  return Status::ok;
}

bool Forward::allocate(const ModelConfig& c, int count) {
  const auto rows = [count](int size) { return static_cast<std::uint64_t>(count) * size; };
  for (Buffer<float>* buffer : {&residual_, &normed_, &attention_out_, &feed_forward_out_}) {
    if (!buffer->resize(rows(c.hidden_size))) return false;
  }
  for (Buffer<float>* buffer : {&queries_, &attended_}) {
    if (!buffer->resize(rows(c.heads * c.head_dim))) return false;
  }
  for (Buffer<float>* buffer : {&keys_, &values_}) {
    if (!buffer->resize(rows(c.kv_heads * c.head_dim))) return false;
  }
  if (!last_queries_.resize(static_cast<std::uint64_t>(c.layers) * c.heads * c.head_dim)) return false;
  for (Buffer<float>* buffer : {&gate_, &up_}) {
    if (!buffer->resize(rows(std::max({c.feed_forward_size, c.expert_size, c.shared_expert_size})))) return false;
  }
  if (!head_norms_.resize(2 * c.head_dim)) return false;
  return c.experts == 0 || (expert_in_.resize(rows(c.hidden_size)) && router_.resize(c.experts, c.routing, count));
}

}  // namespace ropewalk
