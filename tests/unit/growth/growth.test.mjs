// The measurement of growth itself tells linear time from quadratic.
import assert from "node:assert/strict";
import test from "node:test";
import { assertGrowth, growth, MAX_RATIO } from "./growth.mjs";

const make = (n) => n;
let sink = 0;
const spin = (steps) => {
  for (let i = 0; i < steps; i++) sink = (sink * 31 + i) | 0;
};

test("linear and n log n pass", async () => {
  await assertGrowth(make, (n) => spin(400 * n));
  await assertGrowth(make, (n) => spin(40 * n * Math.log2(n)));
  await assertGrowth(make, () => spin(10_000));
});

// Times that grow too fast are measured as often as allowed, in vain here.
const few = { attempts: 3 };

test("quadratic time is found, also beside a linear part that is larger at first", async () => {
  await assert.rejects(
    assertGrowth(make, (n) => spin(n * n), few),
    /twice the size takes [34]\.\d\d times as long/,
  );
  await assert.rejects(
    assertGrowth(make, (n) => spin(100 * n + n * n), few),
    /times as long/,
  );
  const { ratio } = await growth(make, async (n) => spin(n * n), few);
  assert.ok(ratio > MAX_RATIO);
});

test("a step isn't growth", async () => {
  const [n] = (await growth(make, (size) => spin(400 * size))).sizes;
  const step = [make, (size) => spin((size < 2 * n ? 400 : 4000) * size), { least: n, most: n, ...few }];
  assert.ok((await growth(...step)).ratio > MAX_RATIO);
  await assertGrowth(...step);
});
