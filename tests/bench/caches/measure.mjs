// Measures what each element type of a KV cache costs a model. It reads texts token by token, so that each token sees keys and values that were
// rounded when they were stored. After each token its probabilities are compared with those from an f32 cache.

import { join } from "node:path";
import { TRAINED_LENGTH, textOf, tokensOf } from "../../../examples/small_model/texts.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
export const CACHES = [
  { dtype: "f32" },
  { dtype: "f16" },
  { dtype: "bf16" },
  { dtype: "q8_0" },
  { dtype: "q4_0" },
  { dtype: "q4_0", keys: "raw" },
  { dtype: "q4_channel" },
];

/** ln of the probabilities of all tokens. */
export function logProbabilities(logits) {
  let largest = -Infinity;
  for (const logit of logits) largest = Math.max(largest, logit);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - largest);
  const shift = largest + Math.log(sum);
  return logits.map((logit) => logit - shift);
}

/** The KL of the probabilities that have the logarithms `other`, in nats. `probabilities` are those of `exact`, its logarithms. */
export function divergence(exact, other, probabilities = exact.map(Math.exp)) {
  let sum = 0;
  for (let i = 0; i < exact.length; i++) sum += probabilities[i] * (exact[i] - other[i]);
  return Math.max(0, sum); // the rounding of logits can make it negative
}

export const largestAt = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

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

/**
 * The numbers of each cache: `perplexity`; `mean`, `high` (99.9 %) and `largest` KL in nats; `same`, the share of same first choices; `right` of
 * `asked` facts. `open` opens the model with options, `drawTexts` gives lists of tokens, `drawQuestions` `{ prompt, expected }`.
 */
export async function measure({ open, drawTexts, drawQuestions }) {
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
    rows.push({
      ...kv,
      perplexity: Math.exp(loss / (count - texts.length)),
      mean: divergences.reduce((sum, each) => sum + each, 0) / count,
      high: divergences[Math.floor(0.999 * count)],
      largest: divergences.at(-1),
      same: same / count,
      right,
      asked: questions.length,
    });
    model.dispose();
  }
  return rows;
}

/** The small model on eight stories within its trained length, and on the questions in them. */
export function measureSmallModel(rw) {
  const stories = Array.from({ length: 8 }, (_, seed) => textOf({ seed, length: TRAINED_LENGTH, near: true }));
  return measure({
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
  });
}
