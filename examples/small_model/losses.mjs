// Losses of a text's tokens, as JSON: what compare.py sets beside those of transformers and llama.cpp.
//
//   node examples/small_model/losses.mjs [FILE]     a list of { "model": FOLDER, "tokens": [...], "rope": OVERRIDES, "atLength": true }
//
// With `atLength`, the frequencies are those of the text's length from the first token on, as a program that reads the whole text at once
// has them, and not those of the length that has been reached.
import { readFileSync } from "node:fs";
import { load } from "ropewalk";

const rw = await load({ build: "simd" });

for (const { model: source, tokens, rope, atLength } of JSON.parse(readFileSync(process.argv[2] ?? 0, "utf8"))) {
  const options = { contextLength: tokens.length, kv: { dtype: "f32" } };
  const model = await rw.model(source, {
    ...options,
    rope: atLength ? await frequenciesAt(source, rope, tokens.length) : rope,
  });
  const { losses } = await model.perplexity(tokens, { window: tokens.length });
  console.log(JSON.stringify(Array.from(losses.subarray(1))));
  model.dispose();
}

/** Overrides with the very frequencies that a scaling has at a length. */
async function frequenciesAt(source, rope, length) {
  const model = await rw.model(source, { rope });
  const scaled = rw.rope(model.rope);
  const { inv_freq } = scaled.plan(length);
  for (const made of [scaled, model]) made.dispose();
  return {
    precision: rope.precision,
    rope_scaling: { rope_type: "custom", inv_freq: Array.from(inv_freq), replace: true },
  };
}
