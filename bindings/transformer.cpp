// Embind declarations for models and their forward pass: fields and functions, without logic.
#include <new>

#include "bindings/embind.h"
#include "bindings/model.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

struct ModelFields {
  int layers, vocabulary_size, hidden_size, heads, kv_heads, head_dim, feed_forward_size;
  int norm, query_key_norm, activation;
  double norm_epsilon, attention_scale, attention_soft_cap, embedding_scale, residual_scale, logit_scale, logit_soft_cap;
  bool is_gated, is_parallel;
  int experts, expert_size, shared_expert_size, experts_used, expert_weight;
  bool normalizes_experts;
  double expert_scale;
  bool scales_expert_input, normalizes_values;
  int expert_groups, expert_groups_used, expert_group_best;
  double expert_score_scale, expert_least_sum;
  int recurrence_kernel, recurrence_inner, recurrence_heads, recurrence_key_heads, recurrence_key_size, recurrence_step_rank;
  int recurrence_norm_groups;
  bool recurrence_is_tiled, gates_attention;
  double recurrence_least_step, recurrence_largest_step, recurrence_select_epsilon;
  bool recurrence_has_norm, recurrence_norms_before_gate;
  int recurrence_decay_rank, recurrence_rate_rank, recurrence_share_rank, recurrence_gate_rank;
  double recurrence_removal_epsilon, recurrence_head_epsilon;
  double attention_in_multiplier, key_multiplier, attention_out_multiplier, gate_multiplier, down_multiplier;
  double recurrent_in_multiplier, recurrent_gate_multiplier, recurrent_value_multiplier, recurrent_key_multiplier;
  double recurrent_query_multiplier, recurrent_step_multiplier, recurrent_out_multiplier;
  int latent_size, latent_rotated, latent_plain, latent_value, latent_query;
  int per_layer_size, per_layer_vocabulary, streams, active_stream, laurel_size;
  double gate_slope, gate_limit, temperature_scale, temperature_floor_scale, temperature_offset, latent_norm_epsilon;
  bool is_causal, normalizes_residual;
  int positions, token_types;
  int dense_1_size, dense_1_activation, dense_2_size, dense_2_activation, dense_3_size, dense_3_activation;
};

DenseConfig dense_of(int size, int activation) {
  return activation < 0 ? DenseConfig{size, false, {}} : DenseConfig{size, true, static_cast<Activation>(activation)};
}

Multipliers multipliers_of(const ModelFields& f) {
  const auto factor = [](double multiplier) { return static_cast<float>(multiplier); };
  return {factor(f.attention_in_multiplier),   factor(f.key_multiplier),
          factor(f.attention_out_multiplier),  factor(f.gate_multiplier),
          factor(f.down_multiplier),           factor(f.recurrent_in_multiplier),
          factor(f.recurrent_gate_multiplier), factor(f.recurrent_value_multiplier),
          factor(f.recurrent_key_multiplier),  factor(f.recurrent_query_multiplier),
          factor(f.recurrent_step_multiplier), factor(f.recurrent_out_multiplier)};
}

