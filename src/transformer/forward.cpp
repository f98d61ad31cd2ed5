#include "transformer/forward.h"

#include <algorithm>
#include <initializer_list>

#include "base/float_math.h"
#include "base/profile.h"
#include "base/thread_pool.h"
#include "vectors/row_work.h"
#include "vectors/scale_rows.h"

namespace ropewalk {

Status Forward::run(const Weights& weights, std::span<const TextTokens> texts) {
  const Status status = begin(weights, texts);
  return status == Status::ok ? run_layers() : status;
}

Status Forward::run(const Weights& weights, WholeTexts& texts, const int* tokens) {
  count_ = 0;
  if (const Status status = check(weights, texts); status != Status::ok) return status;
  if (!tokens_.resize(texts.tokens()) || !parts_.resize(0)) return Status::out_of_memory;
  std::copy_n(tokens, texts.tokens(), tokens_.data());
  whole_texts_ = &texts;
  const Status status = begin(weights);
  return status == Status::ok ? run_layers() : status;
}

Status Forward::begin(const Weights& weights, std::span<const TextTokens> texts) {
  count_ = 0;
  if (const Status status = check(weights, texts); status != Status::ok) return status;
  int count = 0;
  for (const TextTokens& text : texts) count += text.count;
  if (!tokens_.resize(count) || !parts_.resize(texts.size())) return Status::out_of_memory;
  int first = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const TextMemory& memory = texts[i].memory;
    parts_[i] = {memory, first, texts[i].count, memory.cache->sequence(memory.sequence).tokens()};
    std::copy_n(texts[i].tokens, texts[i].count, tokens_.data() + first);
    first += texts[i].count;
  }
  whole_texts_ = nullptr;
  return begin(weights);
}

Status Forward::begin(const Weights& weights) {
  const int count = static_cast<int>(tokens_.size());
  for (int t = 0; t < count; ++t) {
    if (tokens_[t] < 0 || tokens_[t] >= weights.config().vocabulary_size) return Status::token_out_of_range;
  }
  weights_ = &weights;
  config_ = &weights.config();
  if (!allocate(*config_, count)) return Status::out_of_memory;
  count_ = count;
  next_layer_ = 0;
  status_ = Status::ok;

  for (const TextPart& part : parts()) {
    if (part.memory.states != nullptr) part.memory.states->begin();
  }
  embed();
  if (config_->per_layer.size > 0) per_layer_.begin(projector(), weights, tokens_.data(), residual_.data());
  if (status_ != Status::ok) count_ = 0;
  return status_;
}

Status Forward::run_layers() {
  while (next_layer_ < config_->layers && status_ == Status::ok) run_next_layer();
  return end();
}

Status Forward::run_next_layer() {
  run_layer(next_layer_++);
  return status_;
}

Status Forward::end() {
  if (config_->per_layer.size > 0) per_layer_.merge(projector(), *weights_, residual_.data());
  hidden_ = normalized(residual_.data(), (*weights_)[ModelVector::final_norm], (*weights_)[ModelVector::final_norm_bias], normed_);
  keep_failure(thread_pool().status());
  if (whole_texts_ == nullptr && !hidden_are_finite()) keep_failure(Status::hidden_not_finite);
  if (status_ != Status::ok) {
    cancel();
    return status_;
  }
  for (const TextPart& part : parts()) {
    if (part.memory.states != nullptr) part.memory.states->commit(part.count);
  }
  return status_;
}

void Forward::cancel() {
  for (const TextPart& part : parts()) part.memory.cache->truncate(part.memory.sequence, part.before);
  count_ = 0;
}

// A damaged weight of a layer stays visible in the sum of the layers, while products of quantized inputs would hide it.
bool Forward::hidden_are_finite() const {
  float sum = 0;  // 0 · x is NaN for every x that isn't finite
  for (std::ptrdiff_t i = 0, size = elements(count_, config_->hidden_size); i < size; ++i) sum += 0 * hidden_[i];
  return sum == 0;
}

void Forward::embed() {
  const StageTimer timer(Stage::embedding);
  const ModelConfig& c = *config_;
  const float* norm = (*weights_)[ModelVector::embedding_norm];
  each_in_parallel(count_, kRowWork * c.hidden_size, [&](int t) {
    float* x = residual_.data() + elements(t, c.hidden_size);
    read_row(weights_->embedding(), tokens_[t], x);
    for (int i = 0; i < c.hidden_size; ++i) x[i] *= c.embedding_scale;
    const bool is_whole = whole_texts_ != nullptr;
    if (is_whole && c.positions > 0) add_row((*weights_)[ModelMatrix::positions], whole_texts_->position(t), t);
    if (is_whole && c.token_types > 0) add_row((*weights_)[ModelMatrix::token_types], whole_texts_->type(t), t);
    if (norm != nullptr) normalize(c.norm, x, c.hidden_size, norm, (*weights_)[ModelVector::embedding_norm_bias], x);
  });
}

