// The functions of the wasm module (bindings/). Addresses and enumerators are numbers. A status is 0 for success.
import type { RopeConfig } from "./rope_fields.js";
import type { Status } from "./status.js";
import type { WasmModelFunctions } from "./wasm_model_functions.js";

/** @internal */
export interface WasmPlan {
  inv_freq: number;
  axis_of_pair: number;
  xpos_scale: number;
  pairs: number;
  axes: number;
  attention_factor: number;
  softmax_scale: number;
  valid_from: number;
  valid_to: number;
  ramp_low: number;
  ramp_high: number;
  max_length: number;
  table_length: number;
  query_temperature_scale: number;
  query_temperature_floor_scale: number;
  query_temperature_offset: number;
  xpos_scale_base: number;
  xpos_center: number;
}

/** @internal */
export interface WasmPositions {
  offset: number;
  ids: number;
  axes: number;
  rows: number;
  tokens: number;
  sequence_length: number;
}

/** @internal */
export interface WasmTensor {
  source: number;
  target: number;
  dtype: number;
  layout: number;
  batches: number;
  tokens: number;
  heads: number;
  head_dim: number;
}

/** @internal */
export interface WasmAttention {
  scale: number;
  causal: boolean;
  window: number;
  sink_tokens: number;
  sinks: number;
  soft_cap: number;
  temperatures: number;
  scheme: number;
  rope: number;
  base: number;
  table: number;
  table_rows: number;
  slopes: number;
  buckets: number;
  max_distance: number;
  bidirectional: boolean;
}

/** The core's functions. `rope` is an address returned by rope_create. @internal */
export interface WasmModule extends WasmAttentionFunctions, WasmCacheFunctions, WasmModelFunctions {
  readonly HEAPU8: Uint8Array;
  _memalign(alignment: number, bytes: number): number;
  _free(address: number): void;
  /** Exports that helper threads use in their own instance. */
  _help(thread: number): void;
  __emscripten_stack_restore(stack: number): void;

  threads_open(): void;
  threads_use(threads: number): void;
  threads_stop(): void;
  threads_lost(): number;

  dot_name(scalar: boolean, format: number, oneToken: boolean): number;

  rope_create(): number;
  rope_destroy(rope: number): void;
  rope_configure(rope: number, config: RopeConfig): Status;
  rope_use_scalar_kernels(rope: number): void;
  rope_use_length(rope: number, sequenceLength: number): Status;
  rope_plan(rope: number): WasmPlan;
  rope_rotate(
    rope: number,
    source: number,
    target: number,
    dtype: number,
    layout: number,
    batches: number,
    tokens: number,
    heads: number,
    headDim: number,
    strides: number,
    offset: number,
    ids: number,
    axes: number,
    rows: number,
    sequenceLength: number,
    role: number,
    inverse: boolean,
  ): Status;
  rope_use_positions(rope: number, positions: WasmPositions): Status;
  rotate_by_rows(
    source: number,
    target: number,
    dtype: number,
    layout: number,
    batches: number,
    tokens: number,
    heads: number,
    headDim: number,
    strides: number,
    pairing: number,
    rotaryOffset: number,
    rotaryDim: number,
    cos: number,
    sin: number,
    perBatch: boolean,
    scalar: boolean,
  ): Status;
  read_table(table: number, dtype: number, layout: number, rows: number, pairs: number, target: number): Status;
  rope_write_table(
    rope: number,
    positions: WasmPositions,
    role: number,
    inverse: boolean,
    dtype: number,
    layout: number,
    cos: number,
    sin: number,
  ): Status;
  rope_query_temperatures(rope: number, positions: number, count: number, factors: number): void;
  rope_analyze(
    rope: number,
    window: number,
    factor: number,
    wavelength: number,
    rotations: number,
    keptShare: number,
  ): Status;
  rope_decay(
    rope: number,
    curve: number,
    first: number,
    step: number,
    count: number,
    draws: number,
    seed: number,
    values: number,
  ): Status;
  rope_first_negative(rope: number, limit: number, distance: number): Status;
  rope_rerotate(
    keys: WasmTensor,
    from: number,
    fromPositions: WasmPositions,
    to: number,
    toPositions: WasmPositions,
  ): Status;

