// Cases whose bytes must be the same from every engine and from the native library, and their SHA-256.
//
// Pages, Node and native_digest.cpp share this list. A case is flat, so that it is also a command line: what to compute, from which
// positions (`first`, `first` + `step`, …), and the keys of the config.

const PAIRINGS = ["half", "interleaved", "interleaved_to_half"];
const DTYPES = ["f32", "f16", "bf16"];
const LAYOUTS = ["bthd", "bhtd", "thd"];

const SCALINGS = [
  {},
  { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32768 },
  { rope_type: "llama3", factor: 8, original_max_position_embeddings: 8192, low_freq_factor: 1, high_freq_factor: 4 },
  { rope_type: "dynamic", factor: 2, max_position_embeddings: 4096 },
  { rope_type: "linear", factor: 3 },
];

const POSITIONS = [
  { first: 0, step: 1 },
  { first: 131000, step: 1 },
  { first: -7, step: 0.5 },
  { first: 2 ** 24 - 3, step: 1 },
];

const SMALL = { batches: 2, tokens: 37, heads: 3, head_dim: 80, rotary_dim: 76, rotary_offset: 4, rope_theta: 10000 };
const LONG = { batches: 1, tokens: 2048, heads: 4, head_dim: 128, rope_theta: 1e6, first: 4096, step: 1 };

// every pairing, element type and layout; scalings, positions and direction take turns
const rotations = PAIRINGS.flatMap((pairing) => DTYPES.flatMap((dtype) => LAYOUTS.map((layout) => ({ pairing, dtype, layout })))).map(
  (kind, i) => ({
    ...{ what: "rotate", ...kind, ...SMALL, ...SCALINGS[i % 5], ...POSITIONS[i % 4] },
    ...{ batches: kind.layout === "thd" ? 1 : SMALL.batches, inverse: i % 7 === 3 },
  }),
);

// more than the 512 KB that pass through wasm memory at once
const longRotations = [
  { what: "rotate", pairing: "half", dtype: "f32", layout: "bhtd", ...LONG, ...SCALINGS[1], inverse: false },
  { what: "rotate", pairing: "interleaved", dtype: "f16", layout: "bthd", ...LONG, ...SCALINGS[3], inverse: false },
];

const table = { what: "table", pairing: "half", layout: "compact", dtype: "f32", head_dim: 128, rope_theta: 1e6, first: 0, step: 1, inverse: false };

const tables = [
  { ...table, tokens: 131072 },
  { ...table, tokens: 2048, ...SCALINGS[1], first: 2 ** 24 - 1024 },
  { ...table, tokens: 1000, ...SCALINGS[2], first: 1000.25, step: 0.37, layout: "half", dtype: "f16" },
  { ...table, tokens: 1000, ...SCALINGS[3], first: 2 ** 31 - 1000, layout: "interleaved", dtype: "bf16", inverse: true },
  { ...table, tokens: 4096, ...SCALINGS[1], precision: "hf" },
];

/** All cases, by a name that tells what they are. */
export const CASES = Object.fromEntries(
  [...rotations, ...longRotations, ...tables].map((entry) => {
    const { what, rope_type = "default", pairing, dtype, layout, tokens, first, step, inverse, precision = "" } = entry;
    const words = [what, pairing, rope_type, precision, dtype, layout, `${tokens} from ${first}`, step === 1 ? "" : `by ${step}`];
    return [[...words, inverse ? "inverse" : ""].filter(Boolean).join(" "), entry];
  }),
);

// Elements as bits: magnitudes of [2^-7, 2) (f16: [2^-3, 2)), and every 16th anything below 2, subnormal numbers included.
const BITS = {
  f32: { shift: 0, keep: 0x83ffffff, set: 0x3c000000, below2: 0xbfffffff },
  f16: { shift: 16, keep: 0x8fff, set: 0x3000, below2: 0xbfff },
  bf16: { shift: 16, keep: 0x83ff, set: 0x3c00, below2: 0xbfff },
};

/** Elements by a linear congruential generator: a Float32Array, or a Uint16Array of bits. */
function elements(dtype, count) {
  const { shift, keep, set, below2 } = BITS[dtype];
  const bits = dtype === "f32" ? new Uint32Array(count) : new Uint16Array(count);
  let state = 1;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const drawn = state >>> shift;
    bits[i] = i % 16 === 0 ? drawn & below2 : (drawn & keep) | set;
  }
  return dtype === "f32" ? new Float32Array(bits.buffer) : bits;
}

function configOf(entry) {
  const { pairing, head_dim, rotary_dim, rotary_offset, rope_theta, precision, max_position_embeddings } = entry;
  const { rope_type, factor, original_max_position_embeddings, low_freq_factor, high_freq_factor } = entry;
  const scaling = { rope_type, factor, original_max_position_embeddings, low_freq_factor, high_freq_factor };
  const given = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
  const config = given({ pairing, head_dim, rotary_dim, rotary_offset, rope_theta, precision, max_position_embeddings });
  return rope_type === undefined ? config : { ...config, rope_scaling: given(scaling) };
}

function positionsOf({ first, step, tokens }) {
  return step === 1 ? first : Float64Array.from({ length: tokens }, (_, t) => first + t * step);
}

function shapeOf({ layout, batches, tokens, heads, head_dim }) {
  return Array.from(layout, (dimension) => ({ b: batches, t: tokens, h: heads, d: head_dim })[dimension]);
}

function rotated(rw, rope, entry, inTensor) {
  const { dtype, layout, inverse } = entry;
  const shape = shapeOf(entry);
  const x = elements(dtype, shape.reduce((a, b) => a * b));
  const options = { layout, positions: positionsOf(entry), inverse };
  if (!inTensor) return [rope.rotate(x, { ...options, shape, ...(dtype !== "f32" && { dtype }) })];
  const tensor = rw.tensor(shape, dtype);
  const data = rope.rotate(tensor.set(x), options).data.slice();
  tensor.dispose();
  return [data];
}

function tabulated(rope, entry) {
  const { dtype, layout, inverse, first, step, tokens } = entry;
  const ids = first === 0 && step === 1 ? tokens : Float64Array.from({ length: tokens }, (_, t) => first + t * step);
  const { cos, sin } = rope.table(ids, { dtype, layout, inverse });
  return [cos, sin];
}

async function sha256(arrays) {
  const bytes = new Uint8Array(await new Blob(arrays).arrayBuffer());
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The digest of each case, by its name: rotations of arrays or of tensors, and tables. */
export async function digests(rw, { what = ["rotate", "table"], inTensor = false } = {}) {
  const results = {};
  for (const [name, entry] of Object.entries(CASES)) {
    if (!what.includes(entry.what)) continue;
    const rope = rw.rope(configOf(entry));
    results[name] = await sha256(entry.what === "table" ? tabulated(rope, entry) : rotated(rw, rope, entry, inTensor));
    rope.dispose();
  }
  return results;
}
