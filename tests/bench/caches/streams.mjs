// Reads texts token by token with several caches at the same time, so that each token is compared without keeping the probabilities of a text.

import { divergence, largestAt, logProbabilities } from "./measure.mjs";

/** What an exact cache is compared with. */
export const STREAMED = [{ dtype: "f32" }, { dtype: "q8_0" }, { dtype: "q4_0" }, { dtype: "q4_channel" }];

/** The sum of what is measured of one cache. */
class Record {
  loss = 0;
  losses = 0;
  divergences = [];
  same = 0;
  answers = [];

  get summary() {
    const sorted = this.divergences.toSorted((a, b) => a - b);
    return {
      perplexity: Math.exp(this.loss / this.losses),
      mean: sorted.reduce((sum, each) => sum + each, 0) / sorted.length,
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
 * @returns for each end, the summary of each model: `perplexity`; `mean`, `high` (99.9 %) and `largest` KL in nats; `same`, the share of same
 *   first choices; `answers`, the questions with `isRight`.
 */
export async function compareStreams(models, texts, ends) {
  const records = ends.map(() => models.map(() => new Record()));
  for (const { tokens, questions } of texts) {
    const asked = new Map(questions.map((question) => [question.at, question]));
    const sessions = models.map((model) => model.session({ contextLength: tokens.length }));
    for (const [at, token] of tokens.entries()) {
      const part = records[ends.findIndex((end) => at < end)];
      for (const session of sessions) await session.append([token]);
      const found = sessions.map((session) => logProbabilities(session.logits()));
      const next = tokens[at + 1];
      for (const [i, probabilities] of found.entries()) {
        const record = part[i];
        record.divergences.push(divergence(found[0], probabilities));
        record.same += Number(largestAt(found[0]) === largestAt(probabilities));
        if (next === undefined) continue;
        record.loss -= probabilities[next];
        record.losses += 1;
        const question = asked.get(at + 1);
        if (question) record.answers.push({ ...question, isRight: largestAt(probabilities) === next });
      }
    }
    for (const session of sessions) session.dispose();
  }
  return records.map((part) => part.map(({ summary }) => summary));
}
