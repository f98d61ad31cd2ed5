// Simple English stories: facts stated early are asked for later, at distances that the caller controls. The same seed tells the same story.
import { randomNumbers } from "../random_numbers.mjs";

export const names = split("Anna Ben Clara David Emma Frank Grace Henry Ivy Jack Kate Leo Mia Noah Olive Paul");
export const colours = split("red blue green white black brown pink gold grey silver");
export const things =
  split(`ball book boat bell box cup coat chair clock doll drum flag flute hat jar key kite knife lamp mask mirror pen piano plate
  ring rope scarf shoe spoon sword table watch`);
export const places = split(
  "attic barn bedroom cabin cave cellar church forest garden hall kitchen library market mill office school shed station temple tower",
);
const moods = split("happy sad tired hungry calm proud");
const doings = [
  "sings a song",
  "reads a letter",
  "looks at the sky",
  "drinks some water",
  "laughs",
  "waits",
  "opens a window",
  "goes for a walk",
];
const weathers = split("sunny rainy windy cold warm quiet");

function split(text) {
  return text.split(/\s+/);
}

/** Words of a question and its answer before the place. */
const ANSWER = 12;

/** A word, or a sign: what the tokenizer has a token for. */
export const words = (text) => text.match(/[A-Za-z]+|[.?]/g);

/** Hears a text as it is told, and finds the questions that it answers. */
export class StoryListener {
  #places = new Map(); // where each thing was last said to be
  #rest = ""; // since the last full stop
  #told = 0; // words before that

  /**
   * Hears what comes next, in pieces of any length.
   * @returns `{ at, isRight }[]` of the answers that it completes: `at` is the index of the answering word in the whole text, and `isRight` whether
   *   it is the place where the text has last said the thing to be.
   */
  hear(piece) {
    const sentences = (this.#rest + piece).split(/(?<=\.)/);
    this.#rest = sentences.at(-1).endsWith(".") ? "" : sentences.pop();
    return sentences.flatMap((sentence) => this.#answersOf(sentence));
  }

  #answersOf(sentence) {
    this.#told += words(sentence)?.length ?? 0;
    const [, question, thing, place] =
      /(Where is the \w+ \w+\? )?The (\w+ \w+) is in the (\w+)\.$/.exec(sentence) ?? [];
    if (thing === undefined) return [];
    const known = this.#places.get(thing);
    this.#places.set(thing, place);
    return question === undefined ? [] : [{ at: this.#told - 2, isRight: known === place }];
  }
}

/** The answers in a whole text, as {@link StoryListener.hear} gives them. */
export const answersIn = (text) => new StoryListener().hear(text);

/**
 * The sentences of one story.
 *
 * A fact says where a thing is, and may be asked for again and again, so that the latest fact is no better a guess than any other. A thing is
 * told of again, in another place, when all others have been.
 * @param options.seed - which story.
 * @param options.length - stops after the sentence that reaches as many words.
 * @param options.distance - words between a fact's place and its answer that the next question is to have, given how many words have been told and
 *   a source of numbers from 0 to 1; the fact nearest to it is asked for. Unless given, each fact told is as likely.
 * @param options.reach - words after which a fact is not asked for any more. All are remembered unless given.
 * @param options.questions - share of the sentences that ask, up to 0.75 (0.35). The fewer do, the more facts are left that were told long ago.
 * @yields `{ text, kind, answerAt, distance }`: kind is "fact", "question" or "filler"; of a question, `answerAt` is the index of the answering word
 *   in the story, and `distance` how many words before it the story last has it of the same thing.
 */
export function* story({ seed, length, distance, reach = Infinity, questions = 0.35 }) {
  const random = randomNumbers(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const unused = new Shuffled(
    colours.flatMap((colour) => things.map((thing) => `${colour} ${thing}`)),
    random,
  );
  let known = []; // what can be asked for: { thing, place, at }
  let told = 0;
  while (told < length) {
    const kind = random();
    let sentence;
    known = known.filter((fact) => told - fact.at < reach);
    if (kind < questions && known.length > 0) {
      const fact = distance === undefined ? pick(known) : nearest(known, told + ANSWER - distance(told, random));
      const answerAt = told + ANSWER;
      sentence = {
        text: `Where is the ${fact.thing}? ${factText(fact)}`,
        kind: "question",
        answerAt,
        distance: answerAt - fact.at,
      };
      fact.at = answerAt;
    } else if (kind < 0.75) {
      const fact = { thing: unused.next(), place: pick(places) };
      sentence = { text: factText(fact), kind: "fact" };
      fact.at = told + words(sentence.text).length - 2;
      known = [...known.filter(({ thing }) => thing !== fact.thing), fact];
    } else {
      sentence = { text: fillerText(pick), kind: "filler" };
    }
    told += words(sentence.text).length;
    yield sentence;
  }
}

const factText = ({ thing, place }) => `The ${thing} is in the ${place}.`;

const fillerText = (pick) =>
  pick([
    () => `${pick(names)} is ${pick(moods)}.`,
    () => `${pick(names)} ${pick(doings)}.`,
    () => `It is a ${pick(weathers)} day.`,
  ])();

const nearest = (facts, at) =>
  facts.reduce((best, fact) => (Math.abs(fact.at - at) < Math.abs(best.at - at) ? fact : best));

/** All of a list in a random order, again and again. */
class Shuffled {
  #list;
  #random;
  #next;

  constructor(list, random) {
    [this.#list, this.#random, this.#next] = [list, random, list.length];
  }

  next() {
    if (this.#next === this.#list.length) this.#shuffle();
    return this.#list[this.#next++];
  }

  #shuffle() {
    for (let i = this.#list.length - 1; i > 0; i--) {
      const j = Math.floor(this.#random() * (i + 1));
      [this.#list[i], this.#list[j]] = [this.#list[j], this.#list[i]];
    }
    this.#next = 0;
  }
}
