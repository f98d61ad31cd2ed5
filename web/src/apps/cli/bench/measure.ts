// Timing, and summaries of repeated measurements.

/** Median and range of repeated measurements. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** A benchmark result; more is better. */
export interface BenchLine extends Spread {
  name: string;
  unit: "GB/s" | "tokens/s";
}

/** Summarizes measurements. */
export function summarize(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1]!, min: sorted[0]!, max: sorted.at(-1)! };
}

/** Duration of an asynchronous call in milliseconds. */
export async function timed(call: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await call();
  return performance.now() - start;
}

/** Mean duration of a quick call in milliseconds, over as many calls as take `sampleMs`. */
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