ModelConfig config_of(const ModelFields& f) {
  ModelConfig config;
  config.layers = f.layers;
  config.vocabulary_size = f.vocabulary_size;
  config.hidden_size = f.hidden_size;
  config.heads = f.heads;
  config.kv_heads = f.kv_heads;
  config.head_dim = f.head_dim;
  config.feed_forward_size = f.feed_forward_size;
  config.norm = {static_cast<NormKind>(f.norm), static_cast<float>(f.norm_epsilon)};
  config.query_key_norm = static_cast<QueryKeyNorm>(f.query_key_norm);
  config.activation = static_cast<Activation>(f.activation);
  config.is_gated = f.is_gated;
  config.is_parallel = f.is_parallel;
  config.attention_scale = f.attention_scale;
  config.attention_soft_cap = f.attention_soft_cap;
  config.embedding_scale = static_cast<float>(f.embedding_scale);
  config.residual_scale = static_cast<float>(f.residual_scale);
  config.logit_scale = static_cast<float>(f.logit_scale);
  config.logit_soft_cap = static_cast<float>(f.logit_soft_cap);
  config.experts = f.experts;
  config.expert_size = f.expert_size;
  config.shared_expert_size = f.shared_expert_size;
  config.routing = {f.experts_used,
                    static_cast<ExpertWeight>(f.expert_weight),
                    f.normalizes_experts,
                    static_cast<float>(f.expert_scale),
                    f.scales_expert_input,
                    f.expert_groups,
                    f.expert_groups_used,
                    f.expert_group_best,
                    static_cast<float>(f.expert_score_scale),
                    static_cast<float>(f.expert_least_sum)};
  config.gate_slope = static_cast<float>(f.gate_slope);
  config.gate_limit = static_cast<float>(f.gate_limit);
  config.normalizes_values = f.normalizes_values;
  config.temperature = {f.temperature_scale, f.temperature_floor_scale, f.temperature_offset};
  config.latent = {f.latent_size, f.latent_rotated, f.latent_plain, f.latent_value, f.latent_query};
  config.latent_norm = {config.norm.kind, static_cast<float>(f.latent_norm_epsilon)};
  config.is_causal = f.is_causal;
  config.normalizes_residual = f.normalizes_residual;
  config.positions = f.positions;
  config.token_types = f.token_types;
  config.dense[0] = dense_of(f.dense_1_size, f.dense_1_activation);
  config.dense[1] = dense_of(f.dense_2_size, f.dense_2_activation);
  config.dense[2] = dense_of(f.dense_3_size, f.dense_3_activation);
  config.per_layer = {f.per_layer_size, f.per_layer_vocabulary, f.streams, f.active_stream, f.laurel_size};
  config.recurrence = {f.recurrence_kernel,
                       f.recurrence_inner,
                       f.recurrence_heads,
                       f.recurrence_key_heads,
                       f.recurrence_key_size,
                       f.recurrence_step_rank,
                       f.recurrence_norm_groups,
                       f.recurrence_is_tiled,
                       static_cast<float>(f.recurrence_least_step),
                       static_cast<float>(f.recurrence_largest_step),
                       static_cast<float>(f.recurrence_select_epsilon),
                       f.recurrence_has_norm,
                       f.recurrence_norms_before_gate,
                       f.recurrence_decay_rank,
                       f.recurrence_rate_rank,
                       f.recurrence_share_rank,
                       f.recurrence_gate_rank,
                       static_cast<float>(f.recurrence_removal_epsilon),
                       static_cast<float>(f.recurrence_head_epsilon)};
  config.multipliers = multipliers_of(f);
  config.gates_attention = f.gates_attention;
  return config;
}

Address create(bool scalar) {
  Model* model = new (std::nothrow) Model;
  if (model != nullptr && scalar) {
    model->forward.use_kernels(kScalarMatmulKernels);
    model->vectors.use_kernels(kScalarMatmulKernels);
  }
  return reinterpret_cast<Address>(model);
}
void destroy(Address model) { delete at<Model>(model); }

// A layer's config in 4-byte words, in the order of LayerConfig.
struct LayerFields {
  int window, has_experts, chunk, head_dim, kv_heads, feed_forward_size, keys_of, values_are_keys, has_temperature, has_unit_heads;
  float gate_deviations;
  int recurrence, has_feed_forward, has_attention;
};

