// Texts to measure on: stories that the model was not trained on, with what is asked in them.
import { story } from "./stories.mjs";

/** What the model was trained for, in tokens. */
export const TRAINED_LENGTH = 256;

/** Words, with its sentence and its question, that a fact asked for inside the trained length may lie back. */
const REACH = 224;
/** Words to the nearest fact that can be asked for. */
const NEAREST = 12;

/**
 * A story of `length` tokens, of which the first is the model's begin token and each other one a word or a sign.
 *
 * - `near`: of the kind that the model was trained on, and questions are about facts inside the trained length. So it is as hard to foresee
 *   at every position, and where a loss rises, it rises by the position alone.
 * - otherwise: distances are drawn over all that was told, each octave as likely. Fewer questions are asked, so that old facts are left.
 *
 * @param options.seed - which story: below 10,000,000, where those begin that the model was trained on.
 * @returns `{ text, length, questions }`: `text` has at least as many words; of each question the index `at` of the answering token, and
 *   how many words before it (`distance`) the story last has it of the same thing.
 */
export function textOf({ seed, length, near }) {
  const distance = (told, random) => NEAREST * (Math.max(NEAREST, told) / NEAREST) ** random();
  const sentences = Array.from(story({ seed, length, ...(near ? { reach: REACH } : { distance, questions: 0.18 }) }));
  const questions = sentences
    .filter(({ kind, answerAt }) => kind === "question" && answerAt + 1 < length)
    .map((question) => ({ at: question.answerAt + 1, distance: question.distance }));
  return { text: sentences.map(({ text }) => text).join(" "), length, questions };
}

/** The tokens of a text. */
export async function tokensOf(model, { text, length }) {
  return (await model.tokenizer.encode(text)).slice(0, length);
}

/**
 * Whether a story still knows what it has told: of each stretch of the trained length, `{ asked, right }` questions.
 * @param answers - of `answersIn()`, or heard so far.
 * @param length - words that the story is to have; what comes after counts to the last stretch.
 */
export function answersByStretch(answers, length) {
  const stretches = Array.from({ length: Math.ceil(length / TRAINED_LENGTH) }, () => ({ asked: 0, right: 0 }));
  for (const { at, isRight } of answers) {
    const stretch = stretches[Math.min(Math.floor(at / TRAINED_LENGTH), stretches.length - 1)];
    stretch.asked += 1;
    if (isRight) stretch.right += 1;
  }
  return stretches;
}