  smallest_base(rotaryDim: number, window: number, base: number): Status;
  over_extrapolated_pairs(
    rotaryDim: number,
    base: number,
    window: number,
    factor: number,
  ): { first: number; last: number };
  convert_pairing(
    source: number,
    target: number,
    elementSize: number,
    heads: number,
    headDim: number,
    columns: number,
    rotaryOffset: number,
    rotaryDim: number,
    from: number,
    to: number,
  ): Status;
  /** Addresses of texts that end in a zero. */
  status_code(status: Status): number;
  status_field(status: Status): number;
  status_requirement(status: Status): number;
}

/** bindings/attention.cpp. `linear` is an address returned by linear_create. */
interface WasmAttentionFunctions {
  attention_attend(
    queries: WasmTensor,
    keys: WasmTensor,
    values: number,
    queryPositions: WasmPositions,
    keyPositions: WasmPositions,
    options: WasmAttention,
    scalar: boolean,
  ): Status;
  sinusoidal_rows(positions: number, count: number, base: number, dim: number, target: number): Status;
  alibi_slopes(heads: number, target: number): void;
  t5_buckets(
    relative: number,
    count: number,
    buckets: number,
    maxDistance: number,
    bidirectional: boolean,
    target: number,
  ): Status;

  linear_create(): number;
  linear_destroy(linear: number): void;
  linear_configure(linear: number, heads: number, kvHeads: number, headDim: number): Status;
  linear_step(
    linear: number,
    rope: number,
    positions: WasmPositions,
    mode: number,
    queries: number,
    keys: number,
    values: number,
    out: number,
    layout: number,
    tokens: number,
  ): Status;
  linear_reset(linear: number): void;
  linear_tokens(linear: number): number;
  linear_image_bytes(linear: number): number;
  linear_save(linear: number, rope: number, target: number): void;
  linear_restore(linear: number, rope: number, source: number, bytes: number): Status;
}

/** bindings/kv_cache.cpp. `cache` is an address returned by kv_create. */
interface WasmCacheFunctions {
  kv_create(): number;
  kv_destroy(cache: number): void;
  kv_configure(
    cache: number,
    layers: number,
    layerCount: number,
    ropes: number,
    ropeCount: number,
    type: number,
    mode: number,
    sequences: number,
    maxTokens: number,
    scalar: boolean,
  ): Status;
  kv_estimate(layers: number, layerCount: number, type: number, axes: number, tokens: number, result: number): Status;
  kv_bytes(cache: number): number;
  kv_axes(cache: number): number;
  kv_tokens(cache: number, sequence: number): number;
  kv_written(cache: number, layer: number, sequence: number): number;
  kv_append(
    cache: number,
    layer: number,
    sequence: number,
    keys: WasmTensor,
    values: number,
    queries: WasmTensor,
    hasPositions: boolean,
    positions: WasmPositions,
  ): Status;
  kv_attend(cache: number, layer: number, sequence: number, queries: WasmTensor, options: WasmAttention): Status;
  kv_truncate(cache: number, sequence: number, tokens: number): Status;
  kv_shift(cache: number, sequence: number, keep: number, discard: number, checkOnly: boolean): Status;
  kv_copy_prefix(source: number, from: number, cache: number, to: number, tokens: number): Status;
  kv_retune(
    cache: number,
    groups: number,
    groupCount: number,
    rope: number,
    sequence: number,
    hasPositions: boolean,
    positions: WasmPositions,
    checkOnly: boolean,
  ): Status;
  kv_read(
    cache: number,
    layer: number,
    sequence: number,
    first: number,
    count: number,
    keys: number,
    values: number,
  ): Status;
  kv_positions(cache: number, sequence: number, result: number): void;

  kv_writer_create(): number;
  kv_writer_destroy(writer: number): void;
  kv_writer_open(writer: number, cache: number, sequence: number): Status;
  kv_writer_bytes(writer: number): number;
  kv_writer_read(writer: number, target: number, size: number): void;
  kv_reader_create(): number;
  kv_reader_destroy(reader: number): void;
  kv_reader_open(reader: number, cache: number, sequence: number, bytes: number): Status;
  kv_reader_write(reader: number, source: number, size: number): Status;
  kv_reader_finish(reader: number): Status;
}

/** The option of Emscripten's generated loader that replaces how wasm is instantiated. @internal */
export interface GlueOptions {
  wasmMemory: WebAssembly.Memory;
  instantiateWasm(
    imports: WebAssembly.Imports,
    receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
}

/** Emscripten's generated loader. @internal */
export type Glue = (options: GlueOptions) => Promise<WasmModule>;
