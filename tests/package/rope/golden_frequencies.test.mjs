// Frequencies, attention factors and tables of every model config in tests/golden/frequencies.json, compared with transformers.
import assert from "node:assert/strict";
import test from "node:test";
import { configOf, golden } from "../helpers/golden.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const cases = golden("frequencies");

/**
 * transformers computes in f32. An unscaled frequency has three roundings (exponent, power, reciprocal), 3e-7 according to
 * tests/golden/README.md. The ramp of YaRN and the smoothing of Llama 3 subtract and add rounded numbers, which adds up to half as much.
 */
const frequencyTolerance = 5e-7;

/** Mistral 4 passes its whole head to transformers. The rotated part is separate, as in DeepSeek's attention. */
const headDims = { mistral4: 64 };

test("has all cases", () => assert.ok(cases.length >= 129));

for (const golden of cases) {
  test(golden.name, () => {
    const config = configOf(golden);
    withRope(rw.rope(config), (rope) => {
      const plan = rope.plan(golden.seq_len ?? undefined);
      assert.equal(plan.rotary_dim, golden.rotary_dim);
      assert.equal(plan.head_dim, headDims[golden.name] ?? golden.head_dim);
      assert.equal(plan.inv_freq.length, golden.inv_freq.length);
      golden.inv_freq.forEach((expected, pair) => {
        const error = Math.abs(plan.inv_freq[pair] - expected);
        assert.ok(
          error <= frequencyTolerance * expected,
          `pair ${pair}: ${plan.inv_freq[pair]} instead of ${expected}`,
        );
      });
      assert.ok(
        Math.abs(plan.attention_factor - golden.attention_factor) <= 1e-12,
        `attention_factor ${plan.attention_factor} instead of ${golden.attention_factor}`,
      );
      // the file has the factor on 1/√head_dim, without the scale that a family defines
      const softmax = plan.softmax_scale / (config.softmax_scale ?? 1 / Math.sqrt(plan.head_dim));
      assert.ok(
        Math.abs(softmax - golden.softmax_scale) <= 1e-12 * golden.softmax_scale,
        `softmax_scale × ${softmax} instead of ${golden.softmax_scale}`,
      );
    });
  });
}

/** Whether each frequency has the same bits as in transformers. */
const same = { bits: 0, all: 0 };

for (const golden of cases) {
  test(`${golden.name}: cos and sin with precision hf`, () => {
    withRope(rw.rope(configOf(golden, { precision: "hf" })), (rope) => {
      const { inv_freq } = rope.plan(golden.seq_len ?? undefined);
      const positions = Array.from({ length: rope.axes }, () => golden.positions).flat();
      const table = rope.table(positions, { seqLen: golden.seq_len ?? 1 });
      golden.positions.forEach((position, row) => {
        golden.pairs.forEach((pair, column) => {
          const frequency = golden.inv_freq[pair];
          const hasSameBits = Math.fround(inv_freq[pair]) === Math.fround(frequency);
          // cos and sin of equal angles: 2.4e-7 in transformers (tests/golden/README.md), half an ulp here. If the
          // frequencies differ, so do the angles.
          const angleError = hasSameBits ? 0 : position * (Math.abs(inv_freq[pair] - frequency) + 2 ** -23 * frequency);
          const tolerance = golden.attention_factor * (3e-7 + angleError);
          for (const name of ["cos", "sin"]) {
            const actual = table[name][row * inv_freq.length + pair];
            const expected = golden[name][row][column];
            assert.ok(
              Math.abs(actual - expected) <= tolerance,
              `${name} of pair ${pair} at ${position}: ${actual} instead of ${expected}, tolerance ${tolerance}`,
            );
          }
        });
      });
      golden.inv_freq.forEach((expected, pair) => {
        same.all++;
        same.bits += Math.fround(inv_freq[pair]) === Math.fround(expected) ? 1 : 0;
      });
    });
  });
}

test("precision hf rounds like transformers: all frequencies have the same bits", () => {
  assert.ok(same.all > 6000);
  assert.equal(same.bits, same.all);
});
