// Reads or tells a story with a session of `ropewalk/worker`, one token at a time, so that the RoPE can be switched between two tokens.
import { AnswerReader } from "./stories.mjs";

/**
 * Reads a given story. An answer is right if the most probable token is the place that the story named last.
 *
 * @param session - an empty session.
 * @param tokens - of the story.
 * @param questions - of the story, as `textOf()` returns them.
 * @param before - called before each token with its index; may return a promise. It retunes, pauses, or throws to stop.
 * @yields `{ at, loss, answers }`: −ln p of the token (NaN for the first), and the answer asked for here, if any:
 *   `{ at, isRight, distance, token }` with the most probable token.
 */
export async function* readStory(session, tokens, questions, before) {
  const asked = new Map(questions.map((question) => [question.at, question]));
  for (const [at, token] of tokens.entries()) {
    await before(at);
    const answers = [];
    const question = asked.get(at);
    if (question !== undefined) {
      const [{ token: given }] = await session.logprobs(1);
      answers.push({ at, isRight: given === token, distance: question.distance, token: given });
    }
    const loss = at === 0 ? NaN : -(await session.logprobOf(token));
    await session.append([token]);
    yield { at, loss, answers };
  }
}

/**
 * Tells a story of its own. An answer is right if it is the place that the story named last, so a wrong answer becomes a fact.
 *
 * @param session - an empty session.
 * @param opening - the first sentence.
 * @param options - `length` in tokens, `seed`, and `before` as for {@link readStory}.
 * @yields `{ at, loss, answers, text }` as {@link readStory}, with the text of each token. Answers are known at the end of their sentence.
 */
export async function* tellStory(session, opening, { length, seed, before }) {
  const reader = new AnswerReader();
  await before(0);
  await session.append(opening);
  const answersOf = (text) => reader.read(text).map(({ at, isRight }) => ({ at: at + 1, isRight })); // after the begin token
  yield { at: session.length - 1, loss: NaN, answers: answersOf(opening), text: opening };
  for (let at = session.length; at < length; at++) {
    await before(at);
    const options = { maxTokens: 1, ignoreEnd: true, seed: seed * length + at, temperature: 0.8 };
    for await (const { text, logprob } of session.generate(options))
      yield { at, loss: -logprob, answers: answersOf(text), text };
  }
}
