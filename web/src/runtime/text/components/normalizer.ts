// The normalizers of a tokenizer.json: functions that change a text before it is split into words.
import { type Steps, TooManySteps } from "../pattern/matcher.js";
import { SPACE, withFixedClasses } from "../unicode/classes.js";
import { toByteLevel } from "../vocabulary.js";
import { lowerCase, normalizeForBert, stripAccents } from "./bert_normalizer.js";
import { Options, unsupported } from "./options.js";
import { precompiled } from "./precompiled.js";
import { readPattern } from "./read_pattern.js";
import { byCharacter, type Normalizer } from "./source_text.js";
import { FORMS, toForm } from "./unicode_forms.js";

/**
 * Reads a normalizer.
 *
 * @param steps what all components of the tokenizer may use for a text
 * @throws INVALID_FILE, UNSUPPORTED_MODEL (tokenizer.json normalizer)
 */
export function readNormalizer(json: unknown, steps: Steps): Normalizer {
  if (json === undefined || json === null) return (source) => source;
  const options = Options.of(json, "normalizer");
  const normalize = normalizerOf(options, steps);
  options.end();
  return (source) => {
    const result = normalize(source);
    if (result.text.length > steps.longest) throw new TooManySteps("a normalizer makes the text too long");
    return result;
  };
}

function normalizerOf(options: Options, steps: Steps): Normalizer {
  const form = FORMS.find((name) => name === options.type);
  if (form !== undefined) return byCharacter((text) => toForm(text, form));
  switch (options.type) {
    case "Sequence": {
      const parts = options.list("normalizers").map((part) => readNormalizer(part, steps));
      return (source) => parts.reduce((changed, part) => part(changed), source);
    }
    case "BertNormalizer":
      return bertNormalizer(options);
    case "Precompiled":
      return precompiled(options, steps);
    case "Replace":
      return replace(options, steps);
    case "Prepend": {
      const prefix = options.text("prepend");
      return ({ text, first }) =>
        text === "" ? { text, first } : { text: prefix + text, first: first === 0 ? 0 : prefix.length + first };
    }
    case "Strip":
      return strip(options.boolean("strip_left"), options.boolean("strip_right"));
    case "StripAccents":
      return byCharacter(stripAccents);
    case "Lowercase":
      return byCharacter(lowerCase);
    case "Nmt":
      return byCharacter(normalizeForTranslation);
    case "ByteLevel":
      return byCharacter(toByteLevel);
    default:
      return unsupported("normalizer", `has the unknown type ${options.type}`);
  }
}

function bertNormalizer(options: Options): Normalizer {
  const lowercase = options.boolean("lowercase");
  const all = {
    cleanText: options.boolean("clean_text"),
    chineseCharacters: options.boolean("handle_chinese_chars"),
    stripAccents: options.boolean("strip_accents", lowercase),
    lowercase,
  };
  return byCharacter((text) => normalizeForBert(text, all));
}

const SPACES_AT_START = new RegExp(withFixedClasses("^\\s+"), "u");

function strip(left: boolean, right: boolean): Normalizer {
  return ({ text, first }) => {
    const from = left ? (SPACES_AT_START.exec(text)?.[0].length ?? 0) : 0;
    let end = text.length;
    if (right) while (end > from && SPACE.test(text.charAt(end - 1))) end -= 1;
    return { text: text.slice(from, end), first: Math.max(0, Math.min(first, end) - from) };
  };
}

/** What replaces a text stands for the last character of that. */
function replace(options: Options, steps: Steps): Normalizer {
  const eachMatch = readPattern(options, steps);
  const content = options.text("content");
  return ({ text, first }) => {
    let result = "";
    let at = 0;
    let newFirst = 0;
    const keep = (to: number): void => {
      result += text.slice(at, to);
      newFirst += Math.max(0, Math.min(first, to) - at);
    };
    eachMatch(text, (start, end) => {
      keep(start);
      result += content;
      if (first > 0 && end <= first) newFirst += content.length;
      at = end;
      if (result.length > steps.longest) throw new TooManySteps("a replacement makes the text too long");
    });
    if (at === 0 && result === "") return { text, first };
    keep(text.length);
    return { text: result, first: newFirst };
  };
}

/** The normalizer Nmt of SentencePiece: removes control characters, and writes other separators as spaces. */
function normalizeForTranslation(text: string): string {
  return text
    .replace(/[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]/g, "")
    .replace(/[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/g, " ");
}
