// Measures how the time of a function grows with the size of its input.
//
// A growth test doesn't depend on the speed of the machine, nor on what else runs there: it compares times of the same process, of the
// processor, and the least of several. A size is as large as it must be for a time that can be measured.

/** Twice the size may take this many times as long. Linear time is 2, n log n is 2.1 to 2.3, quadratic time is 4. */
export const MAX_RATIO = 2.5;

/** The least time of the smallest of the three sizes, in ms. `ROPEWALK_CASES` stands for a long run (tests/README.md). */
const LEAST_MS = process.env.ROPEWALK_CASES === undefined ? 4 : 40;
/** What is below this isn't told apart from the timer and the collector of garbage. */
const NOISE_MS = 1;
/** Times that each size is measured, and how often that is repeated while the times grow too fast. */
const ROUNDS = 3;
const ATTEMPTS = 6;

/** Time of the processor for one call, in ms: all threads of the process, so collecting garbage counts. */
function timed(run, input) {
  const start = process.cpuUsage();
  const result = run(input);
  const end = ({ user, system } = process.cpuUsage(start)) => (user + system) / 1000;
  return typeof result?.then === "function" ? result.then(() => end()) : end();
}

/** The largest size up to `most` for whose input a call doesn't take long, doubled from `least` on. Warms up the code too. */
async function startSize(make, run, least, most) {
  let n = least;
  for (; n < most; n *= 2) {
    const input = make(n);
    const times = [await timed(run, input), await timed(run, input)];
    if (Math.min(...times) >= LEAST_MS) break;
  }
  return n;
}

/**
 * Measures a function at the sizes n, 2n and 4n.
 * @param make - the input of a size
 * @param run - what is measured. It may return a promise. What it throws is thrown.
 * @param options.least, options.most - sizes between which the smallest of the three is chosen
 * @returns `{ sizes, times, ratio }`: the larger of the two steps' ratios
 */
export async function growth(make, run, { least = 64, most = 100_000 } = {}) {
  const n = await startSize(make, run, least, most);
  const sizes = [n, 2 * n, 4 * n];
  const inputs = sizes.map(make);
  const times = sizes.map(() => Infinity);
  let ratio = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && ratio > MAX_RATIO; attempt++) {
    // Sizes alternate, so that all of them meet the same load.
    for (let round = 0; round < ROUNDS; round++)
      for (const [i, input] of inputs.entries()) times[i] = Math.min(times[i], await timed(run, input));
    const counted = times.map((time) => time + NOISE_MS);
    ratio = Math.max(counted[1] / counted[0], counted[2] / counted[1]);
  }
  return { sizes, times, ratio };
}

/** Throws an error if twice the size takes more than {@link MAX_RATIO} times as long. */
export async function assertGrowth(...args) {
  const { sizes, times, ratio } = await growth(...args);
  if (process.env.SHOW)
    console.log(sizes.map((n, i) => `${n}: ${times[i].toFixed(1)} ms`).join(", "), ratio.toFixed(2));
  if (ratio <= MAX_RATIO) return;
  const shown = sizes.map((n, i) => `${times[i].toFixed(1)} ms for ${n}`).join(", ");
  throw new Error(`twice the size takes ${ratio.toFixed(2)} times as long: ${shown}`);
}
