// Texts generated at once compared with one text, by random models. Prints lines.
import { load } from "../../../dist/index.node.js";
import { median } from "../measure.mjs";
import { modelFile } from "../models/model_file.mjs";

const [build] = process.argv.slice(2);
const MODELS = [
  ["smollm2-135m", "q8_0"],
  ["qwen2.5-0.5b", "q4_k_m"],
  ["qwen3-0.6b", "q4_k_m"],
];
const ROUNDS = 9;
const TOKENS = 32;
const COUNTS = [2, 4, 8];

const rw = await load({ build, threads: 1 });
const lines = [];
for (const [shape, type] of MODELS) {
  const { path } = await modelFile(shape, type);
  const model = await rw.model(path, { contextLength: 512 });
  const ratios = new Map(COUNTS.map((count) => [count, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    const one = await rate(model, 1);
    for (const count of COUNTS) {
      const many = await rate(model, count);
      if (round > 0) ratios.get(count).push(many / one); // the first is a warm-up
    }
  }
  for (const count of COUNTS) {
    const name = `${shape} ${type}, ${count} texts at once: tokens a second of one`;
    lines.push({
      name,
      value: median(ratios.get(count)),
      unit: "×",
      ...(count === 4 && { target: 2.2 }),
      better: "more",
    });
  }
  model.dispose();
}
console.log(JSON.stringify(lines));

/** Tokens per millisecond after the prompts, of all texts together. */
async function rate(model, count) {
  const prompts = Array.from({ length: count }, (_, i) => [300 + 31 * i, 400 + 7 * i, 500]);
  const options = { temperature: 0, maxTokens: TOKENS + 1, ignoreEnd: true, batchSize: count };
  let tokens = 0;
  let start;
  for await (const { token } of model.generateMany(prompts, options)) {
    tokens += token >= 0 ? 1 : 0;
    if (tokens === count) start = performance.now(); // the first round includes the prompts
  }
  return (tokens - count) / (performance.now() - start);
}
