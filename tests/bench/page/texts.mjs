// What all packages read, as people give it: texts.
import { randomNumbers } from "/examples/random_numbers.mjs";

const WORDS =
  "the rope walks along a shed where yarn is twisted and every strand turns as people carry it backwards until evening".split(
    " ",
  );

/** Tokens that are written in a round. The first isn't timed. */
export const TOKENS = 17;
/** Ids that end a text or a message. None of them may be written, so that all texts have the same length. */
export const ENDS = [0, 1, 2];

function words(seed, count) {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]);
}

/**
 * A prompt of `count` words, each of which is one token of the model. Another seed changes it from its first word on, so that no package has
 * read its beginning before.
 */
export const promptOf = (seed, count) => words(seed, count).join(" ");

/** Texts of 8 to 40 words for embeddings. */
export const sentences = (count) => Array.from({ length: count }, (_, i) => words(i + 1, 8 + ((i * 7) % 33)).join(" "));

/** Milliseconds for each token after the first, from the times when tokens arrive. */
export const millisecondsEach = (times) => (times.at(-1) - times[0]) / (times.length - 1);
