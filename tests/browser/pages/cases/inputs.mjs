// The inputs of all cases: elements, configs, positions, options. native_digest/inputs.cpp creates the same.

export const PAIRINGS = ["half", "interleaved", "interleaved_to_half"];
export const DTYPES = ["f32", "f16", "bf16"];
export const LAYOUTS = ["bthd", "bhtd", "thd"];

export const SCALINGS = [
  {},
  { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32768 },
  { rope_type: "llama3", factor: 8, original_max_position_embeddings: 8192, low_freq_factor: 1, high_freq_factor: 4 },
  { rope_type: "dynamic", factor: 2, max_position_embeddings: 4096 },
  { rope_type: "linear", factor: 3 },
];

// Elements as bits: magnitudes in [2^-7, 2) (f16: [2^-3, 2)); every 16th is any number below 2, including subnormals.
const BITS = {
  f32: { shift: 0, keep: 0x83ffffff, set: 0x3c000000, below2: 0xbfffffff },
  f16: { shift: 16, keep: 0x8fff, set: 0x3000, below2: 0xbfff },
  bf16: { shift: 16, keep: 0x83ff, set: 0x3c00, below2: 0xbfff },
};

/** Elements by a linear congruential generator: a Float32Array, or a Uint16Array of bits. */
export function elements(dtype, count, seed) {
  const { shift, keep, set, below2 } = BITS[dtype];
  const bits = dtype === "f32" ? new Uint32Array(count) : new Uint16Array(count);
  let state = seed;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const drawn = state >>> shift;
    bits[i] = i % 16 === 0 ? drawn & below2 : (drawn & keep) | set;
  }
  return dtype === "f32" ? new Float32Array(bits.buffer) : bits;
}

/** An object without its undefined values. */
const given = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

/** The config of a case's rope: the geometry, and the scaling in the keys that begin with `prefix`. */
export function configOf(entry, prefix = "") {
  const { pairing, head_dim, rotary_dim, rotary_offset, precision, mrope_section } = entry;
  const scaled = (...keys) => given(Object.fromEntries(keys.map((key) => [key, entry[prefix + key]])));
  const scaling = scaled(
    "rope_type",
    "factor",
    "original_max_position_embeddings",
    "low_freq_factor",
    "high_freq_factor",
  );
  const scale_base = entry[`${prefix}xpos_scale_base`];
  return {
    ...given({
      pairing,
      head_dim,
      rotary_dim,
      rotary_offset,
      precision,
      mrope_section: mrope_section?.split(",").map(Number),
    }),
    ...scaled("rope_theta", "max_position_embeddings"),
    ...(scaling.rope_type !== undefined && { rope_scaling: scaling }),
    ...(scale_base !== undefined && { xpos: { scale_base } }),
  };
}

/** The keys of the rope that a cache is retuned to. */
export function retunedTo(scaling) {
  return Object.fromEntries(Object.entries(scaling).map(([key, value]) => [`to_${key}`, value]));
}

/** Positions first, first + step, … for each row and axis. Each next list starts 3 positions later. */
export function positionsOf({ first, step = 1, tokens, axes = 1, rows = 1 }) {
  if (step === 1 && axes * rows === 1) return first;
  return Float64Array.from(
    { length: axes * rows * tokens },
    (_, i) => first + 3 * Math.floor(i / tokens) + (i % tokens) * step,
  );
}

export function shapeOf({ layout, batches, tokens, heads, head_dim }) {
  return Array.from(layout, (dimension) => ({ b: batches, t: tokens, h: heads, d: head_dim })[dimension]);
}

export const sizeOf = (shape) => shape.reduce((product, extent) => product * extent);

/** The options of attention for scores, and for positions without a rope. */
export function scoresOf(entry, tokens) {
  const { causal, window, sink_tokens, soft_cap, scale, sinks, temperature, heads } = entry;
  return given({
    ...{ causal, window, scale, sinkTokens: sink_tokens, softCap: soft_cap },
    sinks: sinks && elements("f32", heads, 4),
    temperature: temperature && elements("f32", tokens, 5),
    position: schemeOf(entry),
  });
}

function schemeOf({
  position,
  base,
  slopes,
  table_rows,
  buckets,
  max_distance,
  bidirectional = false,
  heads,
  head_dim,
}) {
  if (position === "sinusoidal") return given({ scheme: position, base });
  if (position === "learned") return { scheme: position, table: elements("f32", table_rows * head_dim, 7) };
  if (position === "alibi") return given({ scheme: position, slopes: slopes && elements("f32", heads, 6) });
  if (position === "t5")
    return { scheme: position, table: elements("f32", buckets * heads, 7), maxDistance: max_distance, bidirectional };
  return undefined;
}

/** Copies arrays to tensors if required, and returns their elements. */
export class Operands {
  #rw;
  #inTensor;

  constructor(rw, inTensor) {
    this.#rw = rw;
    this.#inTensor = inTensor;
  }

  put(array, shape, dtype = "f32") {
    return this.#inTensor ? this.#rw.tensor(shape, dtype).set(array) : array;
  }

  take(operand) {
    if (ArrayBuffer.isView(operand)) return operand;
    const data = operand.data.slice();
    operand.dispose();
    return data;
  }
}
