// Generates simple English stories that state facts and ask for them later, at distances that the caller controls. Seeded.
import { randomNumbers } from "../random_numbers.mjs";

export const names = split("Anna Ben Clara David Emma Frank Grace Henry Ivy Jack Kate Leo Mia Noah Olive Paul");
export const colors = split("red blue green white black brown pink gold grey silver");
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

/** Words of a question and its answer up to the place. */
const ANSWER = 12;

/** A word or a punctuation mark: each is one token. */
export const words = (text) => text.match(/[A-Za-z]+|[.?]/g);

/** Reads a story as it is generated and finds the questions that it answers. */
export class AnswerReader {
  #places = new Map(); // the last place named for each thing
  #rest = ""; // text since the last full stop
  #wordsBefore = 0; // words before #rest

  /**
   * Reads the next piece of text, of any length.
   * @returns `{ at, isRight }[]` for the answers that it completes: `at` is the index of the answering word in the whole text, and `isRight`
   *   tells whether it is the place that the text named last for the thing.
   */
  read(piece) {
    const sentences = (this.#rest + piece).split(/(?<=\.)/);
    this.#rest = sentences.at(-1).endsWith(".") ? "" : sentences.pop();
    return sentences.flatMap((sentence) => this.#answersOf(sentence));
  }

  #answersOf(sentence) {
    this.#wordsBefore += words(sentence)?.length ?? 0;
    const [, question, thing, place] =
      /(Where is the \w+ \w+\? )?The (\w+ \w+) is in the (\w+)\.$/.exec(sentence) ?? [];
    if (thing === undefined) return [];
    const known = this.#places.get(thing);
    this.#places.set(thing, place);
    return question === undefined ? [] : [{ at: this.#wordsBefore - 2, isRight: known === place }];
  }
}

/** The answers in a whole text, as {@link AnswerReader.read} returns them. */
export const answersIn = (text) => new AnswerReader().read(text);

/**
 * Generates the sentences of one story.
 *
 * A fact says where a thing is. It can be asked for repeatedly, so the latest fact is no better a guess than any other. A thing moves to another
 * place only after all other things have been placed.
 * @param options.seed - selects the story.
 * @param options.length - stops after the sentence that reaches this many words.
 * @param options.distance - `(words so far, random)` to the wanted number of words between a fact's place and the answer of the next question; the
 *   question asks for the fact nearest to that. `random` returns numbers from 0 to 1. By default all facts are equally likely.
 * @param options.reach - number of words after which a fact is no longer asked for (unlimited).
 * @param options.questions - share of sentences that are questions, up to 0.75 (0.35). With fewer questions, more old facts remain.
 * @yields `{ text, kind, answerAt, distance }`: kind is "fact", "question" or "filler". For a question, `answerAt` is the index of the answering
 *   word in the story, and `distance` is the number of words since the story last stated it for the same thing.
 */
export function* story({ seed, length, distance, reach = Infinity, questions = 0.35 }) {
  const random = randomNumbers(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const unused = new Shuffled(
    colors.flatMap((color) => things.map((thing) => `${color} ${thing}`)),
    random,
  );
  let known = []; // facts that can be asked for: { thing, place, at }
  let count = 0; // words so far
  while (count < length) {
    const kind = random();
    let sentence;
    known = known.filter((fact) => count - fact.at < reach);
    if (kind < questions && known.length > 0) {
      const fact = distance === undefined ? pick(known) : nearest(known, count + ANSWER - distance(count, random));
      const answerAt = count + ANSWER;
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
      fact.at = count + words(sentence.text).length - 2;
      known = [...known.filter(({ thing }) => thing !== fact.thing), fact];
    } else {
      sentence = { text: fillerText(pick), kind: "filler" };
    }
    count += words(sentence.text).length;
    yield sentence;
  }
}

const factText = ({ thing, place }) => `The ${thing} is in the ${place}.`;

/** A sentence that says nothing about things. `pick` draws from a list. */
export const fillerText = (pick) =>
  pick([
    () => `${pick(names)} is ${pick(moods)}.`,
    () => `${pick(names)} ${pick(doings)}.`,
    () => `It is a ${pick(weathers)} day.`,
  ])();

const nearest = (facts, at) =>
  facts.reduce((best, fact) => (Math.abs(fact.at - at) < Math.abs(best.at - at) ? fact : best));

/** Yields a list's items in random order, reshuffled after each round. */
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
