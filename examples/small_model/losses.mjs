// Prints the loss of each token of a text as JSON. compare.py compares them with transformers and llama.cpp.
//
//   node examples/small_model/losses.mjs [FILE]     a list of { "model": FOLDER, "tokens": [...], "rope": OVERRIDES, "atLength": true }
//
// With `atLength`, the frequencies are those for the text's full length from the first token on, as in a program that reads the whole text at
// once. Otherwise they follow the length read so far.
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

/** Overrides with the explicit frequencies of a scaling at a length. */
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
