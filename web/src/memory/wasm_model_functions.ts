// The functions of bindings/transformer.cpp, bindings/sampler.cpp and bindings/quantize.cpp.
import type { Status } from "./status.js";

/** The shape of a model. Fields are those of src/transformer/model_config.h. @internal */
export interface WasmModelConfig {
  layers: number;
  vocabulary_size: number;
  hidden_size: number;
  heads: number;
  kv_heads: number;
  head_dim: number;
  feed_forward_size: number;
  norm: number;
  norm_epsilon: number;
  query_key_norm: number;
  activation: number;
  is_gated: boolean;
  is_parallel: boolean;
  /** Factor on q · k. NaN stands for the softmax scale of the rope, or 1/√head_dim without RoPE. */
  attention_scale: number;
  attention_soft_cap: number;
  embedding_scale: number;
  residual_scale: number;
  logit_scale: number;
  logit_soft_cap: number;
  experts: number;
  expert_size: number;
  shared_expert_size: number;
  experts_used: number;
  expert_weight: number;
  normalizes_experts: boolean;
  expert_scale: number;
  scales_expert_input: boolean;
  /** Whether values of each head are divided by their root mean square. */
  normalizes_values: boolean;
  expert_groups: number;
  expert_groups_used: number;
  expert_group_best: number;
  expert_score_scale: number;
  expert_least_sum: number;
  latent_size: number;
  latent_rotated: number;
  latent_plain: number;
  latent_value: number;
  /** 0 if queries have no latent. */
  latent_query: number;
  per_layer_size: number;
  per_layer_vocabulary: number;
  streams: number;
  active_stream: number;
  laurel_size: number;
  gate_slope: number;
  gate_limit: number;
  temperature_scale: number;
  temperature_floor_scale: number;
  temperature_offset: number;
  latent_norm_epsilon: number;
  recurrence_kernel: number;
  recurrence_inner: number;
  recurrence_heads: number;
  recurrence_key_heads: number;
  recurrence_key_size: number;
  recurrence_step_rank: number;
  recurrence_norm_groups: number;
  recurrence_is_tiled: boolean;
  recurrence_least_step: number;
  recurrence_largest_step: number;
  recurrence_select_epsilon: number;
  recurrence_has_norm: boolean;
  recurrence_norms_before_gate: boolean;
  recurrence_decay_rank: number;
  recurrence_rate_rank: number;
  recurrence_share_rank: number;
  recurrence_gate_rank: number;
  recurrence_removal_epsilon: number;
  recurrence_head_epsilon: number;
  attention_in_multiplier: number;
  key_multiplier: number;
  attention_out_multiplier: number;
  gate_multiplier: number;
  down_multiplier: number;
  recurrent_in_multiplier: number;
  recurrent_gate_multiplier: number;
  recurrent_value_multiplier: number;
  recurrent_key_multiplier: number;
  recurrent_query_multiplier: number;
  recurrent_step_multiplier: number;
  recurrent_out_multiplier: number;
  gates_attention: boolean;
  is_causal: boolean;
  normalizes_residual: boolean;
  positions: number;
  token_types: number;
  dense_1_size: number;
  /** −1 for none, as the next two. */
  dense_1_activation: number;
  dense_2_size: number;
  dense_2_activation: number;
  dense_3_size: number;
  dense_3_activation: number;
}

/** What a layer has instead of attention or beside it, in the order of the core's Recurrence. @internal */
export const RECURRENCES = ["none", "convolution", "delta", "mamba2", "mamba", "rwkv7"] as const;

/** A layer's shape. Fields are those of LayerFields in bindings/transformer.cpp, in the same order. @internal */
export interface WasmLayerConfig {
  /** 0 for none, as chunk. */
  window: number;
  has_experts: boolean;
  chunk: number;
  head_dim: number;
  kv_heads: number;
  feed_forward_size: number;
  /** The layer whose keys and values it reads; −1 for its own. */
  keys_of: number;
  values_are_keys: boolean;
  has_temperature: boolean;
  has_unit_heads: boolean;
  gate_deviations: number;
  recurrence: (typeof RECURRENCES)[number];
  has_feed_forward: boolean;
  has_attention: boolean;
}

