// Prompt lookup compared with plain generation by random models: of a text that repeats itself, and of one without repeats. Prints lines.
import { load } from "../../../dist/index.node.js";
import { median } from "../measure.mjs";
import { modelFile } from "../models/model_file.mjs";

const [build] = process.argv.slice(2);
const MODELS = [
  ["smollm2-135m", "q8_0"],
  ["qwen2.5-0.5b", "q4_k_m"],
];
const ROUNDS = 7;
const TOKENS = 96;
/** The most probable token of a random model repeats soon. At this temperature no token occurs twice in a row of two. */
const TEXTS = {
  "a text that repeats itself": { options: { temperature: 0 }, target: 1.8 },
  "a text without repeats": { options: { temperature: 4, topK: 0, topP: 1, minP: 0 }, target: 0.97 },
};

const rw = await load({ build, threads: 1 });
const lines = [];
for (const [shape, type] of MODELS) {
  const { path } = await modelFile(shape, type);
  const model = await rw.model(path, { contextLength: 1024 });
  for (const [text, { options, target }] of Object.entries(TEXTS)) {
    const ratios = [];
    for (let seed = 0; seed <= ROUNDS; seed++) {
      const plain = await timed(model, { ...options, seed });
      const guessing = await timed(model, { ...options, seed, promptLookup: 15 });
      if (plain.tokens.join() !== guessing.tokens.join()) throw new Error("the texts differ");
      if (seed > 0) ratios.push(plain.ms / guessing.ms); // the first is a warm-up
    }
    lines.push({
      name: `${shape} ${type}, ${text}: times plain`,
      value: median(ratios),
      unit: "×",
      target,
      better: "more",
    });
  }
  model.dispose();
}
console.log(JSON.stringify(lines));

async function timed(model, options) {
  const session = model.session();
  await session.append(Int32Array.from({ length: 128 }, (_, i) => 300 + ((i * 7919) % 997)));
  const tokens = [];
  const start = performance.now();
  for await (const { token } of session.generate({ ...options, maxTokens: TOKENS, ignoreEnd: true }))
    tokens.push(token);
  const ms = performance.now() - start;
  session.dispose();
  return { tokens, ms };
}