// layers: [config.layers] of LayerFields; a window of 0 is none.
int configure(Address model, const ModelFields& fields, Address layers) {
  const ModelConfig config = config_of(fields);
  if (config.layers < 1 || config.layers > kMaxLayers) return static_cast<int>(Status::model_shape_out_of_range);
  Buffer<LayerConfig> configs;
  if (!configs.resize(config.layers)) return static_cast<int>(Status::out_of_memory);
  for (int i = 0; i < config.layers; ++i) {
    const LayerFields& f = at<LayerFields>(layers)[i];
    configs[i] = {f.window == 0 ? kNoWindow : f.window,
                  f.has_experts != 0,
                  f.chunk,
                  f.head_dim,
                  f.kv_heads,
                  f.feed_forward_size,
                  f.keys_of,
                  f.values_are_keys != 0,
                  f.has_temperature != 0,
                  f.has_unit_heads != 0,
                  f.gate_deviations,
                  static_cast<Recurrence>(f.recurrence),
                  f.has_feed_forward != 0,
                  f.has_attention != 0,
                  kNoCacheLayer};
  }
  return static_cast<int>(model_at(model).weights.configure(config, configs.data()));
}

int reserve(Address model, int layer, int slot, int expert, int format, int rows, int columns, double bytes, Address result) {
  unsigned char* memory = nullptr;
  const Status status = model_at(model).weights.reserve(layer, slot, expert, static_cast<WeightFormat>(format), rows, columns,
                                                        static_cast<std::uint64_t>(bytes), memory);
  *at<Address>(result) = reinterpret_cast<Address>(memory);
  return static_cast<int>(status);
}

int set_vector(Address model, int layer, int slot, int format, Address stored, double bytes, double added) {
  return static_cast<int>(model_at(model).weights.set_vector(layer, slot, static_cast<WeightFormat>(format), at<void>(stored),
                                                             static_cast<std::uint64_t>(bytes), static_cast<float>(added)));
}

int pack(Address model, int layer, int slot, int expert, int rows) {
  return static_cast<int>(model_at(model).weights.pack(layer, slot, expert, rows));
}

int finish(Address model) { return static_cast<int>(model_at(model).weights.finish()); }

// Makes the states of an empty text for a model. `result` becomes their address, 0 if the model has no recurrent layers.
int model_states(Address model, int checkpoints, Address result) {
  const Weights& weights = model_at(model).weights;
  Buffer<std::size_t> sizes;
  *at<Address>(result) = 0;
  if (!sizes.resize(weights.config().layers)) return static_cast<int>(Status::out_of_memory);
  bool is_recurrent = false;
  for (int i = 0; i < weights.config().layers; ++i) {
    sizes[i] = weights.state_size(i);
    is_recurrent |= weights.layer_config(i).recurrence != Recurrence::none;
  }
  if (!is_recurrent) return static_cast<int>(Status::ok);
  RecurrentState* states = new (std::nothrow) RecurrentState;
  if (states == nullptr) return static_cast<int>(Status::out_of_memory);
  const Status status = states->configure({sizes.data(), sizes.size()}, checkpoints);
  if (status != Status::ok) {
    delete states;
    return static_cast<int>(status);
  }
  *at<Address>(result) = reinterpret_cast<Address>(states);
  return static_cast<int>(Status::ok);
}

WholeTexts& texts_at(Address texts) { return *at<WholeTexts>(texts); }

Address texts_create(bool scalar) {
  WholeTexts* texts = new (std::nothrow) WholeTexts;
  if (texts != nullptr && scalar) texts->use_kernels(kScalarAttentionKernels, kScalarRotateKernels);
  return reinterpret_cast<Address>(texts);
}
void texts_destroy(Address texts) { delete at<WholeTexts>(texts); }

// layers and ropes: as those of a cache (kv_cache.cpp).
int texts_configure(Address texts, Address layers, int layer_count, Address ropes, int rope_count) {
  Buffer<RopeConfig> configs;
  if (!configs.resize(rope_count)) return static_cast<int>(Status::out_of_memory);
  for (int i = 0; i < rope_count; ++i) configs[i] = at<Rope>(at<Address>(ropes)[i])->config();
  return static_cast<int>(texts_at(texts).configure({at<KvLayer>(layers), static_cast<std::size_t>(layer_count)},
                                                    {configs.data(), static_cast<std::size_t>(rope_count)}));
}