/** bindings/recurrent_state.cpp. `states` is an address that model_states wrote. */
export interface WasmRecurrentFunctions {
  states_destroy(states: number): void;
  states_bytes(states: number): number;
  states_tokens(states: number): number;
  states_keep(states: number): Status;
  states_rewind(states: number, tokens: number): number;
  states_shift(states: number, keep: number, discard: number): void;
  states_share(from: number, to: number): void;
  states_image_bytes(states: number): number;
  states_save(states: number, target: number): void;
  states_restore(states: number, source: number, bytes: number): Status;
}

export interface WasmModelFunctions extends WasmRecurrentFunctions {
  model_create(scalar: boolean): number;
  model_destroy(model: number): void;
  model_configure(model: number, config: WasmModelConfig, layers: number): Status;
  model_reserve(
    model: number,
    layer: number,
    slot: number,
    expert: number,
    format: number,
    rows: number,
    columns: number,
    bytes: number,
    result: number,
  ): Status;
  model_set_vector(
    model: number,
    layer: number,
    slot: number,
    format: number,
    stored: number,
    bytes: number,
    added: number,
  ): Status;
  model_pack(model: number, layer: number, slot: number, expert: number, rows: number): Status;
  model_finish(model: number): Status;
  /** 0 if memory runs out. */
  adapter_create(terms: number): number;
  adapter_destroy(adapter: number): void;
  /** `a`, `b` and `bias` are addresses of f32; `bias` may be 0 for none. */
  adapter_add(
    adapter: number,
    model: number,
    layer: number,
    slot: number,
    expert: number,
    firstRow: number,
    rows: number,
    rank: number,
    a: number,
    b: number,
    bias: number,
    scale: number,
  ): Status;
  /** `adapters`: for each, its address and a factor in f32. */
  model_use_adapters(model: number, adapters: number, count: number): Status;
  /** From and to are formats. The source and the target are rows without padding. */
  quantize_rows(from: number, source: number, rows: number, columns: number, to: number, target: number): Status;
  /** `states` is 0 for a model without recurrent layers. */
  model_forward(model: number, cache: number, sequence: number, states: number, tokens: number, count: number): Status;
  /** `texts` are [count] of TextFields in bindings/forward.cpp. */
  model_forward_texts(model: number, texts: number, count: number): Status;
  /** Writes the address of new states to `result`; 0 if the model has no recurrent layers. */
  model_states(model: number, checkpoints: number, result: number): Status;
  model_forward_begin(
    model: number,
    cache: number,
    sequence: number,
    states: number,
    tokens: number,
    count: number,
  ): Status;
  model_forward_layer(model: number): Status;
  model_forward_end(model: number): Status;
  model_forward_cancel(model: number): void;
  model_residual(model: number): number;
  model_queries(model: number): number;
  model_row_attention(model: number, token: number, out: number): Status;
  model_hidden(model: number): number;
  model_logits(model: number, first: number, count: number, out: number): Status;
  /** `outs` are the addresses for the logits of each text of the last call. */
  model_last_logits(model: number, outs: number): Status;
  model_attention(model: number, cache: number, sequence: number, layer: number, out: number): Status;
  model_losses(model: number, first: number, targets: number, count: number, out: number): Status;

  texts_create(scalar: boolean): number;
  texts_destroy(texts: number): void;
  texts_configure(texts: number, layers: number, layerCount: number, ropes: number, ropeCount: number): Status;
  texts_begin(texts: number, lengths: number, count: number, types: number): Status;
  model_read_texts(model: number, texts: number, tokens: number): Status;
  model_write_vectors(model: number, texts: number, pooling: number, usesDense: boolean, out: number): Status;

  sampler_create(): number;
  sampler_destroy(sampler: number): void;
  sampler_configure(sampler: number, values: number): Status;
  sampler_set_biases(sampler: number, biases: number, count: number): Status;
  sampler_set_breakers(sampler: number, tokens: number, count: number): Status;
  sampler_seed(sampler: number, seed: number): void;
  sampler_sample(
    sampler: number,
    logits: number,
    size: number,
    recent: number,
    recentCount: number,
    allowed: number,
    result: number,
  ): Status;
  log_normalizer(logits: number, size: number): number;
  most_probable(logits: number, size: number, result: number, count: number): void;
}
