// What the wasm module offers (bindings/rope.cpp). Addresses and enumerators are numbers, statuses are 0 when all went well.

/** @internal */
export interface WasmConfigLists {
  values: number;
  short_factor: number;
  long_factor: number;
  inv_freq: number;
  freq_factors: number;
  mrope_section: number;
}

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

/** A status of the core: 0 is ok, the rest are for status_fields. @internal */
export type Status = number;

/** The core's functions. `rope` is the address that rope_create returned. @internal */
export interface WasmModule {
  readonly HEAPU8: Uint8Array;
  _memalign(alignment: number, bytes: number): number;
  _free(address: number): void;

  rope_create(): number;
  rope_destroy(rope: number): void;
  rope_configure(rope: number, config: object, lists: WasmConfigLists): Status;
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
    offset: number,
    ids: number,
    axes: number,
    rows: number,
    sequenceLength: number,
    role: number,
    inverse: boolean,
  ): Status;
  rope_check_positions(rope: number, positions: WasmPositions): Status;
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
  rope_analyse(rope: number, window: number, factor: number, wavelength: number, rotations: number, keptShare: number): Status;
  rope_decay(rope: number, curve: number, first: number, step: number, count: number, draws: number, seed: number, values: number): Status;
  rope_first_negative(rope: number, limit: number, distance: number): Status;
  rope_rerotate(keys: WasmTensor, from: number, fromPositions: WasmPositions, to: number, toPositions: WasmPositions): Status;

  smallest_base(rotaryDim: number, window: number, base: number): Status;
  over_extrapolated_pairs(rotaryDim: number, base: number, window: number, factor: number): { first: number; last: number };
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
  status_fields(status: Status): { code: string; field: string; advice: string };
}

/** The instantiate hook of Emscripten's glue, the only thing it lets a caller replace here. @internal */
export interface GlueOptions {
  instantiateWasm(imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void): object;
}

/** @internal */
export type Glue = (options: GlueOptions) => Promise<WasmModule>;
