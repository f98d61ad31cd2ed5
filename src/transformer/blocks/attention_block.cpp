#include "transformer/blocks/attention_block.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "vectors/normalize_rows.h"
#include "vectors/row_work.h"
#include "vectors/scale_rows.h"

namespace ropewalk {
namespace {

// Whether heads are normalized after they are rotated. Cached keys are normalized before, so that they can be rotated again: their norm
// doesn't see the rotation, but for the attention factor, which options_of() takes from the scores.
bool normalizes_rotated(const ModelConfig& config, const LayerConfig& layer) {
  return config.query_key_norm == QueryKeyNorm::rotated || layer.has_unit_heads;
}

AttentionOptions options_of(const Weights& weights, int layer) {
  const LayerConfig& l = weights.layer_config(layer);
  AttentionOptions options;
  options.has_normalized_keys = normalizes_rotated(weights.config(), l.keys_of == kOwnKeys ? l : weights.layer_config(l.keys_of));
  options.scale = weights.config().attention_scale;
  options.soft_cap = weights.config().attention_soft_cap;
  options.causal = weights.config().is_causal;
  options.window = l.window;
  options.chunk = l.chunk;
  if (weights.config().relative_buckets > 0) {
    options.position.scheme = PositionScheme::t5;
    options.position.t5 = relative_rule(weights.config());
    options.position.table = weights[ModelVector::relative_bias];
  }
  options.sinks = weights.layer(layer)[LayerVector::sinks];
  return options;
}

}  // namespace

bool AttentionBlock::allocate(const ModelConfig& c, int count) {
  const auto rows = [count](int size) { return static_cast<std::uint64_t>(count) * size; };
  const std::uint64_t queries = rows(c.heads * c.head_dim), keys = rows(c.kv_heads * c.head_dim), head_dim = c.head_dim;
  const bool has_memory = resize({{&queries_, queries},
                                  {&attended_, queries},
                                  {&gates_, rows(gate_size(c.attention_gate, c.heads, c.head_dim))},
                                  {&keys_, keys},
                                  {&values_, keys},
                                  {&last_queries_, static_cast<std::uint64_t>(c.layers) * c.heads * c.head_dim},
                                  {&rotated_weight_, head_dim},
                                  {&ones_, head_dim},
                                  {&temperatures_, rows(1)}});
  if (!has_memory) return false;
  std::fill_n(ones_.data(), c.head_dim, 1.0f);
  return c.latent.latent == 0 || latent_.allocate(c, count);
}

void AttentionBlock::run(const ForwardPass& pass, int layer, const float* input, float* out) {
  const ModelConfig& c = pass.config();
  const LayerConfig& l = pass.weights.layer_config(layer);
  const LayerWeights& w = pass.weights.layer(layer);
  project_heads(pass, layer, input);
  rotate_and_append(pass, layer);
  if (pass.multiply.has_failed()) return;

  const int query_size = c.heads * l.head_dim;
  std::copy_n(queries_.data() + elements(pass.count - 1, query_size), query_size,
              last_queries_.data() + elements(layer, c.heads * c.head_dim));
  AttentionOptions options = options_of(pass.weights, layer);
  if (l.has_temperature) {
    pass.sequences.write_temperatures(c.temperature, temperatures_.data());
    options.temperatures = temperatures_.data();
  }
  {
    const StageTimer timer(Stage::attention);
    const HeadTensor heads = {queries_.data(), attended_.data(), DType::f32, Layout::thd, {1, pass.count, c.heads, l.head_dim}};
    pass.multiply.keep(pass.sequences.attend(l, heads, options));
  }
  const float* heads = attended_.data();
  if (c.latent.latent > 0) heads = latent_.values(pass, w, heads);
  apply_gates(c.attention_gate, pass.count, c.heads, l.head_dim);
  normalize_rows(c.norm, attended_.data(), pass.count, query_size, w[LayerVector::attention_sub_norm]);
  const int columns = w[LayerMatrix::output].columns;
  output_.set(heads, columns, pass.count, columns);
  pass.multiply(Stage::attention_output, output_, {product_of(w[LayerMatrix::output], w[LayerVector::output_bias], out)});
  scale_rows(out, pass.count, c.hidden_size, c.multipliers.attention_out);
}

void AttentionBlock::project_heads(const ForwardPass& pass, int layer, const float* input) {
  const ModelConfig& c = pass.config();
  const LayerConfig& l = pass.weights.layer_config(layer);
  const LayerWeights& w = pass.weights.layer(layer);
  if (c.latent.latent > 0) return latent_.project(pass, w, input, queries_.data(), keys_.data());
  const Product query = product_of(w[LayerMatrix::query], w[LayerVector::query_bias], queries_.data());
  const Product key = product_of(w[LayerMatrix::key], w[LayerVector::key_bias], keys_.data());
  const Product value = product_of(w[LayerMatrix::value], w[LayerVector::value_bias], values_.data());
  input_.set(input, c.hidden_size, pass.count, c.hidden_size);
  if (c.attention_gate != AttentionGate::none) {
    const Product gate = product_of(w[LayerMatrix::attention_gate], w[LayerVector::attention_gate_bias], gates_.data());
    pass.multiply(Stage::query_key_value, input_, {gate});
  }
  if (l.keys_of != kOwnKeys) return pass.multiply(Stage::query_key_value, input_, {query});
  if (l.values_are_keys) {
    pass.multiply(Stage::query_key_value, input_, {query, key});
    std::copy_n(keys_.data(), elements(pass.count, l.kv_heads * l.head_dim), values_.data());
  } else {
    pass.multiply(Stage::query_key_value, input_, {query, key, value});
  }
  scale_rows(keys_.data(), pass.count, l.kv_heads * l.head_dim, c.multipliers.key);
  if (c.normalizes_values) normalize_rows(c.norm, values_.data(), pass.count * l.kv_heads, l.head_dim, ones_.data());
}

void AttentionBlock::rotate_and_append(const ForwardPass& pass, int layer) {
  const ModelConfig& c = pass.config();
  const LayerConfig& l = pass.weights.layer_config(layer);
  const LayerWeights& w = pass.weights.layer(layer);
  const float *query_norm = w[LayerVector::query_norm], *key_norm = w[LayerVector::key_norm];
  const bool is_norm_of_rotated = normalizes_rotated(c, l), has_keys = l.keys_of == kOwnKeys;
  if (l.has_unit_heads) {
    query_norm = ones_.data();
  } else if (is_norm_of_rotated) {
    // A weight that a cached key was multiplied by after its rotation would be in the way of another rotation, so both are the queries'.
    for (int i = 0; i < l.head_dim; ++i) rotated_weight_[i] = query_norm[i] * key_norm[i];
    query_norm = rotated_weight_.data();
  }
  if (!is_norm_of_rotated) normalize_heads(pass, c.heads, l.head_dim, query_norm, queries_);
  if (has_keys && !is_norm_of_rotated) normalize_heads(pass, l.kv_heads, l.head_dim, key_norm, keys_);
  if (has_keys && is_norm_of_rotated) normalize_keys_as_rotated(pass, l);
  if (pass.multiply.has_failed()) return;
  {
    const StageTimer timer(Stage::rotate_and_append);
    const auto heads_of = [&](float* source, float* target, int heads) {
      return HeadTensor{source, target, DType::f32, Layout::thd, {1, pass.count, heads, l.head_dim}};
    };
    NewTokens tokens;
    tokens.queries = heads_of(queries_.data(), queries_.data(), c.heads);
    tokens.keys = heads_of(keys_.data(), keys_.data(), l.kv_heads);
    tokens.values = heads_of(values_.data(), nullptr, l.kv_heads);
    pass.multiply.keep(pass.sequences.append(l, tokens, pass.weights.is_read_later(layer)));
  }
  if (is_norm_of_rotated && !pass.multiply.has_failed()) normalize_heads(pass, c.heads, l.head_dim, query_norm, queries_);
}

void AttentionBlock::normalize_heads(const ForwardPass& pass, int heads, int head_dim, const float* weight, Buffer<float>& rows) {
  const ModelConfig& c = pass.config();
  switch (c.query_key_norm) {
    case QueryKeyNorm::all_heads: return normalize_rows(c.norm, rows.data(), pass.count, heads * head_dim, weight);
    case QueryKeyNorm::each_head: return normalize_rows(c.norm, rows.data(), pass.count * heads, head_dim, weight, heads);
    default: return normalize_rows(c.norm, rows.data(), pass.count * heads, head_dim, weight);
  }
}

void AttentionBlock::normalize_keys_as_rotated(const ForwardPass& pass, const LayerConfig& layer) {
  int index = 0;
  for (const RunSequences::Part& part : pass.sequences.parts()) {
    const double factor = pass.sequences.attention_factor(layer, index++);
    Norm norm = pass.config().norm;
    norm.epsilon = static_cast<float>(norm.epsilon / (factor * factor));
    float* rows = keys_.data() + elements(part.first, layer.kv_heads * layer.head_dim);
    normalize_rows(norm, rows, part.count * layer.kv_heads, layer.head_dim, ones_.data());
  }
}

void AttentionBlock::apply_gates(AttentionGate kind, int count, int heads, int head_dim) {
  if (kind == AttentionGate::none) return;
  const StageTimer timer(Stage::activation);
  const int gates = gate_size(kind, heads, head_dim), size = heads * head_dim, span = size / gates;
  each_in_parallel(count, kActivationWork * size, [&](int t) {
    float *gate = gates_.data() + elements(t, gates), *row = attended_.data() + elements(t, size);
    sigmoid(gate, gates);
    for (int i = 0; i < size; ++i) row[i] *= gate[i / span];
  });
}

Status AttentionBlock::weights_of_token(const ForwardPass& pass, int layer, int token, float* out) {
  const LayerConfig& l = pass.weights.layer_config(layer);
  AttentionOptions options = options_of(pass.weights, layer);
  if (l.has_temperature) options.temperatures = temperatures_.data() + token;
  const int heads = pass.config().heads;
  const float* query = queries_.data() + elements(token, heads * l.head_dim);
  const RunSequences::Part& part = pass.sequences.parts()[0];
  return part.memory.cache->weights(l.cache_layer, part.memory.sequence, part.before + token + 1, query, heads, options, out);
}

Status AttentionBlock::weights_of_last(const Weights& weights, KvCache& cache, int sequence, int layer, float* out) {
  const ModelConfig& c = weights.config();
  const LayerConfig& l = weights.layer_config(layer);
  const KvSequence& cached = cache.sequence(sequence);
  AttentionOptions options = options_of(weights, layer);
  float temperature;
  if (l.has_temperature) {
    temperature = static_cast<float>(query_temperature(c.temperature, cached.position(0, cached.tokens() - 1)));
    options.temperatures = &temperature;
  }
  const float* query = last_queries_.data() + elements(layer, c.heads * c.head_dim);
  return cache.weights(l.cache_layer, sequence, cached.written(l.cache_layer), query, c.heads, options, out);
}

}  // namespace ropewalk
