// The texts that caches are measured on, `{ tokens, questions }`. A question has the index `at` of the token that answers it, and the `distance` of
// the fact, in words, for SmolLM2 in tokens. For simulate.py, as JSON with a line for each text:
//
//   node tests/bench/caches/texts.mjs small 256
//   node tests/bench/caches/texts.mjs smollm2
//   node tests/bench/caches/texts.mjs path         only SmolLM2's file

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { textOf, tokensOf } from "../../../examples/small_model/texts.mjs";
import { load } from "../../../dist/index.node.js";
import { releasedFolders } from "../../../scripts/setup/released.mjs";

const root = join(import.meta.dirname, "..", "..", "..");

export const smallModel = join(root, "examples", "small_model");
export const smolLm2 = () => join(releasedFolders().smollm2, "SmolLM2-135M-Instruct.Q4_1.gguf");

/** How many stories of each length the small model reads. */
export const STORIES = { 256: 32, 512: 16, 1024: 8, 2048: 4, 4096: 4 };

/** Stories for the small model, with questions about facts at all distances. */
export function storiesOf(model, length) {
  return Promise.all(
    Array.from({ length: STORIES[length] }, async (_, seed) => {
      const text = textOf({ seed: 1000 * Math.round(length / 256) + seed, length, near: false });
      return { tokens: Array.from(await tokensOf(model, text)), questions: text.questions };
    }),
  );
}

/** Pages of these docs, and how many tokens of them SmolLM2 reads. */
const PAGES = { rope_and_yarn_from_zero: 2048, long_context: 2048, loading: 512, embeddings: 512 };

/** Pages of these docs for SmolLM2. Each has a pass key near its begin, for which it is asked before tokens 512 and 2,048. Answers are its digits. */
export function pagesOf(model) {
  return Promise.all(
    Object.entries(PAGES).map(async ([name, length], i) => {
      const encode = async (text) => Array.from(await model.tokenizer.encode(text, { special: false }));
      const key = String(13_579 + 12_345 * i);
      const page = await encode(await readFile(join(root, "docs", `${name}.md`), "utf8"));
      const fact = await encode(`\n\nThe pass key is ${key}. Remember it. ${key} is the pass key.\n\n`);
      const question = await encode("\n\nWhat is the pass key? The pass key is ");
      const digits = await encode(key);
      const tokens = [...page.slice(0, 64), ...fact];
      const questions = [];
      for (const end of [512, 2048].filter((each) => each <= length)) {
        const rest = end - tokens.length - question.length - digits.length;
        const read = tokens.length;
        tokens.push(...page.slice(read, read + rest), ...question);
        questions.push(...digits.map((_, digit) => ({ at: tokens.length + digit, distance: tokens.length })));
        tokens.push(...digits);
      }
      if (tokens.length !== length) throw new Error(`docs/${name}.md has too few tokens: ${page.length}`);
      return { tokens, questions };
    }),
  );
}

if (process.argv[1] === import.meta.filename) {
  const [which, length] = process.argv.slice(2);
  if (which === "path") console.log(smolLm2());
  else await printTexts(which, Number(length));
}

async function printTexts(which, length) {
  const rw = await load({ threads: 1 });
  const model = await rw.model(which === "small" ? smallModel : smolLm2());
  for (const text of await (which === "small" ? storiesOf(model, length) : pagesOf(model)))
    console.log(JSON.stringify(text));
  model.dispose();
}
