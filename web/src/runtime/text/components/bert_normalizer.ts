// BERT's normalization: cleans a text, sets Chinese characters apart, removes accents and writes small letters. Devlin et al. 2018, in the
// version of Hugging Face's Rust library (normalizers/bert.rs), whose classes of characters these are.
import { BERT_RUNS } from "../unicode/bert_runs.js";
import { onFirstUse, rangesOf, withFixedClasses } from "../unicode/classes.js";
import { toForm } from "./unicode_forms.js";

/** The options of BertNormalizer. */
export interface BertOptions {
  /** Remove control characters, and write each whitespace as a space. */
  cleanText: boolean;
  /** Add a space before and after each Chinese character. */
  chineseCharacters: boolean;
  stripAccents: boolean;
  lowercase: boolean;
}

const controls = onFirstUse(() => `[\\0\\uFFFD${rangesOf(BERT_RUNS, "B")}]`, "gu");
const WHITE_SPACE = new RegExp(withFixedClasses("\\s"), "gu");
// the Rust library has 2B920 where the block starts at 2B820
const CHINESE =
  /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/gu;
const marks = onFirstUse(() => `[${rangesOf(BERT_RUNS, "C")}]`, "gu");
const combining = onFirstUse(() => `[${rangesOf(BERT_RUNS, "CD")}]`, "gu");

/** Normalizes a text for BERT. */
export function normalizeForBert(text: string, options: BertOptions): string {
  let result = text;
  if (options.cleanText) result = result.replace(controls(), "").replace(WHITE_SPACE, " ");
  if (options.chineseCharacters) result = result.replace(CHINESE, " $& ");
  if (options.stripAccents) result = toForm(result, "NFD").replace(marks(), "");
  return options.lowercase ? lowerCase(result) : result;
}

/** Removes combining marks, as the normalizer StripAccents. */
export function stripAccents(text: string): string {
  return text.replace(combining(), "");
}

/** Small letters, each by itself: JavaScript writes a sigma at the end of a word differently. */
export function lowerCase(text: string): string {
  return text.includes("Σ") ? Array.from(text, (character) => character.toLowerCase()).join("") : text.toLowerCase();
}
