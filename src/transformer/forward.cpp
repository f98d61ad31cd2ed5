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
  normalize_heads(queries_.data(), c.heads, w[LayerVector::query_norm]);
  normalize_heads(keys_.data(), c.kv_heads, w[LayerVector::key_norm]);
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

  const int query_size = c.heads * c.head_dim;
  std::copy_n(queries_.data() + elements(count_ - 1, query_size), query_size, last_queries_.data() + elements(layer, query_size));
  {
    const StageTimer timer(Stage::attention);
    keep_failure(cache.attend(layer, sequence, heads_of(queries_.data(), attended_.data(), c.heads), attention_options(*weights_, layer)));
  }
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
  const ModelConfig& c = *config_;
  const LayerWeights& w = weights_->layer(layer);
  if (weights_->layer_config(layer).has_experts) return use_experts(w, input);

  set(inputs_, input, c.hidden_size);
  project_inner(w[LayerMatrix::up], w[LayerVector::up_bias], w[LayerMatrix::gate], w[LayerVector::gate_bias]);
  activate_inner(count_);
  set(inner_, up_.data(), c.feed_forward_size);
  project(Stage::down, inner_, {of(w[LayerMatrix::down], w[LayerVector::down_bias], feed_forward_out_)});
}

void Forward::activate_inner(int rows) {
  const StageTimer timer(Stage::activation);
  const int size = config_->feed_forward_size;
  each_in_parallel(rows, kActivationWork * size, [&](int row) {
    float* up = up_.data() + elements(row, size);
    if (config_->is_gated) {
      activate_gated(config_->activation, gate_.data() + elements(row, size), up, size);
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
  router_.choose(count_);
  std::fill_n(feed_forward_out_.data(), elements(count_, c.hidden_size), 0.0f);
  for (int expert = 0; expert < c.experts; ++expert) {
    const int rows = router_.gather(expert, input, c.hidden_size, expert_in_.data());
    if (rows == 0) continue;
    inputs_.set(expert_in_.data(), c.hidden_size, rows, c.hidden_size);
    project_inner(w.expert(LayerMatrix::up, expert), nullptr, w.expert(LayerMatrix::gate, expert), nullptr);
    activate_inner(rows);
    inner_.set(up_.data(), c.feed_forward_size, rows, c.feed_forward_size);
    project(Stage::down, inner_, {of(w.expert(LayerMatrix::down, expert), nullptr, expert_in_)});
    router_.scatter(expert, expert_in_.data(), c.hidden_size, feed_forward_out_.data());
  }
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

void Forward::project_inner(const WeightMatrix& up, const float* up_bias, const WeightMatrix& gate, const float* gate_bias) {
  if (config_->is_gated) {
    project(Stage::gate_and_up, inputs_, {of(up, up_bias, up_), of(gate, gate_bias, gate_)});
  } else {
    project(Stage::gate_and_up, inputs_, {of(up, up_bias, up_)});
  }
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
  const bool is_whole = config_->query_key_norm == QueryKeyNorm::all_heads;
  const int size = is_whole ? heads * head_dim : head_dim, parts = is_whole ? 1 : heads;
  const int weight_step = config_->query_key_norm == QueryKeyNorm::each_head ? head_dim : 0;
  if (weight == nullptr) return;
  const StageTimer timer(Stage::norm);
  each_in_parallel(count_, kRowWork * heads * head_dim, [&](int t) {
    float* row = rows + elements(t, heads * head_dim);
    for (int part = 0; part < parts; ++part, row += size) normalize(config_->norm, row, size, weight + part * weight_step, nullptr, row);
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
    if (!buffer->resize(rows(c.feed_forward_size))) return false;
  }
  return c.experts == 0 ||
         (expert_in_.resize(rows(c.hidden_size)) && router_.resize(c.experts, c.experts_used, c.normalizes_experts, count));
}

}  // namespace ropewalk
