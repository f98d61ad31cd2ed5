// What the patterns and normalizers of a tokenizer.json may use while a text is encoded.
import type { Steps } from "./matcher.js";

/** Steps that encoding a text may take: about half a second, and as much again for each megabyte. Real patterns take about 10 a character. */
const STEPS = 8_000_000;
const STEPS_PER_CHARACTER = 50;

/** Characters for each of a text that replacements may make. Normalization forms make up to 18. */
const GROWTH = 20;
const SPARE_CHARACTERS = 1000;

/** What encoding a text may use. */
export function stepsFor(characters: number): Steps {
  return { left: STEPS + STEPS_PER_CHARACTER * characters, longest: SPARE_CHARACTERS + GROWTH * characters };
}
