// Evaluation texts: stories that the model was not trained on, with their questions.
import { story } from "./stories.mjs";

/** Trained context length, in tokens. */
export const TRAINED_LENGTH = 256;

/** Largest distance in words, its sentence and question included, of a fact asked for within the trained length. */
const REACH = 224;
/** Smallest distance in words of a fact that can be asked for. */
const NEAREST = 12;

/**
 * A story of `length` tokens. The first is the model's begin token, each other one is a word or a punctuation mark.
 *
 * - `near`: a story as in training, with questions about facts within the trained length. It is equally hard to predict at every position,
 *   so a rising loss is caused by the position alone.
 * - otherwise: distances are drawn from the whole story so far, each octave equally likely. Fewer questions leave more old facts.
 *
 * @param options.seed - selects the story: below 10,000,000, where the seeds of the training stories start.
 * @returns `{ text, length, questions }`: `text` has at least `length` words. Each question has the index `at` of the answering token, and the
 *   number of words (`distance`) since the story last stated it for the same thing.
 */
export function textOf({ seed, length, near }) {
  const distance = (count, random) => NEAREST * (Math.max(NEAREST, count) / NEAREST) ** random();
  const sentences = Array.from(story({ seed, length, ...(near ? { reach: REACH } : { distance, questions: 0.18 }) }));
  const questions = sentences
    .filter(({ kind, answerAt }) => kind === "question" && answerAt + 1 < length)
    .map((question) => ({ at: question.answerAt + 1, distance: question.distance }));
  return { text: sentences.map(({ text }) => text).join(" "), length, questions };
}

/** Tokenizes a text. */
export async function tokensOf(model, { text, length }) {
  return (await model.tokenizer.encode(text)).slice(0, length);
}

/**
 * Counts the questions of a story, `{ asked, right }`, for each span of the trained length.
 * @param answers - from `answersIn()`, or those read so far.
 * @param length - planned length in words. Anything after it counts in the last span.
 */
export function answersBySpan(answers, length) {
  const spans = Array.from({ length: Math.ceil(length / TRAINED_LENGTH) }, () => ({ asked: 0, right: 0 }));
  for (const { at, isRight } of answers) {
    const span = spans[Math.min(Math.floor(at / TRAINED_LENGTH), spans.length - 1)];
    span.asked += 1;
    if (isRight) span.right += 1;
  }
  return spans;
}