void Forward::add_row(const WeightMatrix& embedding, int row, int token) {
  float *x = residual_.data() + elements(token, embedding.columns), *added = normed_.data() + elements(token, embedding.columns);
  read_row(embedding, row, added);
  for (int i = 0; i < embedding.columns; ++i) x[i] += added[i];
}

void Forward::run_layer(int layer) {
  const LayerWeights& w = weights_->layer(layer);
  float* x = residual_.data();

  per_layer_.predict(projector(), *weights_, layer, x);
  const float* input = x;
  const auto add_mixed = [&] {
    add_to_residual(attention_out_, w[LayerVector::attention_post_norm], w[LayerVector::attention_post_norm_bias]);
  };
  if (mixes_tokens(weights_->layer_config(layer))) {
    input = normalized(x, w[LayerVector::attention_norm], w[LayerVector::attention_norm_bias], normed_);
    mix_tokens(layer, input);
    if (!config_->is_parallel) add_mixed();
  }
  per_layer_.add_laurel(projector(), *weights_, layer, input, x);

  if (!weights_->layer_config(layer).has_feed_forward) return;
  // in a parallel layer, feed-forward has the input of attention, unless it has its own norm
  const bool shares_input = config_->is_parallel && w[LayerVector::feed_forward_norm] == nullptr;
  if (!shares_input) input = normalized(x, w[LayerVector::feed_forward_norm], w[LayerVector::feed_forward_norm_bias], normed_);
  feed_forward(layer, input);
  if (config_->is_parallel) add_mixed();
  add_to_residual(feed_forward_out_, w[LayerVector::feed_forward_post_norm], w[LayerVector::feed_forward_post_norm_bias]);
  per_layer_.end_layer(projector(), *weights_, layer, x);
}

void Forward::feed_forward(int layer, const float* unshifted) {
  const LayerWeights& w = weights_->layer(layer);
  const LayerConfig& l = weights_->layer_config(layer);
  const float* input = shifted(layer, unshifted);
  if (l.has_experts) return use_experts(layer, input);
  const int size = config_->hidden_size;
  for (int first = 0; first < count_; first += kForwardTokens) {  // the inner rows of a long text would need much memory
    const int rows = std::min(kForwardTokens, count_ - first);
    inputs_.set(input + elements(first, size), size, rows, size);
    run_block(w.feed_forward(), l, rows, feed_forward_out_.data() + elements(first, size));
  }
}

void Forward::run_block(const FeedForwardWeights& w, const LayerConfig& layer, int rows, float* out) {
  const int size = w.up.rows;
  if (config_->is_gated) {
    project(Stage::gate_and_up, inputs_, {of(w.up, w.up_bias, up_), of(w.gate, w.gate_bias, gate_)});
  } else {
    project(Stage::gate_and_up, inputs_, {of(w.up, w.up_bias, up_)});
  }
  activate_inner(w, layer, rows, size);
  normalize_rows(up_.data(), rows, size, w.sub_norm);
  inner_.set(up_.data(), size, rows, size);
  project(Stage::down, inner_, {{&w.down, w.down_bias, out, w.down.rows}});
  scale_rows(out, rows, w.down.rows, config_->multipliers.down);
}

