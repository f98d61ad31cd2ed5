// Written by scripts/fields.mjs of bindings/. Addresses and enumerators are numbers. A status is 0 for success.
import type { LayerConfig, ModelConfig } from "./model_fields.js";
import type { Status } from "./status.js";

/** @internal */
export interface WasmModelFunctions {
  // bindings/transformer.cpp
  model_create(scalar: boolean): number;
  model_destroy(model: number): void;
  /** Begins the shape of a model: set_layer() for each layer, then configure(). */
  model_set_layers(model: number, layers: number): Status;
  model_set_layer(model: number, layer: number, config: LayerConfig): void;
  model_configure(model: number, config: ModelConfig): Status;
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
  /** Writes the address of new states to `result`; 0 if the model has no recurrent layers. */
  model_states(model: number, checkpoints: number, result: number): Status;
  texts_create(scalar: boolean): number;
  texts_destroy(texts: number): void;
  /** layers and ropes: as those of a cache (kv_cache.cpp). */
  texts_configure(texts: number, layers: number, layerCount: number, ropes: number, ropeCount: number): Status;
  /** lengths: [count] i32. types: [sum of lengths] i32, or 0 if all are 0. */
  texts_begin(texts: number, lengths: number, count: number, types: number): Status;
  /** rows: [tokens][hidden_size] f32, added to the embeddings of the tokens, or 0. */
  model_read_texts(model: number, texts: number, tokens: number, rows: number): Status;
  model_write_vectors(model: number, texts: number, pooling: number, usesDense: boolean, out: number): Status;

  // bindings/forward.cpp
  /** states: 0 for a model without recurrent layers. */
  model_forward(model: number, cache: number, sequence: number, states: number, tokens: number, count: number): Status;
  /** texts: [count] of TextFields in bindings/forward.cpp. */
  model_forward_texts(model: number, texts: number, count: number): Status;
  model_hidden(model: number): number;
  model_logits(model: number, first: number, count: number, out: number): Status;
  /** outs: an address for each text of the last run. */
  model_last_logits(model: number, outs: number): Status;
  model_attention(model: number, cache: number, sequence: number, layer: number, out: number): Status;
  model_losses(model: number, first: number, targets: number, count: number, out: number): Status;
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

  // bindings/recurrent_state.cpp
  states_destroy(states: number): void;
  states_bytes(states: number): number;
  states_tokens(states: number): number;
  states_keep(states: number): Status;
  states_rewind(states: number, tokens: number): number;
  states_shift(states: number, keep: number, discard: number): void;
  states_share(from: number, to: number): void;
  states_image_bytes(states: number): number;
  states_save(states: number, target: number): void;
  states_restore(states: number, source: number, size: number): Status;

  // bindings/adapters.cpp
  /** 0 if memory runs out. */
  adapter_create(terms: number): number;
  adapter_destroy(adapter: number): void;
  /** a: [rank][columns], b: [rows][rank], bias: [rows] or 0 for none. */
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
  /** adapters: [count] of ScaledAdapter: an address, and a factor in f32. */
  model_use_adapters(model: number, adapters: number, count: number): Status;

  // bindings/quantize.cpp
  /** From and to are formats. The source and the target are rows without padding. */
  quantize_rows(from: number, source: number, rows: number, columns: number, to: number, target: number): Status;

  // bindings/sampler.cpp
  sampler_create(): number;
  sampler_destroy(sampler: number): void;
  /** values: an f64 for each SamplerField. */
  sampler_configure(sampler: number, values: number): Status;
  /** biases: [count] of TokenBias. */
  sampler_set_biases(sampler: number, biases: number, count: number): Status;
  sampler_set_breakers(sampler: number, tokens: number, count: number): Status;
  sampler_seed(sampler: number, seed: number): void;
  /** allowed: a bit for each token, or 0. */
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
  /** result: [count] of LogProbability. */
  most_probable(logits: number, size: number, result: number, count: number): void;
}