// lengths: [count] i32. types: [sum of lengths] i32, or 0 if all are 0.
int texts_begin(Address texts, Address lengths, int count, Address types) {
  return static_cast<int>(texts_at(texts).begin({at<int>(lengths), static_cast<std::size_t>(count)}, at<int>(types)));
}

int read_texts(Address model, Address texts, Address tokens) {
  Model& m = model_at(model);
  return static_cast<int>(m.forward.run(m.weights, texts_at(texts), at<int>(tokens)));
}

int write_vectors(Address model, Address texts, int pooling, bool uses_dense, Address out) {
  Model& m = model_at(model);
  return static_cast<int>(
      m.vectors.write(m.weights, texts_at(texts), m.forward, static_cast<Pooling>(pooling), uses_dense, at<float>(out)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_transformer) {
  value_object<ModelFields>("ModelFields")
      .field("layers", &ModelFields::layers)
      .field("vocabulary_size", &ModelFields::vocabulary_size)
      .field("hidden_size", &ModelFields::hidden_size)
      .field("heads", &ModelFields::heads)
      .field("kv_heads", &ModelFields::kv_heads)
      .field("head_dim", &ModelFields::head_dim)
      .field("feed_forward_size", &ModelFields::feed_forward_size)
      .field("norm", &ModelFields::norm)
      .field("query_key_norm", &ModelFields::query_key_norm)
      .field("activation", &ModelFields::activation)
      .field("norm_epsilon", &ModelFields::norm_epsilon)
      .field("attention_scale", &ModelFields::attention_scale)
      .field("attention_soft_cap", &ModelFields::attention_soft_cap)
      .field("embedding_scale", &ModelFields::embedding_scale)
      .field("residual_scale", &ModelFields::residual_scale)
      .field("logit_scale", &ModelFields::logit_scale)
      .field("logit_soft_cap", &ModelFields::logit_soft_cap)
      .field("is_gated", &ModelFields::is_gated)
      .field("is_parallel", &ModelFields::is_parallel)
      .field("experts", &ModelFields::experts)
      .field("expert_size", &ModelFields::expert_size)
      .field("shared_expert_size", &ModelFields::shared_expert_size)
      .field("experts_used", &ModelFields::experts_used)
      .field("expert_weight", &ModelFields::expert_weight)
      .field("normalizes_experts", &ModelFields::normalizes_experts)
      .field("expert_scale", &ModelFields::expert_scale)
      .field("scales_expert_input", &ModelFields::scales_expert_input)
      .field("normalizes_values", &ModelFields::normalizes_values)
      .field("expert_groups", &ModelFields::expert_groups)
      .field("expert_groups_used", &ModelFields::expert_groups_used)
      .field("expert_group_best", &ModelFields::expert_group_best)
      .field("expert_score_scale", &ModelFields::expert_score_scale)
      .field("expert_least_sum", &ModelFields::expert_least_sum)
      .field("recurrence_kernel", &ModelFields::recurrence_kernel)
      .field("recurrence_inner", &ModelFields::recurrence_inner)
      .field("recurrence_heads", &ModelFields::recurrence_heads)
      .field("recurrence_key_heads", &ModelFields::recurrence_key_heads)
      .field("recurrence_key_size", &ModelFields::recurrence_key_size)
      .field("recurrence_step_rank", &ModelFields::recurrence_step_rank)
      .field("recurrence_norm_groups", &ModelFields::recurrence_norm_groups)
      .field("recurrence_is_tiled", &ModelFields::recurrence_is_tiled)
      .field("recurrence_least_step", &ModelFields::recurrence_least_step)
      .field("recurrence_largest_step", &ModelFields::recurrence_largest_step)
      .field("recurrence_select_epsilon", &ModelFields::recurrence_select_epsilon)
      .field("recurrence_has_norm", &ModelFields::recurrence_has_norm)
      .field("recurrence_norms_before_gate", &ModelFields::recurrence_norms_before_gate)
      .field("recurrence_decay_rank", &ModelFields::recurrence_decay_rank)
      .field("recurrence_rate_rank", &ModelFields::recurrence_rate_rank)
      .field("recurrence_share_rank", &ModelFields::recurrence_share_rank)
      .field("recurrence_gate_rank", &ModelFields::recurrence_gate_rank)
      .field("recurrence_removal_epsilon", &ModelFields::recurrence_removal_epsilon)
      .field("recurrence_head_epsilon", &ModelFields::recurrence_head_epsilon)
      .field("attention_in_multiplier", &ModelFields::attention_in_multiplier)
      .field("key_multiplier", &ModelFields::key_multiplier)
      .field("attention_out_multiplier", &ModelFields::attention_out_multiplier)
      .field("gate_multiplier", &ModelFields::gate_multiplier)
      .field("down_multiplier", &ModelFields::down_multiplier)
      .field("recurrent_in_multiplier", &ModelFields::recurrent_in_multiplier)
      .field("recurrent_gate_multiplier", &ModelFields::recurrent_gate_multiplier)
      .field("recurrent_value_multiplier", &ModelFields::recurrent_value_multiplier)
      .field("recurrent_key_multiplier", &ModelFields::recurrent_key_multiplier)
      .field("recurrent_query_multiplier", &ModelFields::recurrent_query_multiplier)
      .field("recurrent_step_multiplier", &ModelFields::recurrent_step_multiplier)
      .field("recurrent_out_multiplier", &ModelFields::recurrent_out_multiplier)
      .field("gates_attention", &ModelFields::gates_attention)
      .field("latent_size", &ModelFields::latent_size)
      .field("latent_rotated", &ModelFields::latent_rotated)
      .field("latent_plain", &ModelFields::latent_plain)
      .field("latent_value", &ModelFields::latent_value)
      .field("latent_query", &ModelFields::latent_query)
      .field("per_layer_size", &ModelFields::per_layer_size)
      .field("per_layer_vocabulary", &ModelFields::per_layer_vocabulary)
      .field("streams", &ModelFields::streams)
      .field("active_stream", &ModelFields::active_stream)
      .field("laurel_size", &ModelFields::laurel_size)
      .field("gate_slope", &ModelFields::gate_slope)
      .field("gate_limit", &ModelFields::gate_limit)
      .field("temperature_scale", &ModelFields::temperature_scale)
      .field("temperature_floor_scale", &ModelFields::temperature_floor_scale)
      .field("temperature_offset", &ModelFields::temperature_offset)
      .field("latent_norm_epsilon", &ModelFields::latent_norm_epsilon)
      .field("is_causal", &ModelFields::is_causal)
      .field("normalizes_residual", &ModelFields::normalizes_residual)
      .field("positions", &ModelFields::positions)
      .field("token_types", &ModelFields::token_types)
      .field("dense_1_size", &ModelFields::dense_1_size)
      .field("dense_1_activation", &ModelFields::dense_1_activation)
      .field("dense_2_size", &ModelFields::dense_2_size)
      .field("dense_2_activation", &ModelFields::dense_2_activation)
      .field("dense_3_size", &ModelFields::dense_3_size)
      .field("dense_3_activation", &ModelFields::dense_3_activation);
  function("model_create", &create);
  function("model_destroy", &destroy);
  function("model_configure", &configure);
  function("model_reserve", &reserve);
  function("model_set_vector", &set_vector);
  function("model_pack", &pack);
  function("model_finish", &finish);
  function("model_states", &model_states);
  function("texts_create", &texts_create);
  function("texts_destroy", &texts_destroy);
  function("texts_configure", &texts_configure);
  function("texts_begin", &texts_begin);
  function("model_read_texts", &read_texts);
  function("model_write_vectors", &write_vectors);
}
