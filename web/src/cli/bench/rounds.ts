/** Samples of one figure: the middle one, and how far they lie apart. */
export interface Spread {
  median: number;
  least: number;
  most: number;
}

/** A figure of this machine: more is better. */
export interface BenchLine extends Spread {
  name: string;
  unit: "GB/s" | "tokens/s";
}

/** Sums samples up. */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1]!, least: sorted[0]!, most: sorted.at(-1)! };
}

/** Milliseconds of an asynchronous call. */
export async function timed(call: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await call();
  return performance.now() - start;
}

/** Milliseconds that a quick call takes: the mean of as many as fill about `sampleMs`. */
export function meanTime(call: () => unknown, sampleMs: number): number {
  let calls = 0;
  const start = performance.now();
  let elapsed;
  do {
    call();
    calls += 1;
    elapsed = performance.now() - start;
  } while (elapsed < sampleMs);
  return elapsed / calls;
}
