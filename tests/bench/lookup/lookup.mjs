// Prompt lookup compared with plain generation, of texts that random models are made to write. Prints lines.
import { readFile } from "node:fs/promises";
import { load } from "../../../dist/index.node.js";
import { median } from "../measure.mjs";
import { modelFile } from "../models/model_file.mjs";
import { dictate, edited, wordIds } from "./script.mjs";

const [build] = process.argv.slice(2);
// their heads are their embeddings
const MODELS = [
  ["smollm2-135m", "q8_0"],
  ["qwen2.5-0.5b", "q4_k_m"],
];
const ROUNDS = 3;
const PROMPT = 144;
const FIRST_WORD = 1000;
const FRESH_WORDS = 30_000;

const prose = wordIds(
  await readFile(new URL("../../../docs/rope_and_yarn_from_zero.md", import.meta.url), "utf8"),
  FIRST_WORD,
);
/** What is written after a prompt of the prose. */
const TEXTS = [
  { name: "its prompt, copied", of: (prompt) => prompt, target: 1.8 },
  { name: "its prompt with an edit in 48 tokens", of: (prompt) => edited(prompt, 48, FRESH_WORDS), target: 1.8 },
  { name: "its prompt with an edit in 16 tokens", of: (prompt) => edited(prompt, 16, FRESH_WORDS) },
  { name: "prose that goes on", of: (_, next) => next, target: 0.97 },
];

const rw = await load({ build, threads: 1 });
const lines = [];
for (const [shape, type] of MODELS) {
  const { path } = await modelFile(shape, type);
  const model = await rw.model(path, { contextLength: 1024 });
  await milliseconds(model, prose.slice(0, 64), prose.slice(0, 32), { promptLookup: 15 }); // a warm-up
  for (const { name, of, target } of TEXTS) {
    const ratios = [];
    for (let round = 0; round < ROUNDS; round++) {
      const at = round * PROMPT;
      const prompt = prose.slice(at, at + PROMPT);
      const text = of(prompt, prose.slice(at + PROMPT, at + 2 * PROMPT));
      const plain = await milliseconds(model, prompt, text, {});
      const guessing = await milliseconds(model, prompt, text, { promptLookup: 15 });
      ratios.push(plain / guessing);
    }
    lines.push({
      name: `${shape} ${type}, ${name}: times plain`,
      value: median(ratios),
      unit: "×",
      ...(target !== undefined && { target }),
      better: "more",
    });
  }
  model.dispose();
}
console.log(JSON.stringify(lines));

async function milliseconds(model, prompt, text, options) {
  const session = model.session();
  await dictate(model, session, [...prompt, ...text]);
  await session.append(prompt);
  const written = [];
  const start = performance.now();
  for await (const { token } of session.generate({
    temperature: 0,
    maxTokens: text.length,
    ignoreEnd: true,
    ...options,
  }))
    written.push(token);
  const ms = performance.now() - start;
  session.dispose();
  if (written.join() !== text.join()) throw new Error("the model didn't write the text");
  return ms;
}
