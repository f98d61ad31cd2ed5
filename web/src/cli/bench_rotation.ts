import type { Ropewalk } from "../index.node.js";
import { type BenchLine, meanTime, spreadOf } from "./bench_rounds.js";

const HEADS = 32;
const HEAD_DIM = 128;
const ROPE = { head_dim: HEAD_DIM, rope_theta: 1e6, pairing: "half" } as const;
const CASES = [
  { tokens: 1, dtype: "f32" },
  { tokens: 512, dtype: "f32" },
  { tokens: 512, dtype: "f16" },
] as const;
const SAMPLE_MS = 20;

/** Rotation of queries in wasm memory, at a position that moves on as in a model: bytes of the queries, each counted once. */
export function benchRotation(rw: Ropewalk, rounds: number): BenchLine[] {
  const rope = rw.rope(ROPE);
  try {
    return CASES.map(({ tokens, dtype }) => {
      const q = rw.tensor([tokens, HEADS, HEAD_DIM], dtype);
      const bytes = tokens * HEADS * HEAD_DIM * (dtype === "f32" ? 4 : 2);
      let position = 0;
      const turn = (): unknown => rope.rotate(q, { layout: "thd", positions: (position = (position + tokens) % 32768) });
      meanTime(turn, SAMPLE_MS); // engines compile while they run
      const samples = Array.from({ length: rounds }, () => bytes / 1e6 / meanTime(turn, SAMPLE_MS));
      q.dispose();
      const name = `rotation, ${tokens === 1 ? "1 token" : `${tokens} tokens`} of ${HEADS} heads of ${HEAD_DIM}, ${dtype}`;
      return { name, unit: "GB/s", ...spreadOf(samples) };
    });
  } finally {
    rope.dispose();
  }
}
