#include "transformer/forward.h"

#include "base/thread_pool.h"
#include "transformer/blocks/embedding.h"
#include "vectors/normalize_rows.h"
#include "vectors/row_work.h"
#include "vectors/scale_rows.h"

namespace ropewalk {

Status Forward::run(const Weights& weights, std::span<const TextTokens> texts) {
  const Status status = begin(weights, texts);
  return status == Status::ok ? run_layers() : status;
}

Status Forward::run(const Weights& weights, WholeTexts& texts, const int* tokens, const float* rows) {
  count_ = 0;
  if (const Status status = sequences_.take(weights, texts, tokens); status != Status::ok) return status;
  added_rows_ = rows;
  const Status status = begin(weights);
  return status == Status::ok ? run_layers() : status;
}

Status Forward::run_layers() {
  while (next_layer_ < weights_->config().layers && status_ == Status::ok) run_next_layer();
  return end();
}

Status Forward::begin(const Weights& weights, std::span<const TextTokens> texts) {
  count_ = 0;
  if (const Status status = sequences_.take(weights, texts); status != Status::ok) return status;
  added_rows_ = nullptr;
  return begin(weights);
}

Status Forward::begin(const Weights& weights) {
  weights_ = &weights;
  if (!allocate(sequences_.tokens())) return Status::out_of_memory;
  count_ = sequences_.tokens();
  next_layer_ = 0;
  status_ = Status::ok;
  sequences_.begin();
  embed(pass(weights), added_rows_, normed_.data(), residual_.data());
  if (weights.config().per_layer.size > 0) per_layer_.begin(pass(weights), residual_.data());
  if (status_ != Status::ok) count_ = 0;
  return status_;
}

bool Forward::allocate(int count) {
  const ModelConfig& c = weights_->config();
  const std::uint64_t hidden = static_cast<std::uint64_t>(count) * c.hidden_size;
  return resize({{&residual_, hidden}, {&normed_, hidden}, {&mixed_, hidden}, {&feed_forward_out_, hidden}}) &&
         token_mixer_.allocate(*weights_, count) && feed_forward_.allocate(*weights_, count) && per_layer_.allocate(c, count);
}

Status Forward::run_next_layer() {
  run_layer(next_layer_++);
  return status_;
}

void Forward::run_layer(int layer) {
  const ForwardPass run = pass(*weights_);
  const ModelConfig& c = run.config();
  const LayerConfig& l = weights_->layer_config(layer);
  const LayerWeights& w = weights_->layer(layer);
  float *x = residual_.data(), *mixed = mixed_.data(), *fed = feed_forward_out_.data();
  const auto normalized_x = [&](LayerVector weight, LayerVector bias) {
    return normalized_rows(c.norm, x, count_, c.hidden_size, w[weight], w[bias], normed_.data());
  };
  const auto add_mixed = [&] { add_to_residual(mixed, w[LayerVector::attention_post_norm], w[LayerVector::attention_post_norm_bias]); };

  per_layer_.predict(run, layer, x);
  const float* input = x;
  if (mixes_tokens(l)) {
    input = normalized_x(LayerVector::attention_norm, LayerVector::attention_norm_bias);
    token_mixer_.run(run, layer, input, mixed);
    if (!c.is_parallel) add_mixed();
  }
  per_layer_.add_laurel(run, layer, input, x);

  if (!l.has_feed_forward) return;
  // In a parallel layer, feed-forward has the input of attention, unless it has its own norm.
  const bool shares_input = c.is_parallel && w[LayerVector::feed_forward_norm] == nullptr;
  if (!shares_input) input = normalized_x(LayerVector::feed_forward_norm, LayerVector::feed_forward_norm_bias);
  feed_forward_.run(run, layer, input, x, fed);
  if (c.is_parallel) add_mixed();
  add_to_residual(fed, w[LayerVector::feed_forward_post_norm], w[LayerVector::feed_forward_post_norm_bias]);
  per_layer_.end_layer(run, layer, x);
}

void Forward::add_to_residual(float* rows, const float* post_norm, const float* bias) {
  const StageTimer timer(Stage::residual);
  const ModelConfig& c = weights_->config();
  const int size = c.hidden_size;
  each_in_parallel(count_, kRowWork * size, [&](int t) {
    float *row = rows + elements(t, size), *x = residual_.data() + elements(t, size);
    if (post_norm != nullptr && !c.normalizes_residual) normalize(c.norm, row, size, post_norm, bias, row);
    add_row(row, size, c.residual_scale, x);
    if (post_norm != nullptr && c.normalizes_residual) normalize(c.norm, x, size, post_norm, bias, x);
  });
}

Status Forward::end() {
  const ForwardPass run = pass(*weights_);
  if (run.config().per_layer.size > 0) per_layer_.merge(run, residual_.data());
  hidden_ = Head::normalize(run, residual_.data(), normed_.data());
  run.multiply.keep(thread_pool().status());
  if (!sequences_.are_whole() && !hidden_are_finite()) run.multiply.keep(Status::hidden_not_finite);
  if (status_ == Status::ok) {
    sequences_.commit();
  } else {
    cancel();
  }
  return status_;
}

// A damaged weight of a layer stays visible in the sum of the layers, while products of quantized inputs would hide it.
bool Forward::hidden_are_finite() const {
  float sum = 0;  // 0 · x is NaN for every x that isn't finite
  for (std::ptrdiff_t i = 0, size = elements(count_, weights_->config().hidden_size); i < size; ++i) sum += 0 * hidden_[i];
  return sum == 0;
}

void Forward::cancel() {
  sequences_.cancel();
  count_ = 0;
}

Status Forward::logits(const Weights& weights, int first, int count, float* out) {
  if (first < 0 || count < 1 || first > count_ - count) return Status::token_count_out_of_range;
  status_ = Status::ok;
  return head_.logits(pass(weights), hidden_ + elements(first, weights.config().hidden_size), count, out);
}

Status Forward::last_logits(const Weights& weights, float* const* out) {
  if (count_ == 0 || sequences_.are_whole()) return Status::token_count_out_of_range;
  status_ = Status::ok;
  return head_.last_logits(pass(weights), hidden_, out);
}

Status Forward::attention_weights(const Weights& weights, KvCache& cache, int sequence, int layer, float* out) {
  if (layer < 0 || layer >= weights.config().layers) return Status::layer_out_of_range;
  if (count_ == 0) return Status::token_count_out_of_range;
  if (!weights.layer_config(layer).has_attention) return Status::layer_out_of_range;
  return token_mixer_.attention().weights_of_last(weights, cache, sequence, layer, out);
}

Status Forward::attention_weights(int token, float* out) {
  const bool has_one_memory = sequences_.parts().size() == 1 && !sequences_.are_whole();
  if (token < 0 || token >= count_ || !has_one_memory) return Status::token_count_out_of_range;
  const int layer = next_layer_ - 1;
  if (layer < 0 || !weights_->layer_config(layer).has_attention) return Status::layer_out_of_range;
  return token_mixer_.attention().weights_of_token(pass(*weights_), layer, token, out);
}

}  // namespace ropewalk
