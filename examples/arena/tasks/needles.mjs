// Facts hidden in filler, and questions about them: the needle tasks of RULER (Hsieh et al. 2024, arXiv 2404.06654), asked and answered greedily.
import { randomNumbers } from "../../random_numbers.mjs";

/** Depths of needles, from the beginning of the text (0) to the question (1). */
export const DEPTHS = [0, 0.2, 0.4, 0.6, 0.8, 1];
const QUERIES = 4;
const MAX_TEXTS = 16;

/** The facts and questions of a text have more tokens than its length. */
export class DoesNotFit extends Error {
  /** @param missing - tokens that the length lacks. */
  constructor(missing) {
    super(`the facts and questions have ${missing} tokens more than the text may have`);
    this.missing = missing;
  }
}

/** A task for as many texts as the cell has tokens for, each drawn from its own seed: the sums of what was asked for and right. */
export const repeated =
  (measure) =>
  async (setup, { readings, ...cell }) => {
    const result = { asked: [], right: [] };
    const count = Math.max(1, Math.min(MAX_TEXTS, Math.floor(cell.tokens / (readings * cell.length))));
    for (let i = 0; i < count; i++) {
      const { asked, right } = await measure(setup, { ...cell, seed: MAX_TEXTS * cell.seed + i });
      for (const [all, some] of [
        [result.asked, asked],
        [result.right, right],
      ])
        some.forEach((number, depth) => (all[depth] = (all[depth] ?? 0) + number));
    }
    return result;
  };

/** Tokens of filler sentences, as many as fit. */
async function fillerOf(setup, { language, random, tokens }) {
  if (tokens < 0) throw new DoesNotFit(-tokens);
  const sentences = [];
  for (let rest = tokens; ;) {
    const sentence = await setup.tokensOf(language.filler(random));
    if (sentence.length > rest) return sentences;
    sentences.push(sentence);
    rest -= sentence.length;
  }
}

/** Number of filler sentences before a depth. */
const sentencesBefore = (filler, depth) => Math.round(depth * filler.length);

const sizeOf = (pieces) => pieces.reduce((sum, { length }) => sum + length, 0);

/** Most tokens that one of several questions needs. */
const roomForAny = async (setup, questions) =>
  Math.max(...(await Promise.all(questions.map((question) => setup.room([question])))));

/** One fact and its question, at one depth after the other. What lies before a depth is read once. */
export async function passkey(setup, { language, length, seed }) {
  const random = randomNumbers(700_000 + seed);
  const needles = language.needles(DEPTHS.length, random);
  const questions = needles.map((needle) => language.question(needle));
  const facts = await Promise.all(needles.map((needle) => setup.tokensOf(language.fact(needle))));
  const begin = await setup.begin();
  const longest = Math.max(...facts.map((fact) => fact.length));
  const tokens = length - begin.length - longest - (await roomForAny(setup, questions));
  const filler = await fillerOf(setup, { language, random, tokens });
  const base = await setup.session();
  await setup.append(base, begin);
  const result = { asked: [], right: [] };
  let read = 0;
  for (const [i, depth] of DEPTHS.entries()) {
    const place = sentencesBefore(filler, depth);
    await setup.append(base, filler.slice(read, place).flat());
    read = place;
    const session = await base.fork();
    await setup.append(session, [...facts[i], ...filler.slice(place).flat()]);
    const { asked, right } = await setup.answer(session, [questions[i]]);
    [result.asked[i], result.right[i]] = [asked, right];
    await session.dispose();
  }
  await base.dispose();
  return result;
}

/**
 * A session that has read filler with facts in it.
 * @param facts - `{ at, text }[]` with ascending depths.
 * @param room - tokens left for questions and answers.
 */
async function readHaystack(setup, { language, random, length, room, facts }) {
  const begin = await setup.begin();
  const sentences = await Promise.all(facts.map(({ text }) => setup.tokensOf(text)));
  const tokens = length - begin.length - sizeOf(sentences) - room;
  const filler = await fillerOf(setup, { language, random, tokens });
  const pieces = [begin];
  let read = 0;
  for (const [i, { at }] of facts.entries()) {
    const place = sentencesBefore(filler, at);
    pieces.push(...filler.slice(read, place), sentences[i]);
    read = place;
  }
  const session = await setup.session();
  await setup.append(session, [...pieces, ...filler.slice(read)].flat());
  return session;
}

const atDepths = (language, needles) => needles.map((needle, i) => ({ at: DEPTHS[i], text: language.fact(needle) }));

/** A fact at each depth, and a question about each, in copies of one session. */
export async function multiKey(setup, { language, length, seed }) {
  const random = randomNumbers(720_000 + seed);
  const needles = language.needles(DEPTHS.length, random);
  const questions = needles.map((needle) => language.question(needle));
  const room = await roomForAny(setup, questions);
  const session = await readHaystack(setup, { language, random, length, room, facts: atDepths(language, needles) });
  const result = { asked: [], right: [] };
  for (const [i, question] of questions.entries()) {
    const copy = await session.fork();
    const { asked, right } = await setup.answer(copy, [question]);
    [result.asked[i], result.right[i]] = [asked, right];
    await copy.dispose();
  }
  await session.dispose();
  return result;
}

/** Four of six facts asked for at once. */
export async function multiQuery(setup, { language, length, seed }) {
  const random = randomNumbers(730_000 + seed);
  const needles = language.needles(DEPTHS.length, random);
  const questions = language.queries(needles.slice(0, QUERIES));
  return askedAtEnd(setup, { language, random, length, facts: atDepths(language, needles), questions });
}

/** A variable that is set and passed on, and a question that needs each step. */
export async function variables(setup, { language, length, seed }) {
  const random = randomNumbers(740_000 + seed);
  const { sentences, question } = language.chain(random);
  const facts = sentences.map((text, i) => ({ at: (i + random()) / sentences.length, text }));
  return askedAtEnd(setup, { language, random, length, facts, questions: [question] });
}

async function askedAtEnd(setup, { questions, ...text }) {
  const session = await readHaystack(setup, { ...text, room: await setup.room(questions) });
  const { asked, right } = await setup.answer(session, questions);
  await session.dispose();
  return { asked: [asked], right: [right] };
}
