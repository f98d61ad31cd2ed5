// Checks the components of a tokenizer.json whose sizes decide how long encoding takes.
import { type Dict, isDict } from "../base/dict.js";
import { isArray } from "../base/typed_arrays.js";
import { show } from "../base/show.js";
import { invalid } from "./components/options.js";
import { LONGEST_ADDED_TOKEN } from "./special_tokens.js";

/** Characters of a Unigram token: a text has as many candidates at each character. SentencePiece trains up to 16. */
const LONGEST_UNIGRAM_TOKEN = 128;

/** Words of WordPiece, in which each part is compared with the rest. The default is 100. */
const LONGEST_WORD = 1000;

/** Characters that a component adds to a text, a word or a token. */
const LONGEST_ADDITION = 256;

const MOST_COMPONENTS = 200;

/** @throws INVALID_FILE (the part of tokenizer.json) */
export function checkComponents(json: Dict): void {
  for (const token of isArray(json["added_tokens"]) ? (json["added_tokens"] as unknown[]) : []) {
    if (isDict(token)) checkText(token["content"], LONGEST_ADDED_TOKEN, "added_tokens");
  }
  checkModel(isDict(json["model"]) ? json["model"] : {});
  for (const part of ["normalizer", "pre_tokenizer", "post_processor"]) checkPart(json[part], part);
}

function checkText(text: unknown, most: number, part: string): void {
  if (typeof text === "string" && text.length > most)
    invalid(part, `texts must have at most ${most} characters (got ${show(text)} with ${text.length})`);
}

function checkModel(model: Dict): void {
  for (const key of ["continuing_subword_prefix", "end_of_word_suffix", "unk_token"])
    checkText(model[key], LONGEST_ADDITION, `model.${key}`);
  const most = model["max_input_chars_per_word"];
  if (
    most !== undefined &&
    most !== null &&
    !(Number.isInteger(most) && Number(most) > 0 && Number(most) <= LONGEST_WORD)
  )
    invalid("model.max_input_chars_per_word", `must be an integer from 1 to ${LONGEST_WORD} (got ${show(most)})`);
  const { vocab } = model as { vocab?: unknown };
  if (!isArray(vocab)) return;
  for (const entry of vocab as unknown[]) if (isArray(entry)) checkText(entry[0], LONGEST_UNIGRAM_TOKEN, "model.vocab");
}

/** Checks a component and those inside it. */
function checkPart(component: unknown, part: string): void {
  const open: unknown[] = [component];
  for (let checked = 0; open.length > 0; checked++) {
    if (checked === MOST_COMPONENTS) invalid(part, `must have at most ${MOST_COMPONENTS} components`);
    const next = open.pop();
    if (!isDict(next)) continue;
    for (const key of ["content", "prepend", "replacement", "str_rep"]) checkText(next[key], LONGEST_ADDITION, part);
    if (next["type"] === "FixedLength" && !(Number.isInteger(next["length"]) && Number(next["length"]) > 0))
      invalid(part, `FixedLength must have a positive length (got ${show(next["length"])})`);
    if (next["type"] === "Split" || next["type"] === "Replace") checkPattern(next, part);
    for (const key of ["normalizers", "pretokenizers", "processors"]) {
      const inside = next[key];
      if (isArray(inside)) for (const item of inside) open.push(item);
    }
  }
}

/** The library ignores a pattern that it doesn't know, and then encodes nothing. */
function checkPattern({ type, pattern, content }: Dict, part: string): void {
  const isKnown = isDict(pattern) && [pattern["Regex"], pattern["String"]].some((text) => typeof text === "string");
  if (!isKnown) invalid(part, `the pattern of ${show(type)} must be { Regex } or { String } (got ${show(pattern)})`);
  if (type === "Replace" && typeof content !== "string")
    invalid(part, `the content of Replace must be a string (got ${show(content)})`);
}
