// Reads texts with several caches at the same time, so that they are compared without keeping the probabilities of a text.

import { divergence, largestAt, logProbabilities } from "./measure.mjs";

/** What an exact cache is compared with. */
export const STREAMED = [{ dtype: "f32" }, { dtype: "q8_0" }, { dtype: "q4_0" }, { dtype: "q4_channel" }];

/** Tokens that are read in one call. Any number gives the same bits: each token sees keys and values as its cache stores them then. */
const PIECE = 64;

const sumOf = (numbers) => numbers.reduce((sum, each) => sum + each, 0);
const meanOf = (numbers) => sumOf(numbers) / numbers.length;

/** What is measured of one cache, text by text. */
class Record {
  loss = 0;
  losses = 0;
  texts = [];
  same = 0;
  answers = [];

  get summary() {
    const sorted = this.texts.flat().sort((a, b) => a - b);
    return {
      perplexity: Math.exp(this.loss / this.losses),
      mean: meanOf(sorted),
      means: this.texts.map(meanOf),
      high: sorted[Math.floor(0.999 * sorted.length)],
      largest: sorted.at(-1),
      same: this.same / sorted.length,
      answers: this.answers,
    };
  }
}

/**
 * Reads texts, `{ tokens, questions }`, with models that differ in their caches. The first is the exact one. Each question has the index `at` of
 * the token that answers it, and what else it has is kept.
 *
 * @param ends - numbers of tokens: what is measured up to each, from the end before it.
 * @returns for each end, the summary of each model: `perplexity`; `mean`, `high` (99.9 %) and `largest` KL in nats; `means`, the mean KL of each
 *   text; `same`, the share of same first choices; `answers`, the questions with `isRight`.
 */
export async function compareStreams(models, texts, ends) {
  const records = ends.map(() => models.map(() => new Record()));
  for (const { tokens, questions } of texts) {
    const asked = new Map(questions.map((question) => [question.at, question]));
    for (const [part, of] of records.entries())
      if (tokens.length > (ends[part - 1] ?? 0)) for (const record of of) record.texts.push([]);
    const sessions = models.map((model) => model.session({ contextLength: tokens.length }));
    for (let first = 0; first < tokens.length; first += PIECE) {
      const piece = tokens.slice(first, first + PIECE);
      const logits = [];
      for (const session of sessions) logits.push((await session.trace(piece, { what: ["logits"] })).logits);
      for (let i = 0; i < piece.length; i++) {
        const rows = logits.map(({ data, shape: [, size] }) => data.subarray(i * size, (i + 1) * size));
        compareToken(
          rows,
          records[ends.findIndex((end) => first + i < end)],
          tokens[first + i + 1],
          asked.get(first + i + 1),
        );
      }
    }
    for (const session of sessions) session.dispose();
  }
  return records.map((part) => part.map(({ summary }) => summary));
}

/** Adds to records what was found after a token, `logits` by model. `next` is the next token, and `question` what it answers, if any. */
function compareToken(logits, records, next, question) {
  const found = logits.map(logProbabilities);
  const probabilities = found[0].map(Math.exp);
  const choice = largestAt(found[0]);
  for (const [i, record] of records.entries()) {
    record.texts.at(-1).push(divergence(found[0], found[i], probabilities));
    const own = largestAt(found[i]);
    record.same += Number(own === choice);
    if (next === undefined) continue;
    record.loss -= found[i][next];
    record.losses += 1;
    if (question) record.answers.push({ ...question, isRight: own === next });
  }
}

/**
 * The ratio of two means over the same texts, and its standard error.
 * @param means - of each text; `others` those of the other mean.
 */
export function ratioOf(means, others) {
  const ratio = sumOf(means) / sumOf(others);
  const rest = sumOf(means.map((mean, i) => (mean - ratio * others[i]) ** 2));
  return { ratio, error: Math.sqrt(rest / (means.length - 1) / means.length) / meanOf(others) };
}
