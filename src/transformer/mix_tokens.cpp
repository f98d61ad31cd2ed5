// What lets the tokens of a layer see others: attention, a recurrent mixer, or both.
#include <algorithm>

#include "base/profile.h"
#include "base/thread_pool.h"
#include "recurrence/token_shift.h"
#include "transformer/forward.h"
#include "vectors/row_work.h"
#include "vectors/scale_rows.h"

namespace ropewalk {
namespace {

// Rows [first, first + count) of f32 heads, [rows][heads][head_dim]. Null pointers stay null.
HeadTensor rows_of(const HeadTensor& heads, int first, int count) {
  HeadTensor rows = heads;
  const std::ptrdiff_t at = elements(first, heads.shape.heads * heads.shape.head_dim);
  if (heads.source != nullptr) rows.source = static_cast<const float*>(heads.source) + at;
  if (heads.target != nullptr) rows.target = static_cast<float*>(heads.target) + at;
  rows.shape.tokens = count;
  return rows;
}

// Whether heads are normalized after they are rotated. Cached keys are normalized before, so that they can be rotated again: their norm
// doesn't see the rotation, but for the attention factor, which attention_options() takes from the scores.
bool normalizes_rotated(const ModelConfig& config, const LayerConfig& layer) {
  return config.query_key_norm == QueryKeyNorm::rotated || layer.has_unit_heads;
}

}  // namespace

void Forward::mix_tokens(int layer, const float* input) {
  const LayerConfig& l = weights_->layer_config(layer);
  const bool is_recurrent = l.recurrence != Recurrence::none;
  if (l.has_attention) attend(layer, scaled(input, config_->multipliers.attention_in));
  if (!is_recurrent) return;
  Buffer<float>& out = l.has_attention ? feed_forward_out_ : attention_out_;  // the former isn't in use yet
  recur(layer, scaled(input, config_->multipliers.recurrent_in), out.data());
  if (!l.has_attention) return;
  const int size = config_->hidden_size;
  each_in_parallel(count_, kRowWork * size, [&](int t) {
    float* row = attention_out_.data() + elements(t, size);
    const float* added = out.data() + elements(t, size);
    for (int i = 0; i < size; ++i) row[i] += added[i];
  });
}

void Forward::recur(int layer, const float* input, float* out) {
  const LayerConfig& l = weights_->layer_config(layer);
  const LayerWeights& w = weights_->layer(layer);
  const std::span<const StateRows> texts = state_rows(layer);
  if (status_ != Status::ok) return;
  if (l.recurrence == Recurrence::rwkv7) {
    rwkv_.run(projector(), *config_, l, w, input, texts, out);
  } else {
    recurrent_.run(projector(), *config_, l.recurrence, w, input, texts, out);
  }
}

const float* Forward::shifted(int layer, const float* input) {
  const float* share = weights_->layer(layer)[LayerVector::feed_forward_shift];
  if (share == nullptr) return input;
  const int size = config_->hidden_size;
  const std::size_t last = weights_->state_size(layer) - size;  // the part of the state after that of the mixer
  for (const StateRows& text : state_rows(layer)) {
    const float* rows = input + elements(text.first, size);
    shift_tokens(rows, text.count, size, share, text.from + last, shifted_.data() + elements(text.first, size));
    std::copy_n(rows + elements(text.count - 1, size), size, text.to + last);
  }
  return shifted_.data();
}

std::span<const StateRows> Forward::state_rows(int layer) {
  const std::size_t size = weights_->state_size(layer);
  const std::size_t texts = whole_texts_ == nullptr ? parts_.size() : static_cast<std::size_t>(whole_texts_->texts());
  const bool has_room = state_rows_.resize(texts) && (whole_texts_ == nullptr || text_states_.resize(2 * static_cast<std::uint64_t>(size)));
  if (!has_room) {
    keep_failure(Status::out_of_memory);
    return {};
  }
  if (whole_texts_ == nullptr) {
    for (std::size_t i = 0; i < texts; ++i) {
      const TextPart& part = parts_[i];
      state_rows_[i] = {part.first, part.count, part.memory.states->from(layer), part.memory.states->to(layer)};
    }
    return {state_rows_.data(), texts};
  }
  std::fill_n(text_states_.data(), size, 0.0f);
  for (std::size_t i = 0; i < texts; ++i) {
    const int first = whole_texts_->start(static_cast<int>(i)), end = whole_texts_->start(static_cast<int>(i) + 1);
    state_rows_[i] = {first, end - first, text_states_.data(), text_states_.data() + size};
  }
  return {state_rows_.data(), texts};
}

void Forward::project_heads(int layer, const float* input) {
  const ModelConfig& c = *config_;
  const LayerConfig& l = weights_->layer_config(layer);
  const LayerWeights& w = weights_->layer(layer);
  if (c.latent.latent > 0) return latent_.project(projector(), c, w, input, queries_.data(), keys_.data());
  const Product query = of(w[LayerMatrix::query], w[LayerVector::query_bias], queries_);
  const Product key = of(w[LayerMatrix::key], w[LayerVector::key_bias], keys_);
  const Product value = of(w[LayerMatrix::value], w[LayerVector::value_bias], values_);
  set(inputs_, input, c.hidden_size);
  if (c.gates_attention)
    project(Stage::query_key_value, inputs_, {of(w[LayerMatrix::attention_gate], w[LayerVector::attention_gate_bias], attention_gates_)});
  if (l.keys_of != kOwnKeys) return project(Stage::query_key_value, inputs_, {query});
  if (l.values_are_keys) {
    project(Stage::query_key_value, inputs_, {query, key});
    std::copy_n(keys_.data(), elements(count_, l.kv_heads * l.head_dim), values_.data());
  } else {
    project(Stage::query_key_value, inputs_, {query, key, value});
  }
  scale_rows(keys_.data(), count_, l.kv_heads * l.head_dim, c.multipliers.key);
  if (c.normalizes_values) normalize_rows(values_.data(), count_ * l.kv_heads, l.head_dim, ones_.data());
}

void Forward::attend(int layer, const float* input) {
  const ModelConfig& c = *config_;
  const LayerConfig& l = weights_->layer_config(layer);
  const LayerWeights& w = weights_->layer(layer);
  project_heads(layer, input);
  const float *query_norm = w[LayerVector::query_norm], *key_norm = w[LayerVector::key_norm];
  const bool is_norm_of_rotated = normalizes_rotated(c, l), has_keys = l.keys_of == kOwnKeys;
  if (l.has_unit_heads) {
    query_norm = ones_.data();
  } else if (is_norm_of_rotated) {
    // A weight that a cached key was multiplied by after its rotation would be in the way of another rotation, so both are the queries'.
    for (int i = 0; i < l.head_dim; ++i) head_norms_[i] = query_norm[i] * key_norm[i];
    query_norm = head_norms_.data();
  }
  if (!is_norm_of_rotated) normalize_heads(queries_.data(), c.heads, l.head_dim, query_norm);
  if (has_keys && !is_norm_of_rotated) normalize_heads(keys_.data(), l.kv_heads, l.head_dim, key_norm);
  if (has_keys && is_norm_of_rotated) normalize_keys_as_rotated(l);
  if (status_ != Status::ok) return;

  const auto heads_of = [this, &l](float* source, float* target, int heads) {
    return HeadTensor{source, target, DType::f32, Layout::thd, {1, count_, heads, l.head_dim}};
  };
  NewTokens tokens;
  tokens.queries = heads_of(queries_.data(), queries_.data(), c.heads);
  tokens.keys = heads_of(keys_.data(), keys_.data(), l.kv_heads);
  tokens.values = heads_of(values_.data(), nullptr, l.kv_heads);
  {
    const StageTimer timer(Stage::rotate_and_append);
    keep_failure(append_heads(l, weights_->is_read_later(layer), tokens));
  }
  if (status_ != Status::ok) return;
  if (is_norm_of_rotated) normalize_heads(queries_.data(), c.heads, l.head_dim, query_norm);

  const int query_size = c.heads * l.head_dim;
  std::copy_n(queries_.data() + elements(count_ - 1, query_size), query_size, last_queries_.data() + elements(layer, c.heads * c.head_dim));
  AttentionOptions options = attention_options(*weights_, layer);
  if (l.has_temperature) options.temperatures = temperatures();
  tokens.queries.target = attended_.data();
  {
    const StageTimer timer(Stage::attention);
    keep_failure(attend_heads(l, tokens.queries, options));
  }
  const float* heads = attended_.data();
  if (c.latent.latent > 0) heads = latent_.values(projector(), c, w, heads);
  if (c.gates_attention) {
    const StageTimer timer(Stage::activation);
    each_in_parallel(count_, kActivationWork * query_size, [&](int t) {
      float *gate = attention_gates_.data() + elements(t, query_size), *row = attended_.data() + elements(t, query_size);
      sigmoid(gate, query_size);
      for (int i = 0; i < query_size; ++i) row[i] *= gate[i];
    });
  }
  normalize_rows(attended_.data(), count_, query_size, w[LayerVector::attention_sub_norm]);
  set(inner_, heads, w[LayerMatrix::output].columns);
  project(Stage::attention_output, inner_, {of(w[LayerMatrix::output], w[LayerVector::output_bias], attention_out_)});
  scale_rows(attention_out_.data(), count_, c.hidden_size, c.multipliers.attention_out);
}

void Forward::normalize_keys_as_rotated(const LayerConfig& layer) {
  const StageTimer timer(Stage::norm);
  const auto normalize_part = [&](int first, int count, double factor) {
    Norm norm = config_->norm;
    norm.epsilon = static_cast<float>(norm.epsilon / (factor * factor));
    float* rows = keys_.data() + elements(first, layer.kv_heads * layer.head_dim);
    each_in_parallel(count * layer.kv_heads, kRowWork * layer.head_dim, [&](int i) {
      float* row = rows + elements(i, layer.head_dim);
      normalize(norm, row, layer.head_dim, ones_.data(), nullptr, row);
    });
  };
  for (const TextPart& part : parts())
    normalize_part(part.first, part.count, part.memory.cache->attention_factor(layer.cache_layer, part.memory.sequence));
  for (int text = 0; whole_texts_ != nullptr && text < whole_texts_->texts(); ++text) {
    const int first = whole_texts_->start(text);
    normalize_part(first, whole_texts_->start(text + 1) - first, whole_texts_->attention_factor(layer.cache_layer, text));
  }
}

Status Forward::append_heads(const LayerConfig& layer, bool is_read_later, const NewTokens& heads) {
  const bool has_keys = layer.keys_of == kOwnKeys;
  if (whole_texts_ != nullptr) {
    if (!has_keys) return whole_texts_->rotate_queries(layer.cache_layer, heads.queries);
    return whole_texts_->append(layer.cache_layer, heads, is_read_later);
  }
  for (const TextPart& part : parts()) {
    NewTokens tokens;
    tokens.queries = rows_of(heads.queries, part.first, part.count);
    tokens.keys = rows_of(heads.keys, part.first, part.count);
    tokens.values = rows_of(heads.values, part.first, part.count);
    KvCache& cache = *part.memory.cache;
    const Status status = has_keys ? cache.append(layer.cache_layer, part.memory.sequence, tokens)
                                   : cache.rotate_queries(layer.cache_layer, part.memory.sequence, tokens.queries);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

Status Forward::attend_heads(const LayerConfig& layer, const HeadTensor& queries, AttentionOptions options) {
  if (whole_texts_ != nullptr) return whole_texts_->attend(layer.cache_layer, queries, options);
  const float* const temperatures = options.temperatures;
  for (const TextPart& part : parts()) {
    if (temperatures != nullptr) options.temperatures = temperatures + part.first;
    const HeadTensor rows = rows_of(queries, part.first, part.count);
    const Status status = part.memory.cache->attend(layer.cache_layer, part.memory.sequence, rows, options);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

AttentionOptions Forward::attention_options(const Weights& weights, int layer) {
  const LayerConfig& l = weights.layer_config(layer);
  AttentionOptions options;
  options.has_normalized_keys = normalizes_rotated(weights.config(), l.keys_of == kOwnKeys ? l : weights.layer_config(l.keys_of));
  options.scale = weights.config().attention_scale;
  options.soft_cap = weights.config().attention_soft_cap;
  options.causal = weights.config().is_causal;
  options.window = l.window;
  options.chunk = l.chunk;
  options.sinks = weights.layer(layer)[LayerVector::sinks];
  return options;
}

void Forward::write_temperatures(const KvCache& cache, int sequence, int count, float* out) const {
  const KvSequence& cached = cache.sequence(sequence);
  for (int t = 0; t < count; ++t)
    out[t] = static_cast<float>(query_temperature(config_->temperature, cached.position(0, cached.tokens() - count + t)));
}

const float* Forward::temperatures() {
  for (const TextPart& part : parts())
    write_temperatures(*part.memory.cache, part.memory.sequence, part.count, temperatures_.data() + part.first);
  for (int t = 0; whole_texts_ != nullptr && t < count_; ++t)
    temperatures_[t] = static_cast<float>(query_temperature(config_->temperature, whole_texts_->position(t)));
  return temperatures_.data();
}

Status Forward::attention_weights(const Weights& weights, KvCache& cache, int sequence, int layer, float* out) {
  const ModelConfig& c = weights.config();
  if (layer < 0 || layer >= c.layers) return Status::layer_out_of_range;
  if (count_ == 0) return Status::token_count_out_of_range;
  const LayerConfig& l = weights.layer_config(layer);
  if (!l.has_attention) return Status::layer_out_of_range;
  AttentionOptions options = attention_options(weights, layer);
  if (l.has_temperature) {
    write_temperatures(cache, sequence, 1, temperatures_.data());
    options.temperatures = temperatures_.data();
  }
  const float* query = last_queries_.data() + elements(layer, c.heads * c.head_dim);
  return cache.weights(l.cache_layer, sequence, cache.sequence(sequence).written(l.cache_layer), query, c.heads, options, out);
}

Status Forward::attention_weights(int token, float* out) {
  if (token < 0 || token >= count_ || parts_.size() != 1) return Status::token_count_out_of_range;
  const int layer = next_layer_ - 1;
  if (layer < 0 || !weights_->layer_config(layer).has_attention) return Status::layer_out_of_range;
  const LayerConfig& l = weights_->layer_config(layer);
  AttentionOptions options = attention_options(*weights_, layer);
  if (l.has_temperature) options.temperatures = temperatures_.data() + token;
  const float* query = queries_.data() + elements(token, config_->heads * l.head_dim);
  const TextPart& part = parts_[0];
  return part.memory.cache->weights(l.cache_layer, part.memory.sequence, part.before + token + 1, query, config_->heads, options, out);
}

}  // namespace ropewalk
