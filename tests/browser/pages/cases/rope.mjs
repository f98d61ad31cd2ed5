// Rotations and tables. native_digest/rope.cpp computes the same.

import {
  configOf,
  DTYPES,
  elements,
  LAYOUTS,
  Operands,
  PAIRINGS,
  positionsOf,
  SCALINGS,
  shapeOf,
  sizeOf,
} from "./inputs.mjs";

const POSITIONS = [
  { first: 0, step: 1 },
  { first: 131000, step: 1 },
  { first: -7, step: 0.5 },
  { first: 2 ** 24 - 3, step: 1 },
];

const SMALL = { batches: 2, tokens: 37, heads: 3, head_dim: 80, rotary_dim: 76, rotary_offset: 4, rope_theta: 10000 };
const LONG = { batches: 1, tokens: 2048, heads: 4, head_dim: 128, rope_theta: 1e6, first: 4096, step: 1 };

// every pairing, element type and layout, with scaling types, positions and directions in turn
const rotations = PAIRINGS.flatMap((pairing) =>
  DTYPES.flatMap((dtype) => LAYOUTS.map((layout) => ({ pairing, dtype, layout }))),
).map((tensor, i) => ({
  ...{ kind: "rotate", ...tensor, ...SMALL, ...SCALINGS[i % 5], ...POSITIONS[i % 4] },
  ...{ batches: tensor.layout === "thd" ? 1 : SMALL.batches, inverse: i % 7 === 3 },
}));

// more than one chunk of 512 KB
const longRotations = [
  { kind: "rotate", pairing: "half", dtype: "f32", layout: "bhtd", ...LONG, ...SCALINGS[1] },
  { kind: "rotate", pairing: "interleaved", dtype: "f16", layout: "bthd", ...LONG, ...SCALINGS[3] },
];

const table = {
  kind: "table",
  pairing: "half",
  layout: "compact",
  dtype: "f32",
  head_dim: 128,
  rope_theta: 1e6,
  first: 0,
  step: 1,
};

const tables = [
  { ...table, tokens: 131072 },
  { ...table, tokens: 2048, ...SCALINGS[1], first: 2 ** 24 - 1024 },
  { ...table, tokens: 1000, ...SCALINGS[2], first: 1000.25, step: 0.37, layout: "half", dtype: "f16" },
  {
    ...table,
    tokens: 1000,
    ...SCALINGS[3],
    first: 2 ** 31 - 1000,
    layout: "interleaved",
    dtype: "bf16",
    inverse: true,
  },
  { ...table, tokens: 4096, ...SCALINGS[1], precision: "hf" },
];

export const cases = [...rotations, ...longRotations, ...tables];

function rotate(rw, entry, inTensor) {
  const { dtype, layout, inverse } = entry;
  const shape = shapeOf(entry);
  const operands = new Operands(rw, inTensor);
  const x = operands.put(elements(dtype, sizeOf(shape), 1), shape, dtype);
  const rope = rw.rope(configOf(entry));
  rope.rotate(x, { layout, shape, positions: positionsOf(entry), inverse, ...(dtype !== "f32" && { dtype }) });
  rope.dispose();
  return [operands.take(x)];
}

function tabulate(rw, entry) {
  const { dtype, layout, inverse, tokens } = entry;
  const positions = positionsOf(entry);
  const ids =
    typeof positions === "number" ? Float64Array.from({ length: tokens }, (_, t) => positions + t) : positions;
  const rope = rw.rope(configOf(entry));
  const { cos, sin } = rope.table(positions === 0 ? tokens : ids, { dtype, layout, inverse });
  rope.dispose();
  return [cos, sin];
}

export const compute = { rotate, table: tabulate };
