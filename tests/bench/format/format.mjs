// Structured output compared with free text by a random model with 151,936 tokens. Prints lines.
import { load } from "../../../dist/index.node.js";
import { median } from "../measure.mjs";
import { modelFile } from "../models/model_file.mjs";

const [build] = process.argv.slice(2);
const ROUNDS = 5;
const TOKENS = 64;

/** Objects without end. Each round has other names, so that nothing is known from the round before. */
const list = (round, text) => ({
  schema: {
    type: "array",
    minItems: 1000,
    items: {
      type: "object",
      properties: { [`name_${round}`]: text, [`age_${round}`]: { type: "integer", minimum: 0, maximum: 120 } },
      required: [`name_${round}`, `age_${round}`],
    },
  },
});
const FORMATS = {
  "JSON of a schema": (round) => list(round, { type: "string" }),
  "the same with strings of at most 100 characters": (round) => list(round, { type: "string", maxLength: 100 }),
  "JSON of a schema that was used before": () => list(0, { type: "string" }),
};

const rw = await load({ build, threads: 1 });
const { path } = await modelFile("qwen2.5-0.5b", "q4_k_m");
const model = await rw.model(path, { contextLength: 1024 });
const lines = [];
for (const [name, format] of Object.entries(FORMATS)) {
  const ratios = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const free = await timed({ seed: round });
    const formatted = await timed({ seed: round, format: format(round) });
    if (round > 0) ratios.push(formatted / free); // the first is a warm-up
  }
  lines.push({ name: `${name}: time of free text`, value: median(ratios), unit: "×", target: 1.05, better: "less" });
}
console.log(JSON.stringify(lines));

/** Milliseconds for a token. */
async function timed(options) {
  const session = model.session();
  await session.append(Int32Array.from({ length: 32 }, (_, i) => 300 + ((i * 7919) % 997)));
  const start = performance.now();
  let count = 0;
  for await (const piece of session.generate({
    ...options,
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    maxTokens: TOKENS,
  }))
    count += piece.token >= 0 ? 1 : 0;
  const ms = performance.now() - start;
  session.dispose();
  return ms / count;
}
