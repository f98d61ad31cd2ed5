// Attention weights of one layer's heads, by the package's attention.
import type { Ropewalk } from "ropewalk";
import { HEAD_DIM, HEADS, type LayerVectors } from "./probe.js";

/**
 * The weights by which the token `query` reads itself and all tokens before it.
 *
 * Attention returns the sum of the values by their weights. With values that are 1 in one element for one token and 0 elsewhere, that element is
 * the weight of the token. A value has HEAD_DIM elements, so one call returns as many weights.
 * @returns [heads][query + 1]
 */
export function weightsOf(rw: Ropewalk, { q, k, rope: config }: LayerVectors, query: number): Float32Array[] {
  const [tokens, size] = [query + 1, HEADS * HEAD_DIM];
  const weights = Array.from({ length: HEADS }, () => new Float32Array(tokens));
  const rope = rw.rope(config);
  try {
    for (let first = 0; first < tokens; first += HEAD_DIM) {
      const count = Math.min(HEAD_DIM, tokens - first);
      const values = new Float32Array(tokens * size);
      for (let i = 0; i < count; i++)
        for (let head = 0; head < HEADS; head++) values[(first + i) * size + head * HEAD_DIM + i] = 1;
      const out = rw.attention(q.slice(query * size, tokens * size), k.slice(0, tokens * size), values, {
        layout: "thd",
        shape: [1, HEADS, HEAD_DIM],
        kvShape: [tokens, HEADS, HEAD_DIM],
        rope,
      });
      for (const [head, row] of weights.entries())
        row.set(out.subarray(head * HEAD_DIM, head * HEAD_DIM + count), first);
    }
    return weights;
  } finally {
    rope.dispose();
  }
}

/** The keys of one head, [tokens, headDim]: as projected, and rotated to their positions as the cache keeps them. */
export function keysOf(
  rw: Ropewalk,
  { k, rope: config }: LayerVectors,
  head: number,
): { raw: Float32Array; rotated: Float32Array } {
  const tokens = k.length / (HEADS * HEAD_DIM);
  const raw = new Float32Array(tokens * HEAD_DIM);
  for (let token = 0; token < tokens; token++) {
    const from = (token * HEADS + head) * HEAD_DIM;
    raw.set(k.subarray(from, from + HEAD_DIM), token * HEAD_DIM);
  }
  const rope = rw.rope(config);
  const rotated = rope.rotate(raw.slice(), { layout: "thd", shape: [tokens, 1, HEAD_DIM], positions: 0, role: "key" });
  rope.dispose();
  return { raw, rotated };
}
