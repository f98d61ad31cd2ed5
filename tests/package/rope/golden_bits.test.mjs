// Frequencies with precision hf have the bits of transformers on made-up configs (tests/golden/frequency_bits.json). Thousands more come
// from hf_bits.py: ROPEWALK_FREQUENCY_BITS names its file.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";
import { golden } from "../helpers/golden.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const file = process.env["ROPEWALK_FREQUENCY_BITS"];
const cases = file === undefined ? golden("frequency_bits") : JSON.parse(readFileSync(file, "utf8"));

test("has all cases", () => assert.equal(cases.length, file === undefined ? 240 : cases.length));

for (const { name, config, seq_len, sha256, attention_factor, c_library = {} } of cases) {
  test(name, () => {
    withRope(rw.rope(config), (rope) => {
      const plan = rope.plan(seq_len ?? undefined);
      const inv_freq = Float32Array.from(plan.inv_freq);
      // where the C library's powf isn't the nearest float, it is next to it
      for (const [pair, value] of Object.entries(c_library)) {
        assert.ok(
          Math.abs(inv_freq[pair] / value - 1) < 2 ** -21,
          `pair ${pair}: ${inv_freq[pair]} instead of ${value}`,
        );
        inv_freq[pair] = value;
      }
      assert.equal(createHash("sha256").update(inv_freq).digest("hex").slice(0, 16), sha256);
      assert.equal(Math.fround(plan.attention_factor), Math.fround(attention_factor));
    });
  });
}
