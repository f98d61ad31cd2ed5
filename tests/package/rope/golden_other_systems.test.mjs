// llama.cpp, vLLM, the original YaRN code and lucidrains' package, where their rules differ (tests/golden/other_systems.json).
import assert from "node:assert/strict";
import test from "node:test";
import { golden } from "../helpers/golden.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const cases = golden("other_systems");

/** Both sides compute in f64. An error in the exponent of the base is multiplied by ln(base). */
const tolerance = 2 ** -44;
const near = (actual, expected, name) =>
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.abs(expected), `${name}: ${actual} instead of ${expected}`);

test("has all cases", () => assert.ok(cases.length >= 78));

for (const { name, config, seq_len, inv_freq, attention_factor, softmax_scale, table_length = 0 } of cases) {
  test(name, () => {
    withRope(rw.rope(config), (rope) => {
      const plan = rope.plan(seq_len ?? undefined);
      assert.equal(plan.inv_freq.length, inv_freq.length);
      inv_freq.forEach((expected, pair) => near(plan.inv_freq[pair], expected, `pair ${pair}`));
      near(plan.attention_factor, attention_factor, "attention_factor");
      assert.equal(plan.table_length, table_length);
      near(plan.softmax_scale * Math.sqrt(plan.head_dim), softmax_scale, "softmax_scale");
    });
  });
}

const withXpos = cases.filter(({ xpos }) => xpos !== undefined);

test("has all xPos cases", () => assert.equal(withXpos.length, 2));

for (const { name, config, xpos } of withXpos) {
  test(`${name}: scales of queries and keys`, () => {
    const { scale_base, length, positions, scales } = xpos;
    withRope(rw.rope({ ...config, xpos: { scale_base, center: Math.floor(length / 2) } }), (rope) => {
      const pairs = rope.plan().inv_freq.length;
      for (const [role, sign] of [
        ["query", 1],
        ["key", -1],
      ]) {
        const { cos, sin } = rope.table(positions, { role });
        positions.forEach((position, row) => {
          for (let pair = 0; pair < pairs; pair++) {
            const i = row * pairs + pair;
            const expected = scales[row][pair] ** sign;
            // cos and sin are each rounded to f32, an error of at most half an ulp
            assert.ok(
              Math.abs(Math.hypot(cos[i], sin[i]) / expected - 1) <= 2 ** -23,
              `${role}, pair ${pair} at ${position}`,
            );
          }
        });
      }
    });
  });
}
