// What a narrower cache costs the small model. docs/kv_caches.md has the numbers, which this file measures and compares.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { TRAINED_LENGTH, textOf } from "../../examples/small_model/texts.mjs";
import { rw } from "../package/helpers/runtime.mjs";

const docs = readFileSync(new URL("../../docs/kv_caches.md", import.meta.url), "utf8");
const folder = fileURLToPath(new URL("../../examples/small_model/", import.meta.url));
const texts = Array.from({ length: 8 }, (_, seed) => textOf({ seed: 1000 + seed, length: 250, near: true }).text);

/** The perplexity of the texts, and their logits. */
async function read(dtype) {
  const model = await rw.model(folder, { kv: { dtype }, contextLength: TRAINED_LENGTH });
  try {
    let [loss, count] = [0, 0];
    const logits = [];
    for (const text of texts) {
      const tokens = model.tokenizer.encode(text).slice(0, TRAINED_LENGTH);
      const measured = await model.perplexity(tokens);
      loss += Math.log(measured.perplexity) * (tokens.length - 1);
      count += tokens.length - 1;
      const session = model.session();
      logits.push((await session.trace(tokens, { what: ["logits"] })).logits.data);
      session.dispose();
    }
    return { perplexity: Math.exp(loss / count), logits };
  } finally {
    model.dispose();
  }
}

const exact = await read("f32");

for (const dtype of ["f32", "f16", "bf16", "q8_0", "q4_0"]) {
  test(`what a ${dtype} cache costs is what the docs say`, async (t) => {
    const { perplexity, logits } = dtype === "f32" ? exact : await read(dtype);
    let difference = 0;
    logits.forEach((row, i) =>
      row.forEach((logit, j) => (difference = Math.max(difference, Math.abs(logit - exact.logits[i][j])))),
    );
    t.diagnostic(`${dtype}: perplexity ${perplexity.toFixed(4)}, logits differ by up to ${difference.toPrecision(2)}`);
    const row = new RegExp(`\\| \`${dtype}\` \\| (\\d\\.\\d{4}) \\| ([\\d.]+) \\| \\d+ \\|`).exec(docs);
    assert.ok(row, `docs/kv_caches.md has a row of ${dtype}`);
    const [stated, largest] = row.slice(1).map(Number);
    assert.ok(Math.abs(perplexity - stated) <= 2e-3, `perplexity ${perplexity} instead of ${stated}`);
    // the largest of a million differences: builds round otherwise
    assert.ok(Math.abs(difference - largest) <= 0.35 * largest, `${difference} instead of ${largest}`);
  });
}
