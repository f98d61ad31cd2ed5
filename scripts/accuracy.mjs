// Measures the errors of cosines and sines: this package's, and those of f32 angles as other systems compute them. Prints the
// table of docs/accuracy.md. Run `node scripts/accuracy.mjs [config.json]` after a build.
//
// The exact values are computed here with integers alone, in fixed point with 192 fractional bits.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { load, ropeConfig } from "ropewalk";
import { runMain } from "./run.mjs";

const BITS = 192n;
const ONE = 1n << BITS;
const POSITIONS = [4096, 131072, 1048576, 16777216];
const WINDOW = 64; // positions measured up to each of these

const multiply = (a, b) => (a * b) >> BITS;

/** The sum of first · x^n / divisor(n) over n = 0, 1, …, until terms vanish. */
function series(first, x, divisor) {
  let sum = 0n;
  let power = first;
  for (let n = 0n; power !== 0n; n += 1n) {
    sum += power / divisor(n);
    power = multiply(power, x);
  }
  return sum;
}

/** A series in which each term is the previous one times x / ratio(n). */
function product(x, ratio) {
  let sum = 0n;
  let term = ONE;
  for (let n = 1n; term !== 0n && term !== -1n; n += 1n) {
    sum += term;
    term = multiply(term, x) / ratio(n);
  }
  return sum;
}

const odd = (n) => 2n * n + 1n;
const atanh = (x) => series(x, multiply(x, x), odd);
const atan = (x) => series(x, -multiply(x, x), odd);
const PI = 4n * (4n * atan(ONE / 5n) - atan(ONE / 239n)); // Machin's formula
const LN_2 = 2n * atanh(ONE / 3n);

/** ln x for an integer x: x = 2^k m with m in [1, 2), and ln m = 2 artanh((m − 1) / (m + 1)). */
function logarithm(x) {
  const k = BigInt(x.toString(2).length - 1);
  const m = (BigInt(x) << BITS) >> k;
  return k * LN_2 + 2n * atanh(((m - ONE) << BITS) / (m + ONE));
}

const exp = (x) => product(x, (n) => n);
const cos = (x) => product(-multiply(x, x), (n) => (2n * n - 1n) * (2n * n));
const sin = (x) =>
  multiply(
    x,
    product(-multiply(x, x), (n) => 2n * n * (2n * n + 1n)),
  );

/** The frequencies base^(−2j/d), as powers of the second one. */
function exactFrequencies(base, rotary_dim) {
  const second = exp((-2n * logarithm(base)) / BigInt(rotary_dim));
  const frequencies = [ONE];
  while (frequencies.length < rotary_dim / 2) frequencies.push(multiply(frequencies.at(-1), second));
  return frequencies;
}

/** Converts an f32 or f64 number to fixed point, exactly. */
const fixed = (value) => BigInt(value * 2 ** 100) << (BITS - 100n);

/** Converts fixed point to the nearest f64 number. */
const numberOf = (size) => Number(size >> (BITS - 100n)) / 2 ** 100;

/** Angles as in transformers: positions, frequencies and angles in f32. */
function f32Angles(base, rotary_dim, position) {
  return Array.from({ length: rotary_dim / 2 }, (_, j) => {
    const power = Math.fround(base ** Math.fround((2 * j) / rotary_dim));
    return Math.fround(Math.fround(1 / power) * position);
  });
}

/** Angles as in ggml on the CPU: a running product in f32 over the pairs. */
function iteratedAngles(base, rotary_dim, position) {
  const step = Math.fround(base ** Math.fround(-2 / rotary_dim));
  let angle = position;
  return Array.from({ length: rotary_dim / 2 }, (_, j) => (angle = j === 0 ? position : Math.fround(angle * step)));
}

const cosAndSin = (angles) => ({
  cos: angles.map((angle) => Math.fround(Math.cos(angle))),
  sin: angles.map((angle) => Math.fround(Math.sin(angle))),
});

/** The exponent of the last place of an f32. */
const lastPlace = (value) => Math.max(Math.floor(Math.log2(Math.abs(value))), -126) - 23;

const DEFAULT = join(import.meta.dirname, "..", "examples", "configs", "qwen2.5-7b.json");

await runMain(import.meta.url, async ([file = DEFAULT]) => {
  const config = ropeConfig(JSON.parse(await readFile(file, "utf8")), { overrides: { rope_scaling: null } });
  const { rope_theta, rotary_dim } = config;
  const rw = await load({ build: "simd" });
  const rope = rw.rope(config);
  const likeTransformers = rw.rope({ ...config, precision: "hf" });
  const frequencies = exactFrequencies(rope_theta, rotary_dim);

  const columns = {
    ropewalk: (position) => rope.table([position]),
    'ropewalk, `precision: "hf"`': (position) => likeTransformers.table([position]),
    "f32 angles (transformers)": (position) => cosAndSin(f32Angles(rope_theta, rotary_dim, position)),
    "f32 angles, pair from pair (ggml, CPU)": (position) => cosAndSin(iteratedAngles(rope_theta, rotary_dim, position)),
  };

  let maxUnits = 0; // this package's largest error, in units of the last place of the value itself

  console.log(`| up to position | ${Object.keys(columns).join(" | ")} |`);
  console.log(`|---|${"---|".repeat(Object.keys(columns).length)}`);
  for (const last of POSITIONS) {
    const largest = Object.fromEntries(Object.keys(columns).map((name) => [name, 0n]));
    for (let position = last - WINDOW + 1; position <= last; position++) {
      const angles = frequencies.map((frequency) => {
        const angle = (frequency * BigInt(position)) % (2n * PI);
        return angle > PI ? angle - 2n * PI : angle;
      });
      const exact = { cos: angles.map(cos), sin: angles.map(sin) };
      for (const [name, tableAt] of Object.entries(columns)) {
        const table = tableAt(position);
        for (const kind of ["cos", "sin"]) {
          exact[kind].forEach((value, j) => {
            const error = fixed(table[kind][j]) - value;
            const size = error < 0n ? -error : error;
            if (size > largest[name]) largest[name] = size;
            if (name === "ropewalk" && table[kind][j] !== 0)
              maxUnits = Math.max(maxUnits, numberOf(size) / 2 ** lastPlace(table[kind][j]));
          });
        }
      }
    }
    const cells = Object.values(largest).map((size) => numberOf(size).toExponential(1));
    console.log(`| ${last} | ${cells.join(" | ")} |`);
  }
  console.log(
    `\nBase ${rope_theta}, ${rotary_dim / 2} pairs, largest |error| of cos and sin over ${WINDOW} positions. Half a unit in the last place of an f32 between 0.5 and 1 is ${(2 ** -25).toExponential(1)}. The largest error of ropewalk is ${maxUnits.toFixed(1)} units in the last place of the value itself.`,
  );
});
