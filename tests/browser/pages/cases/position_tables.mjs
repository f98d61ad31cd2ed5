// Sinusoidal tables, ALiBi slopes, T5 buckets. native_digest/position_tables.cpp computes the same.

import { positionsOf } from "./inputs.mjs";

export const cases = [
  { kind: "sinusoidal", tokens: 2000, first: 0, step: 1, dim: 64 },
  { kind: "sinusoidal", tokens: 300, first: -1000, step: 0.37, dim: 33, base: 500 },
  { kind: "sinusoidal", tokens: 5, first: 2 ** 31 - 10, step: 1.5, dim: 512 },
  { kind: "alibi_slopes", heads: 8 },
  { kind: "alibi_slopes", heads: 71 },
  { kind: "t5_buckets", tokens: 801, first: -200, step: 0.5, buckets: 32, max_distance: 128 },
  { kind: "t5_buckets", tokens: 801, first: -400, step: 1, buckets: 16, max_distance: 300, bidirectional: true },
];

const idsOf = ({ first, step, tokens }) => {
  const positions = positionsOf({ first, step, tokens });
  return typeof positions === "number" ? Float64Array.from({ length: tokens }, (_, t) => first + t) : positions;
};

export const compute = {
  sinusoidal: (rw, entry) => [
    rw.sinusoidalTable(entry.first === 0 ? entry.tokens : idsOf(entry), entry.dim, { base: entry.base ?? 10000 }),
  ],
  alibi_slopes: (rw, { heads }) => [rw.alibiSlopes(heads)],
  t5_buckets: (rw, entry) => {
    const { buckets, max_distance, bidirectional = false } = entry;
    return [rw.t5Buckets(idsOf(entry), { buckets, maxDistance: max_distance, bidirectional })];
  },
};
