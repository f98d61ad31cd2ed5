// Measures rotation speed.
import type { Ropewalk } from "../../../index.node.js";
import { type BenchLine, meanTime, summarize } from "./measure.js";
import { checkInterrupted } from "../interrupt.js";

const HEADS = 32;
const HEAD_DIM = 128;
const ROPE = { head_dim: HEAD_DIM, rope_theta: 1e6, pairing: "half" } as const;
const CASES = [
  { tokens: 1, dtype: "f32" },
  { tokens: 512, dtype: "f32" },
  { tokens: 512, dtype: "f16" },
] as const;
const SAMPLE_MS = 20;

/**
 * Measures rotation of queries in wasm memory, at increasing positions as in a model. Each byte of the queries counts
 * once.
 */
export async function benchRotation(
  rw: Ropewalk,
  rounds: number,
  signal: AbortSignal,
  onRound: (done: number, total: number) => void,
): Promise<BenchLine[]> {
  const rope = rw.rope(ROPE);
  const tensors = CASES.map(({ tokens, dtype }) => rw.tensor([tokens, HEADS, HEAD_DIM], dtype));
  try {
    const lines: BenchLine[] = [];
    for (const [i, { tokens, dtype }] of CASES.entries()) {
      const q = tensors[i]!;
      const bytes = tokens * HEADS * HEAD_DIM * (dtype === "f32" ? 4 : 2);
      let position = 0;
      const rotate = (): unknown =>
        rope.rotate(q, { layout: "thd", positions: (position = (position + tokens) % 32768) });
      meanTime(rotate, SAMPLE_MS); // warm-up: engines optimize code while it runs
      const samples: number[] = [];
      while (samples.length < rounds) {
        samples.push(bytes / 1e6 / meanTime(rotate, SAMPLE_MS));
        onRound(i * rounds + samples.length, CASES.length * rounds);
        await checkInterrupted(signal);
      }
      const name = `rotation, ${tokens === 1 ? "1 token" : `${tokens} tokens`} of ${HEADS} heads of ${HEAD_DIM}, ${dtype}`;
      lines.push({ name, unit: "GB/s", ...summarize(samples) });
    }
    return lines;
  } finally {
    for (const tensor of tensors) tensor.dispose();
    rope.dispose();
  }
}
