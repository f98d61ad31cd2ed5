// Written by scripts/fields.mjs of bindings/. Addresses and enumerators are numbers. A status is 0 for success.
import type { RopeConfig } from "../config/rope_fields.js";
import type { AttentionFields, IntervalFields, PlanFields, PositionFields, TensorFields } from "./call_fields.js";
import type { Status } from "./status.js";

/** @internal */
export interface WasmFunctions {
  // bindings/rope.cpp
  /** Returns 0 if memory runs out. */
  rope_create(): number;
  rope_destroy(rope: number): void;
  rope_configure(rope: number, config: RopeConfig): Status;
  rope_use_scalar_kernels(rope: number): void;
  rope_use_length(rope: number, sequenceLength: number): Status;
  rope_plan(rope: number): PlanFields;
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
  rope_use_positions(rope: number, p: PositionFields): Status;
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
    p: PositionFields,
    role: number,
    inverse: boolean,
    dtype: number,
    layout: number,
    cos: number,
    sin: number,
  ): Status;
  rope_query_temperatures(rope: number, positions: number, count: number, factors: number): void;
  /** Writes wavelength, rotations and kept share of each pair, [pairs] each. */
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
    keys: TensorFields,
    from: number,
    fromPositions: PositionFields,
    to: number,
    toPositions: PositionFields,
  ): Status;
  smallest_base(rotaryDim: number, window: number, base: number): Status;
  over_extrapolated_pairs(rotaryDim: number, base: number, window: number, factor: number): IntervalFields;
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
  /** Addresses of the texts of a status, which end in a zero. */
  status_code(status: number): number;
  status_field(status: number): number;
  status_requirement(status: number): number;

  // bindings/attention.cpp
  attention_attend(
    queries: TensorFields,
    keys: TensorFields,
    values: number,
    queryPositions: PositionFields,
    keyPositions: PositionFields,
    options: AttentionFields,
    scalar: boolean,
  ): Status;
  linear_create(): number;
  linear_destroy(linear: number): void;
  linear_configure(linear: number, heads: number, kvHeads: number, headDim: number): Status;
  linear_step(
    linear: number,
    rope: number,
    positions: PositionFields,
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

  // bindings/kv_cache.cpp
  /** Returns 0 if out of memory. */
  kv_create(): number;
  kv_destroy(cache: number): void;
  /** layers: [layer_count] of KvLayer, 4 i32 each: kv_heads, head_dim, rope index, and whether it has values. ropes: [rope_count] addresses of configured ropes, whose configs are copied. */
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
    keys: TensorFields,
    values: number,
    queries: TensorFields,
    hasPositions: boolean,
    positions: PositionFields,
  ): Status;
  kv_attend(cache: number, layer: number, sequence: number, queries: TensorFields, options: AttentionFields): Status;
  kv_default_scale(cache: number, layer: number, sequence: number, result: number): number;
  kv_truncate(cache: number, sequence: number, count: number): Status;
  kv_shift(cache: number, sequence: number, keep: number, discard: number, checkOnly: boolean): Status;
  kv_copy_prefix(source: number, from: number, cache: number, to: number, count: number): Status;
  /** ropes: [rope_count] i32 indices of the cache's ropes that get the config of `rope`, a configured rope; both 0 if ropes stay. */
  kv_retune(
    cache: number,
    ropes: number,
    ropeCount: number,
    rope: number,
    sequence: number,
    hasPositions: boolean,
    fields: PositionFields,
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
  kv_reader_open(reader: number, cache: number, sequence: number, size: number): Status;
  kv_reader_write(reader: number, source: number, size: number): Status;
  kv_reader_finish(reader: number): Status;

  // bindings/threads.cpp
  /** To be called before helpers are started. */
  threads_open(): void;
  /** Divides jobs among this many threads, of which all helpers run. */
  threads_use(threads: number): void;
  /** Ends all helpers. */
  threads_stop(): void;
  threads_lost(): number;

  // bindings/kernels.cpp
  /** A text in static memory. */
  dot_name(scalar: boolean, format: number): number;
}
