// Queries and keys of whole tiny models at positions up to 131071 (tests/golden/captured.json), with precision hf.
import assert from "node:assert/strict";
import test from "node:test";
import { configOf, golden } from "../helpers/golden.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const cases = golden("captured");

test("has all cases", () => assert.equal(cases.length, 11));

for (const golden of cases) {
  test(golden.name, () => {
    const { head_dim, positions } = golden;
    const config = configOf(golden, { precision: "hf" });
    assert.equal(config.head_dim, head_dim);
    withRope(rw.rope(config), (rope) => {
      for (const name of ["q", "k"]) {
        const x = Float32Array.from(golden[name]);
        const shape = [positions.length, 1, head_dim];
        rope.rotate(x, { layout: "thd", shape, positions });
        const largest = Math.max(...golden[name].map(Math.abs));
        // cos and sin are within an ulp of those of PyTorch, products and sums are rounded: 4 · 2^-24 of a pair's length
        golden[`${name}_rotated`].forEach((expected, i) => {
          assert.ok(Math.abs(x[i] - expected) <= 1e-6 * largest, `${name}[${i}]: ${x[i]} instead of ${expected}`);
        });
      }
    });
  });
}
