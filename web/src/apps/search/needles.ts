// Texts of any length that hide numbers and ask for them at the end, for any model that can repeat what it has read.
import * as advise from "../../core/base/advice.js";
import { wholeNumber } from "../../core/base/checks.js";
import { fail } from "../../core/base/errors.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import { ADJECTIVES, FILLER, NOUNS } from "./filler.js";
import { SeededRandom } from "./random.js";
import type { SearchText, SearchTokenizer } from "./texts.js";

/** Options of {@link needleTexts}. */
export interface NeedleOptions {
  /** Tokens of each text, up to 2^24: enough for the numbers and questions. A text is at most this long, and shorter by less than a sentence. */
  length: number;
  /** Number of texts, from 1 (2). */
  count?: number;
  /** Numbers hidden in each text, 1 to 64 (8). Each is in its own equal part of the text, and is asked for once. */
  needles?: number;
  /** Chooses numbers, places and filler, 0 to 2^32 − 1 (1). */
  seed?: number;
  /** Text between the numbers, which is read from a random sentence on, and again from its beginning where it ends. Default: plain sentences. */
  filler?: string;
}

const OPTIONS = optionNames<NeedleOptions>("needleTexts()", {
  length: true,
  count: true,
  needles: true,
  seed: true,
  filler: true,
});

const MAX_NEEDLES = 64;

/**
 * Makes texts that hide numbers ("The secret number of the copper lantern is 48213.") and ask for each at the end. The digits count.
 * @param tokenizer - that of the model, here or in a Worker
 * @throws RopewalkError INVALID_ARGUMENT (also: the numbers and questions don't fit), UNKNOWN_KEY.
 */
export async function needleTexts(tokenizer: SearchTokenizer, options: NeedleOptions): Promise<SearchText[]> {
  const { length, count = 2, needles = 8, seed = 1, filler } = checkOptions(options, OPTIONS);
  wholeNumber(length, 1, 2 ** 24, "length");
  wholeNumber(count, 1, 1000, "count");
  wholeNumber(needles, 1, MAX_NEEDLES, "needles");
  wholeNumber(seed, 0, 2 ** 32 - 1, "seed");
  const sentences = filler === undefined ? FILLER : sentencesOf(filler);
  const texts: SearchText[] = [];
  for (let i = 0; i < count; i++) {
    const random = new SeededRandom(seed * 7919 + i);
    const order =
      filler === undefined ? random.shuffled(sentences) : rotated(sentences, random.below(sentences.length));
    const hidden = needlesOf(needles, random);
    texts.push(await fitted(tokenizer, length, (sentenceCount) => textOf(order, sentenceCount, hidden)));
  }
  return texts;
}

function sentencesOf(filler: string): string[] {
  const sentences = typeof filler === "string" ? (filler.match(/\S[^.!?]*[.!?]*/g) ?? []) : [];
  if (sentences.length === 0) fail("INVALID_ARGUMENT", "filler", `must be a text with words (got ${show(filler)})`);
  return sentences.map((sentence) => sentence.replace(/\s+/g, " ").trim());
}

const rotated = <Item>(items: readonly Item[], by: number): Item[] => [...items.slice(by), ...items.slice(0, by)];

interface Needle {
  readonly thing: string;
  readonly number: string;
  /** Where it is in its part of the text, 0 to 1. */
  readonly place: number;
}

/** Things with different adjectives and nouns, so that no word but the number has to be guessed from half a name. */
function needlesOf(count: number, random: SeededRandom): { needles: Needle[]; asked: Needle[] } {
  const [adjectives, nouns] = [random.shuffled(ADJECTIVES), random.shuffled(NOUNS)];
  const needles = Array.from({ length: count }, (_, i) => ({
    thing: `${adjectives[i % adjectives.length]} ${nouns[(i + Math.floor(i / nouns.length)) % nouns.length]}`,
    number: String(10_000 + random.below(90_000)),
    place: random.next(),
  }));
  return { needles, asked: random.shuffled(needles) };
}

function textOf(
  sentences: readonly string[],
  count: number,
  { needles, asked }: { needles: readonly Needle[]; asked: readonly Needle[] },
): SearchText {
  const body = Array.from({ length: count }, (_, i) => [sentences[i % sentences.length]!]);
  needles.forEach(({ thing, number, place }, i) => {
    const at = Math.floor(((i + place) / needles.length) * count);
    (body[at] ??= []).push(`The secret number of the ${thing} is ${number}.`);
  });
  const questions = asked.flatMap(({ thing, number }, i): SearchText => [
    `${i === 0 ? "\n\n" : ".\n\n"}What is the secret number of the ${thing}? The secret number of the ${thing} is`,
    { answer: ` ${number}` },
  ]);
  return [body.flat().join(" "), ...questions, "."];
}

/** The text with as many sentences of filler as fit into `length` tokens. */
async function fitted(
  tokenizer: SearchTokenizer,
  length: number,
  text: (sentences: number) => SearchText,
): Promise<SearchText> {
  const tokensWith = async (sentences: number): Promise<number> =>
    (await tokenizer.encode(wordsOf(text(sentences)), { parseSpecial: false })).length;
  if ((await tokensWith(0)) > length)
    fail(
      "INVALID_ARGUMENT",
      "length",
      `is too short for the numbers and questions, which have ${await tokensWith(0)} tokens (got ${length})`,
      advise.other("hide fewer needles, or pass texts of your own"),
    );
  let [fits, tooMany] = [0, length + 1]; // a sentence has at least one token
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if ((await tokensWith(middle)) <= length) fits = middle;
    else tooMany = middle;
  }
  return text(fits);
}

const wordsOf = (text: SearchText): string =>
  text.map((piece) => (typeof piece === "string" ? piece : piece.answer)).join("");
