// Compares the run times of functions within one run.

/** The middle value. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** Milliseconds that an asynchronous call takes. */
export async function timed(act) {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

/** A contender of `race` that calls a function again and again. */
export const repeatedly = (call) => (repeats) => {
  for (let i = 0; i < repeats; i++) call();
};

/**
 * Alternates between the functions, round after round, so that a slow moment of the machine affects all of them. A sample repeats a
 * function for about `sampleMs`.
 *
 * @param {Record<string, (repeats: number) => void>} contenders - each runs its work `repeats` times.
 * @returns {Record<string, { us: number, samples: number[] }>} microseconds for a call: the median over rounds, and each round.
 */
export function race(contenders, { rounds = 15, sampleMs = 8 } = {}) {
  const names = Object.keys(contenders);
  const repeats = Object.fromEntries(names.map((name) => [name, repeatsFor(contenders[name], sampleMs)]));
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      contenders[name](1); // warm-up: the others have evicted its data from the CPU caches
      const start = performance.now();
      contenders[name](repeats[name]);
      samples[name].push(((performance.now() - start) * 1000) / repeats[name]);
    }
  }
  return Object.fromEntries(names.map((name) => [name, { us: median(samples[name]), samples: samples[name] }]));
}

/** The same for functions that return promises. They run one after another. */
export async function raceAsync(contenders, { rounds = 9, sampleMs = 8 } = {}) {
  const names = Object.keys(contenders);
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  const repeats = {};
  for (const name of names) {
    await contenders[name](3); // warm-up: engines compile during the first calls
    const start = performance.now();
    await contenders[name](3);
    repeats[name] = Math.max(1, Math.round((sampleMs * 3) / Math.max(performance.now() - start, 1e-3)));
  }
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      await contenders[name](1);
      const start = performance.now();
      await contenders[name](repeats[name]);
      samples[name].push(((performance.now() - start) * 1000) / repeats[name]);
    }
  }
  return Object.fromEntries(names.map((name) => [name, { us: median(samples[name]), samples: samples[name] }]));
}

/** How many times faster `name` is than `reference`: the median of each round's ratio. */
export function ratio(results, reference, name) {
  return median(results[reference].samples.map((sample, round) => sample / results[name].samples[round]));
}

function repeatsFor(contender, sampleMs) {
  contender(1);
  let repeats = 1;
  for (;;) {
    const start = performance.now();
    contender(repeats);
    const elapsed = performance.now() - start;
    if (elapsed >= sampleMs / 2) return Math.max(1, Math.round((repeats * sampleMs) / elapsed));
    repeats *= 4;
  }
}
