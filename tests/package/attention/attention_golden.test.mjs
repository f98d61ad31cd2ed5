// Attention as PyTorch, gpt-oss and Gemma 2 compute it (tests/golden/attention.json).
import assert from "node:assert/strict";
import test from "node:test";
import { close } from "../helpers/arrays.mjs";
import { inLayout } from "../helpers/attention.mjs";
import { golden } from "../helpers/golden.mjs";
import { rw } from "../helpers/runtime.mjs";

const cases = golden("attention");

/** The case whose window limits one side only, as a PyTorch mask. Our windows limit both sides if attention isn't causal. */
const isOneSided = ({ options: { causal, window } }) => !causal && window !== null;

test("all cases are there, one with a one-sided window", () => {
  assert.equal(cases.length, 43);
  assert.deepEqual(
    cases.filter(isOneSided).map(({ name }) => name),
    ["window 3, later keys seen"],
  );
});

/** tests/golden/README.md: f32 attention is within 4e-7 of these, or 7e-6 if capped scores reach 50, which the layer rounds to f32. */
const toleranceOf = ({ name, kv_shape }) =>
  name === "gemma-2, scores far beyond the cap" ? 1e-5 : kv_shape[2] > 64 ? 1.5e-6 : 1e-6;

const swapped = ([b, h, t, d]) => [b, t, h, d];

for (const given of cases.filter((one) => !isOneSided(one))) {
  test(given.name, () => {
    const { q_shape: shape, kv_shape: kvShape, options } = given;
    const [q, k, v] = [given.q, given.k, given.v].map((x) => Float32Array.from(x));
    const { soft_cap: softCap, ...rest } = options;
    const out = rw.attention(q, k, v, { layout: "bhtd", shape, kvShape, softCap, ...rest });
    close(out, given.out, toleranceOf(given));

    // the same in bthd: inLayout with h and t exchanged converts [b, h, t, d] to [b, t, h, d]
    const moved = (x, [b, h, t, d]) => inLayout(x, "bhtd", { b, t: h, h: t, d });
    const [bq, bk, bv] = [moved(q, shape), moved(k, kvShape), moved(v, kvShape)];
    const other = rw.attention(bq, bk, bv, {
      layout: "bthd",
      shape: swapped(shape),
      kvShape: swapped(kvShape),
      softCap,
      ...rest,
    });
    close(other, moved(Float32Array.from(given.out), shape), toleranceOf(given) + 1e-7, "bthd");
  });
}
