// Attention over arrays. native_digest/attention.cpp computes the same.

import {
  configOf,
  DTYPES,
  elements,
  LAYOUTS,
  Operands,
  PAIRINGS,
  positionsOf,
  SCALINGS,
  scoresOf,
  shapeOf,
  sizeOf,
} from "./inputs.mjs";

const SIZES = { tokens: 37, kv_tokens: 37, heads: 4, kv_heads: 2, head_dim: 32 };
const PLAIN = { kind: "attention", ...SIZES, position: "none" };
const ROPE = { position: "rope", pairing: "half", rope_theta: 10000 };

// unrotated keys of every element type and layout, with pairings and scaling types in turn
const rotated = DTYPES.flatMap((dtype) => LAYOUTS.map((layout) => ({ dtype, layout }))).map((tensor, i) => ({
  ...{
    ...PLAIN,
    ...ROPE,
    ...tensor,
    ...SCALINGS[i % 5],
    pairing: PAIRINGS[i % 3],
    batches: tensor.layout === "thd" ? 1 : 2,
  },
  ...{ kv_tokens: 100, heads: 6, head_dim: 80, rotary_dim: 76, rotary_offset: 4, first: 5063, kv_first: 5000 },
}));

const ropes = [
  { ...SCALINGS[3], kv_first: 131000, first: 131000 },
  { ...SCALINGS[1], precision: "hf", kv_first: 40000, first: 40000 },
  { first: -7, kv_first: -7, step: 0.5 },
  { rows: true, first: 5 },
  { mrope_section: "4,6,6" },
  { xpos_scale_base: 512 },
].map((more) => ({ ...ROPE, ...more }));

const shapes = [
  { tokens: 1, kv_tokens: 300, heads: 8, head_dim: 64 },
  { tokens: 130, kv_tokens: 130, heads: 2, kv_heads: 1, head_dim: 4 },
  { tokens: 5, kv_tokens: 70, heads: 3, kv_heads: 3, head_dim: 33 },
  { tokens: 40, kv_tokens: 40, head_dim: 7 },
  { tokens: 6, kv_tokens: 6, head_dim: 1 },
  { tokens: 3, kv_tokens: 64, heads: 1, kv_heads: 1, head_dim: 256 },
];

const scores = [
  { causal: false },
  { window: 9 },
  { window: 9, sink_tokens: 4 },
  { causal: false, window: 5, sink_tokens: 3, kv_tokens: 80 },
  { sinks: true },
  { soft_cap: 2 },
  { soft_cap: 0.5, sinks: true, window: 20, temperature: true },
  { scale: 3 },
];

const schemes = [
  { position: "sinusoidal" },
  { position: "sinusoidal", base: 500, head_dim: 33, first: 70.25, kv_first: 0.25, step: 0.5 },
  { position: "learned", table_rows: 64, rows: true, layout: "bhtd", batches: 2 },
  { position: "alibi", heads: 6 },
  { position: "alibi", slopes: true, causal: false },
  { position: "t5", buckets: 32, max_distance: 128, kv_tokens: 300 },
  { position: "t5", buckets: 16, max_distance: 40, bidirectional: true, causal: false },
];

// element types and layouts in turn
const others = [...ropes, ...shapes, ...scores, ...schemes].map((more, i) => {
  const layout = LAYOUTS[(i + Math.floor(i / 3)) % 3];
  return { ...PLAIN, dtype: DTYPES[i % 3], layout, batches: layout === "thd" ? 1 : 2, ...more };
});

export const cases = [...rotated, ...others];

function attend(rw, entry, inTensor) {
  const { layout, dtype, batches, tokens, kv_tokens, kv_heads, position, mrope_section, step } = entry;
  const { first = kv_tokens - tokens, kv_first = 0 } = entry;
  const [shape, kvShape] = [shapeOf(entry), shapeOf({ ...entry, tokens: kv_tokens, heads: kv_heads })];
  const operands = new Operands(rw, inTensor);
  const q = operands.put(elements("f32", sizeOf(shape), 1), shape);
  const [k, v] = [2, 3].map((seed) => operands.put(elements(dtype, sizeOf(kvShape), seed), kvShape, dtype));
  const rope = position === "rope" ? rw.rope(configOf(entry)) : undefined;
  const planes = { step, axes: mrope_section === undefined ? 1 : 3, rows: entry.rows ? batches : 1 };
  const out = rw.attention(q, k, v, {
    ...{ layout, shape, kvShape, ...(dtype !== "f32" && { kvDtype: dtype }) },
    ...{ ...scoresOf(entry, tokens), ...(rope && { rope }) },
    positions: positionsOf({ ...planes, first, tokens }),
    kvPositions: positionsOf({ ...planes, first: kv_first, tokens: kv_tokens }),
  });
  rope?.dispose();
  for (const operand of [q, k, v]) operands.take(operand);
  return [operands.take(out)];
}

export const compute = { attention: attend };
