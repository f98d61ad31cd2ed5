// Linear attention over whole tensors, and over a growing sequence. native_digest/linear_attention.cpp computes the same.

import { configOf, elements, LAYOUTS, Operands, PAIRINGS, positionsOf, SCALINGS, shapeOf, sizeOf } from "./inputs.mjs";

const PLAIN = {
  kind: "linear",
  layout: "bthd",
  batches: 2,
  tokens: 70,
  kv_tokens: 70,
  heads: 4,
  kv_heads: 2,
  head_dim: 24,
  position: "none",
};
const ROPE = { position: "rope", pairing: "half", rope_theta: 10000 };

// layouts and pairings in turn
const tensors = [
  {},
  { causal: false, tokens: 9 },
  { ...ROPE, ...SCALINGS[1] },
  { ...ROPE, ...SCALINGS[2], causal: false, kv_tokens: 90, kv_first: -5 },
  { ...ROPE, first: -3, step: 0.25, rotary_dim: 16, rotary_offset: 4 },
  { heads: 3, kv_heads: 1, head_dim: 33 },
  { ...ROPE, ...SCALINGS[4], causal: false, tokens: 1, heads: 3, kv_heads: 3, head_dim: 7, rotary_dim: 6 },
].map((more, i) => {
  const layout = LAYOUTS[i % 3];
  return {
    ...PLAIN,
    layout,
    batches: layout === "thd" ? 1 : 2,
    ...more,
    ...(more.pairing && { pairing: PAIRINGS[(i + 1) % 3] }),
  };
});

const STATE = {
  kind: "linear_state",
  layout: "thd",
  heads: 4,
  kv_heads: 2,
  head_dim: 24,
  position: "none",
  pieces: "1,40,5,1",
};

const states = [
  STATE,
  { ...STATE, ...ROPE, ...SCALINGS[1], layout: "bhtd" },
  { ...STATE, ...ROPE, heads: 3, kv_heads: 3, head_dim: 9, rotary_dim: 8 },
];

export const cases = [...tensors, ...states];

const ropeOf = (rw, entry) => (entry.position === "rope" ? rw.rope(configOf(entry)) : undefined);

function attend(rw, entry, inTensor) {
  const { layout, causal = true, tokens, kv_tokens, kv_heads, step } = entry;
  const { first = kv_tokens - tokens, kv_first = 0 } = entry;
  const [shape, kvShape] = [shapeOf(entry), shapeOf({ ...entry, tokens: kv_tokens, heads: kv_heads })];
  const operands = new Operands(rw, inTensor);
  const q = operands.put(elements("f32", sizeOf(shape), 1), shape);
  const [k, v] = [2, 3].map((seed) => operands.put(elements("f32", sizeOf(kvShape), seed), kvShape));
  const rope = ropeOf(rw, entry);
  const out = rw.linearAttention(q, k, v, {
    ...{ layout, shape, kvShape, causal, ...(rope && { rope }) },
    positions: positionsOf({ first, step, tokens }),
    ...(!causal && { kvPositions: positionsOf({ first: kv_first, step, tokens: kv_tokens }) }),
  });
  rope?.dispose();
  for (const operand of [q, k, v]) operands.take(operand);
  return [operands.take(out)];
}

/** Appends tokens in several calls, and saves and restores the state after each. */
function appendPieces(rw, entry, inTensor) {
  const { layout, heads, kv_heads, head_dim } = entry;
  const operands = new Operands(rw, inTensor);
  const rope = ropeOf(rw, entry);
  const open = () => rw.linearState({ heads, kvHeads: kv_heads, headDim: head_dim, ...(rope && { rope }) });
  let state = open();
  const outputs = entry.pieces.split(",").flatMap((piece, i) => {
    const extents = { layout, batches: 1, tokens: Number(piece), heads, head_dim };
    const [shape, kvShape] = [shapeOf(extents), shapeOf({ ...extents, heads: kv_heads })];
    const q = operands.put(elements("f32", sizeOf(shape), 10 * i + 10), shape);
    const [k, v] = [11, 12].map((seed) => operands.put(elements("f32", sizeOf(kvShape), 10 * i + seed), kvShape));
    const out = state.append(q, k, v, { layout });
    for (const operand of [q, k, v]) operands.take(operand);
    const image = state.save();
    state.dispose();
    state = open();
    state.restore(image);
    return [operands.take(out), image];
  });
  state.dispose();
  rope?.dispose();
  return outputs;
}

export const compute = { linear: attend, linear_state: appendPieces };
