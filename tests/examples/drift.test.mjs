// How far keys drift when they are shifted many times. docs/kv_caches.md has the numbers, which this file measures and compares.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { randomFloats } from "../package/helpers/arrays.mjs";
import { rw, withRope } from "../package/helpers/runtime.mjs";

const config = { head_dim: 64, pairing: "half", rope_theta: 1e4 };
const docs = readFileSync(new URL("../../docs/kv_caches.md", import.meta.url), "utf8");
const [, shifts] = /after (\d+) shifts/.exec(docs);
const window = 64;
const heads = 4;
const size = heads * 64;

/** The largest error of a pair, as a share of its length, after a number of shifts by one token. */
function drift(dtype, keys, count) {
  const tokens = window + count;
  const k = randomFloats(tokens * size, 1);
  const append = (cache, first, number) => {
    const part = k.slice(first * size, (first + number) * size);
    cache.append({ k: part, v: part, layout: "thd", shape: [number, heads, 64] });
  };
  const make = (type) => rw.kvCache({ rope: config, kvHeads: heads, maxLength: tokens, dtype: type, keys });
  return withRope(make(dtype), (cache) =>
    withRope(make("f32"), (fresh) => {
      append(cache, 0, tokens); // the last 64 tokens stay in all shifts
      for (let i = 0; i < count; i++) cache.shift({ discard: 1 });
      append(fresh, count, window);
      const [actual, expected] = [cache.read().k, fresh.read().k];
      let worst = 0;
      for (let row = 0; row < actual.length; row += 64) {
        for (let j = 0; j < 32; j++) {
          const [x, y] = [expected[row + j], expected[row + 32 + j]];
          const error = Math.hypot(actual[row + j] - x, actual[row + 32 + j] - y);
          worst = Math.max(worst, error / Math.hypot(x, y));
        }
      }
      return worst;
    }),
  );
}

for (const dtype of ["f32", "f16", "bf16", "q8_0", "q4_0"]) {
  test(`the drift of ${dtype} keys after ${shifts} shifts is what the docs say`, (t) => {
    const [once, often, raw] = [
      drift(dtype, "rotated", 1),
      drift(dtype, "rotated", Number(shifts)),
      drift(dtype, "raw", Number(shifts)),
    ];
    t.diagnostic(
      `${dtype}: ${once.toExponential(1)} after one shift, ${often.toExponential(1)} after ${shifts}, raw ${raw.toExponential(1)}`,
    );
    const row = new RegExp(`\\| \`${dtype}\` \\| ([\\d.e-]+) \\| ([\\d.e-]+) \\| ([\\d.e-]+) \\|`).exec(docs);
    assert.ok(row, `docs/kv_caches.md has a row of ${dtype}`);
    const stated = row.slice(1).map(Number);
    [once, often, raw].forEach((measured, i) => {
      const limit = stated[i] === 0 ? 0 : 0.35 * stated[i]; // builds may differ in the last bit
      assert.ok(Math.abs(measured - stated[i]) <= limit, `${measured} instead of ${stated[i]}`);
    });
  });
}
