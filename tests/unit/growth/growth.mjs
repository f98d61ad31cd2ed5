// Measures how the time of a function grows with the size of its input.
//
// A growth test doesn't depend on the speed of the machine, nor on what else runs there: it compares times of the same process,
// and the least of several. Nothing is collected as garbage while it measures, for the first size for which that happens would seem
// to take much longer: a test file that imports this starts a process with a large young generation, which runs the tests.
import { spawnSync } from "node:child_process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Twice the size may take this many times as long. Linear time is 2, n log n is 2.1 to 2.3, quadratic time is 4. */
export const MAX_RATIO = 2.5;

/** The least time of the smallest of the three sizes, in ms. `ROPEWALK_CASES` stands for a long run (tests/README.md). */
const LEAST_MS = process.env.ROPEWALK_CASES === undefined ? 2 : 20;
/** What is below this isn't told apart from the timer. */
const NOISE_MS = 1;
/** How often each size is measured at most, while the times grow too fast. */
const ATTEMPTS = 20;
/** The same at four times the size, where noise counts less. */
const LATER_ATTEMPTS = 5;

// Threads that collect garbage would slow the first milliseconds of each call.
const FLAGS = ["--single-threaded-gc", "--min-semi-space-size=256", "--max-semi-space-size=256"];
if (!process.execArgv.includes(FLAGS[0])) {
  const { status } = spawnSync(process.execPath, [...FLAGS, process.argv[1]], { stdio: "inherit" });
  process.exit(status ?? 1);
}
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

/**
 * Time of one call, in ms: by the clock or of the processor, whichever is less. The clock counts other processes too, and the processor's time
 * the engine's other threads, which compile.
 */
async function timed(run, input) {
  collectGarbage({ type: "minor" });
  const start = performance.now();
  const used = process.cpuUsage();
  const result = run(input);
  if (typeof result?.then === "function") await result;
  const { user, system } = process.cpuUsage(used);
  return Math.min(performance.now() - start, (user + system) / 1000);
}

/**
 * Measures a function at the sizes n, 2n and 4n.
 * @param make - the input of a size
 * @param run - what is measured. It may return a promise. What it throws is thrown.
 * @param options.least, options.most - sizes between which the smallest of the three is chosen
 * @param options.attempts - how often each size is measured at most
 * @returns `{ sizes, times, ratio }`: by how much twice the size takes longer, as the mean of both steps
 */
export async function growth(make, run, { least = 16, most = 100_000, attempts = ATTEMPTS } = {}) {
  for (let n = least; ; n *= 2) {
    if (n < most && !(await takesLong(run, make(n)))) continue;
    const measured = await measure(make, run, n, attempts);
    // The engine may compile the code meanwhile, so that the smallest size can't be told from the timer any more.
    if (n >= most || measured.times[0] >= LEAST_MS) return measured;
  }
}

/** Whether a call takes a time that can be measured, also once the code is warm. */
async function takesLong(run, input) {
  for (let calls = 0; calls < 4; calls++) if ((await timed(run, input)) < LEAST_MS) return false;
  return true;
}

async function measure(make, run, n, attempts) {
  const sizes = [n, 2 * n, 4 * n];
  const inputs = sizes.map(make);
  for (let i = 0; i < 2; i++) await timed(run, inputs[0]); // warms up
  const times = sizes.map(() => Infinity);
  let ratio = Infinity;
  // Sizes alternate, so that all of them meet the same load.
  for (let attempt = 0; attempt < attempts && ratio > MAX_RATIO; attempt++) {
    for (const [i, input] of inputs.entries()) times[i] = Math.min(times[i], await timed(run, input));
    const counted = times.map((time) => time + NOISE_MS);
    ratio = Math.sqrt(counted[2] / counted[0]);
  }
  return { sizes, times, ratio };
}

/**
 * Throws an error if twice the size takes more than {@link MAX_RATIO} times as long, also at four times the size: a step, such as work that begins at
 * a certain length, isn't growth.
 */
export async function assertGrowth(make, run, options) {
  let measured = await growth(make, run, options);
  const attempts = options?.attempts ?? LATER_ATTEMPTS;
  if (measured.ratio > MAX_RATIO) measured = await measure(make, run, 4 * measured.sizes[0], attempts);
  const { sizes, times, ratio } = measured;
  const shown = sizes.map((n, i) => `${times[i].toFixed(1)} ms for ${n}`).join(", ");
  if (process.env.SHOW) console.log(shown, ratio.toFixed(2));
  if (ratio > MAX_RATIO) throw new Error(`twice the size takes ${ratio.toFixed(2)} times as long: ${shown}`);
}
