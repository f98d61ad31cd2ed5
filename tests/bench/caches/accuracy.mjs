// What each element type of a KV cache costs a model, as tables of docs/kv_caches.md:
//
//   node tests/bench/caches/accuracy.mjs     of the small model, and of SmolLM2-135M-Instruct once `npm test -- released` has fetched it
//
// A model reads texts token by token, so that each token sees keys and values that were rounded when they were stored. After each token its
// probabilities are compared with those from an f32 cache.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { TRAINED_LENGTH, textOf, tokensOf } from "../../../examples/small_model/texts.mjs";
import { randomNumbers } from "../../../examples/random_numbers.mjs";
import { load } from "../../../dist/index.node.js";
import { releasedFolders } from "../../../scripts/setup/released.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
const CACHES = [
  { dtype: "f32" },
  { dtype: "f16" },
  { dtype: "bf16" },
  { dtype: "q8_0" },
  { dtype: "q4_0" },
  { dtype: "q4_0", keys: "raw" },
];

/** ln of the probabilities of all tokens. */
function logProbabilities(logits) {
  let largest = -Infinity;
  for (const logit of logits) largest = Math.max(largest, logit);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - largest);
  const shift = largest + Math.log(sum);
  return logits.map((logit) => logit - shift);
}

function divergence(exact, other) {
  let sum = 0;
  for (let i = 0; i < exact.length; i++) sum += Math.exp(exact[i]) * (exact[i] - other[i]);
  return Math.max(0, sum); // the rounding of logits can make it negative
}

const largestAt = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

/** Calls `use` with the logarithms of probabilities after each token. */
async function readText(model, tokens, use) {
  const session = model.session({ contextLength: tokens.length });
  for (const [i, token] of tokens.entries()) {
    await session.append([token]);
    use(i, logProbabilities(session.logits()));
  }
  session.dispose();
}

/** Whether the most probable tokens after a prompt are the ones expected, each read before the next. */
async function recalls(model, prompt, expected) {
  const session = model.session({ contextLength: prompt.length + expected.length });
  await session.append(prompt);
  let isRight = true;
  for (const token of expected) {
    isRight &&= largestAt(session.logits()) === token;
    await session.append([token]);
  }
  session.dispose();
  return isRight;
}

/** A row of numbers for each cache. `open` opens the model with options, `drawTexts` gives lists of tokens, `drawQuestions` `{ prompt, expected }`. */
async function measure({ open, drawTexts, drawQuestions }) {
  const rows = [];
  let texts, questions;
  const exact = [];
  for (const kv of CACHES) {
    const model = await open({ kv });
    texts ??= await drawTexts(model);
    questions ??= await drawQuestions(model);
    const divergences = [];
    let [same, loss, count] = [0, 0, 0];
    for (const [t, tokens] of texts.entries()) {
      exact[t] ??= [];
      await readText(model, tokens, (i, found) => {
        const reference = (exact[t][i] ??= found);
        divergences.push(divergence(reference, found));
        same += Number(largestAt(reference) === largestAt(found));
        count += 1;
        if (i + 1 < tokens.length) loss -= found[tokens[i + 1]];
      });
    }
    let right = 0;
    for (const { prompt, expected } of questions) right += Number(await recalls(model, prompt, expected));
    divergences.sort((a, b) => a - b);
    rows.push([
      `\`${kv.dtype}\`${kv.keys ? `, ${kv.keys} keys` : ""}`,
      Math.exp(loss / (count - texts.length)).toFixed(4),
      shown(divergences.reduce((sum, each) => sum + each, 0) / count),
      shown(divergences[Math.floor(0.999 * count)]),
      shown(divergences.at(-1)),
      `${((100 * same) / count).toFixed(1)} %`,
      `${right} of ${questions.length}`,
    ]);
    model.dispose();
  }
  return rows;
}

const shown = (value) => (value === 0 ? "0" : value.toExponential(1));

function print(title, rows) {
  const head = ["cache", "perplexity", "mean KL", "99.9 % of KL", "largest KL", "same first choice", "facts found"];
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  console.log(`${title}\n\n${lines.join("\n")}\n`);
}

const rw = await load();

const stories = Array.from({ length: 8 }, (_, seed) => textOf({ seed, length: TRAINED_LENGTH, near: true }));
print(
  `The small model, ${stories.length} stories of ${TRAINED_LENGTH} tokens:`,
  await measure({
    open: (options) => rw.model(join(root, "examples", "small_model"), options),
    drawTexts: (model) => Promise.all(stories.map((story) => tokensOf(model, story))),
    async drawQuestions(model) {
      const questions = [];
      for (const story of stories) {
        const tokens = await tokensOf(model, story);
        for (const { at } of story.questions) questions.push({ prompt: tokens.slice(0, at), expected: [tokens[at]] });
      }
      return questions;
    },
  }),
);

const { smollm2 } = releasedFolders();
if (existsSync(smollm2)) {
  const LENGTH = 512;
  const pages = ["rope_and_yarn_from_zero", "kv_caches", "loading"];
  const sources = await Promise.all(pages.map((page) => readFile(join(root, "docs", `${page}.md`), "utf8")));
  const random = randomNumbers(1);
  const filler = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again. ";
  print(
    `SmolLM2-135M-Instruct (Q4_1), the first ${LENGTH} tokens of ${pages.length} pages of these docs, and 16 pass keys in ${LENGTH} tokens:`,
    await measure({
      open: (options) =>
        rw.model(join(smollm2, "SmolLM2-135M-Instruct.Q4_1.gguf"), { ...options, contextLength: 2 * LENGTH }),
      drawTexts: (model) =>
        Promise.all(sources.map(async (source) => (await model.tokenizer.encode(source)).slice(0, LENGTH))),
      async drawQuestions(model) {
        const sentences = Math.floor(LENGTH / (await model.tokenizer.encode(filler)).length);
        return Promise.all(
          Array.from({ length: 16 }, async () => {
            const key = String(10000 + Math.floor(90000 * random()));
            const place = Math.floor(sentences * random());
            const text = Array.from({ length: sentences }, (_, i) =>
              i === place ? `The pass key is ${key}. Remember it. ${key} is the pass key. ` : filler,
            );
            const begin = `There is an important fact in this text. Find it. ${text.join("")}What is the pass key? The pass key is`;
            const prompt = await model.tokenizer.encode(begin);
            const whole = await model.tokenizer.encode(`${begin} ${key}`);
            return { prompt, expected: whole.slice(prompt.length) };
          }),
        );
      },
    }),
  );
}
