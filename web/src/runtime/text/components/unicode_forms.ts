// Unicode's normalization forms, of the version of Unicode that Hugging Face's Rust library has.
import { withOrderedMarks } from "./canonical_order.js";
import { onFirstUse, rangesOf } from "../unicode/classes.js";
import { DECOMPOSED_RUNS } from "../unicode/bert_runs.js";

export const FORMS = ["NFC", "NFD", "NFKC", "NFKD"] as const;
export type Form = (typeof FORMS)[number];

/** Characters that this engine decomposes and that library doesn't, because they are newer. */
const newerCharacters = onFirstUse(() => {
  const known = new RegExp(`[${rangesOf(DECOMPOSED_RUNS, "A")}]`, "u");
  let found = "";
  for (let code = 0x80; code < 0x30000; code++) {
    if (code === 0xd800) code = 0xe000;
    const character = String.fromCodePoint(code);
    if (character.normalize("NFKD") !== character && !known.test(character)) found += `\\u{${code.toString(16)}}`;
  }
  return found === "" ? "([^\\s\\S])" : `([${found}])`;
}, "u");

/** A normalization form of a text. */
export function toForm(text: string, form: Form): string {
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  const normalize = (part: string): string =>
    withOrderedMarks(part, form.startsWith("NFK") ? "NFKD" : "NFD").normalize(form);
  if (!newerCharacters().test(text)) return normalize(text);
  const parts = text.split(newerCharacters()); // every other part is such a character
  return parts.map((part, i) => (i % 2 === 0 ? normalize(part) : part)).join("");
}