void Forward::activate_inner(const FeedForwardWeights& w, const LayerConfig& layer, int rows, int size) {
  const ModelConfig& c = *config_;
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

// Runs each token through the experts that the router chose for it. Works expert by expert, so that each expert's weights are read once for
// all its tokens.
void Forward::use_experts(int layer, const float* input) {
  const ModelConfig& c = *config_;
  const LayerWeights& w = weights_->layer(layer);
  const auto input_with = [&](LayerVector norm) {
    return w[norm] == nullptr ? input : normalized(residual_.data(), w[norm], nullptr, routed_);
  };
  set(inputs_, input_with(LayerVector::router_norm), c.hidden_size);
  project(Stage::gate_and_up, inputs_, {{&w[LayerMatrix::router], w[LayerVector::router_logit_bias], router_.scores(), c.experts}});
  router_.choose(count_, w[LayerVector::router_bias], w[LayerVector::expert_scales]);
  const float* routed = input_with(LayerVector::expert_norm);
  std::fill_n(feed_forward_out_.data(), elements(count_, c.hidden_size), 0.0f);
  for (int expert = 0; expert < c.experts; ++expert) {
    const int rows = router_.gather(expert, routed, c.hidden_size, expert_in_.data());
    if (rows == 0) continue;
    inputs_.set(expert_in_.data(), c.hidden_size, rows, c.hidden_size);
    run_block(w.expert(expert), weights_->layer_config(layer), rows, expert_in_.data());
    router_.scatter(expert, expert_in_.data(), c.hidden_size, feed_forward_out_.data());
  }
  normalize_rows(feed_forward_out_.data(), count_, c.hidden_size, w[LayerVector::expert_post_norm]);
  if (c.shared_expert_size > 0) use_shared_expert(layer, input);
}

void Forward::use_shared_expert(int layer, const float* input) {
  const LayerWeights& w = weights_->layer(layer);
  const int size = config_->hidden_size;
  const float* gate = w[LayerVector::shared_expert_gate];
  set(inputs_, input, size);
  std::fill_n(gate_terms_.data(), count_, 0.0f);
  const Product terms = {&w.shared_expert_gate(), nullptr, gate_terms_.data(), 1};
  if (status_ == Status::ok && gate != nullptr) keep_failure(adapters_.add_terms(*kernels_, terms, inputs_));
  run_block(w.expert(config_->experts), weights_->layer_config(layer), count_, expert_in_.data());
  normalize_rows(expert_in_.data(), count_, size, w[LayerVector::shared_expert_post_norm]);
  each_in_parallel(count_, kRowWork * size, [&](int t) {
    const float* row = expert_in_.data() + elements(t, size);
    float* out = feed_forward_out_.data() + elements(t, size);
    double score = gate_terms_[t];
    for (int i = 0; gate != nullptr && i < size; ++i) score += static_cast<double>(gate[i]) * input[elements(t, size) + i];
    const float share = gate == nullptr ? 1 : sigmoid_f32(static_cast<float>(score));
    for (int i = 0; i < size; ++i) out[i] += share * row[i];
  });
}

Status Forward::logits(const Weights& weights, int first, int count, float* out) {
  if (first < 0 || count < 1 || first > count_ - count) return Status::token_count_out_of_range;
  status_ = Status::ok;
  project_logits(weights, hidden_ + elements(first, weights.config().hidden_size), count, out);
  return status_;
}

Status Forward::last_logits(const Weights& weights, float* const* out) {
  if (count_ == 0 || parts_.size() == 0) return Status::token_count_out_of_range;
  const int hidden = weights.config().hidden_size, vocabulary = weights.config().vocabulary_size, count = static_cast<int>(parts_.size());
  if (!last_hidden_.resize(static_cast<std::uint64_t>(count) * hidden) ||
      !last_logits_.resize(static_cast<std::uint64_t>(count) * vocabulary))
    return Status::out_of_memory;
  for (int i = 0; i < count; ++i) {
    const int last = parts_[i].first + parts_[i].count - 1;
    std::copy_n(hidden_ + elements(last, hidden), hidden, last_hidden_.data() + elements(i, hidden));
  }
  status_ = Status::ok;
  project_logits(weights, last_hidden_.data(), count, last_logits_.data());
  if (status_ != Status::ok) return status_;
  for (int i = 0; i < count; ++i) std::copy_n(last_logits_.data() + elements(i, vocabulary), vocabulary, out[i]);
  return status_;
}

void Forward::project_logits(const Weights& weights, const float* rows, int count, float* out) {
  const ModelConfig& c = weights.config();
  inputs_.set(rows, c.hidden_size, count, c.hidden_size);
  project(Stage::head, inputs_, {{&weights.head(), weights[ModelVector::head_bias], out, c.vocabulary_size}});
  const std::ptrdiff_t size = elements(count, c.vocabulary_size);
  if (c.logit_scale != 1) {
    for (std::ptrdiff_t i = 0; i < size; ++i) out[i] *= c.logit_scale;
  }
  if (c.logit_soft_cap != 0) {
    for (std::ptrdiff_t i = 0; i < size; ++i) out[i] = c.logit_soft_cap * tanh_f32(out[i] / c.logit_soft_cap);
  }
}

void Forward::project(Stage stage, Activations& x, std::initializer_list<Product> products) { projector()(stage, x, products); }

const float* Forward::normalized(const float* rows, const float* weight, const float* bias, Buffer<float>& out) {
  if (weight == nullptr) return rows;
  const StageTimer timer(Stage::norm);
  const int size = config_->hidden_size;
  each_in_parallel(count_, kRowWork * size,
                   [&](int t) { normalize(config_->norm, rows + elements(t, size), size, weight, bias, out.data() + elements(t, size)); });
  return out.data();
}

const float* Forward::scaled(const float* rows, float factor) {
  if (factor == 1) return rows;
  std::copy_n(rows, elements(count_, config_->hidden_size), scaled_.data());
  scale_rows(scaled_.data(), count_, config_->hidden_size, factor);
  return scaled_.data();
}

void Forward::normalize_heads(float* rows, int heads, int head_dim, const float* weight) const {
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

void Forward::add_to_residual(Buffer<float>& rows, const float* post_norm, const float* bias) {
  const StageTimer timer(Stage::residual);
  const int size = config_->hidden_size;
  const bool is_of_sum = config_->normalizes_residual;
  each_in_parallel(count_, kRowWork * size, [&](int t) {
    float* row = rows.data() + elements(t, size);
    float* x = residual_.data() + elements(t, size);
    if (post_norm != nullptr && !is_of_sum) normalize(config_->norm, row, size, post_norm, bias, row);
    for (int i = 0; i < size; ++i) x[i] += config_->residual_scale * row[i];
    if (post_norm != nullptr && is_of_sum) normalize(config_->norm, x, size, post_norm, bias, x);
  });
}

}  // namespace ropewalk
