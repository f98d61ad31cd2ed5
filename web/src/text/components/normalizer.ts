// The normalizers of a tokenizer.json: functions that change a text before it is split into words.
import { messageOf } from "../../base/show.js";
import { LimitedPattern } from "../pattern/limited_pattern.js";
import { type Steps, TooManySteps } from "../pattern/matcher.js";
import { withFixedClasses } from "../unicode/classes.js";
import { lowerCase, normalizeForBert, stripAccents } from "./bert_normalizer.js";
import { graphemesOf } from "./graphemes.js";
import { Options, unsupported } from "./options.js";
import { readPattern } from "./read_pattern.js";
import { PrecompiledMap } from "./precompiled_map.js";
import { FORMS, toForm } from "./unicode_forms.js";

/** Changes a text. */
export type Normalizer = (text: string) => string;

/**
 * Reads a normalizer.
 *
 * @param steps what all components of the tokenizer may use for a text
 * @throws INVALID_FILE, UNSUPPORTED_MODEL (tokenizer.json normalizer)
 */
export function readNormalizer(json: unknown, steps: Steps): Normalizer {
  if (json === undefined || json === null) return (text) => text;
  const options = Options.of(json, "normalizer");
  const normalize = normalizerOf(options, steps);
  options.end();
  return (text) => {
    const result = normalize(text);
    if (result.length > steps.longest) throw new TooManySteps("a normalizer makes the text too long");
    return result;
  };
}

const SPACES_AT_START = new RegExp(withFixedClasses("^\\s+"), "u");
const SPACE = new RegExp(withFixedClasses("\\s"), "u");

function normalizerOf(options: Options, steps: Steps): Normalizer {
  const form = FORMS.find((name) => name === options.type);
  if (form !== undefined) return (text) => toForm(text, form);
  switch (options.type) {
    case "Sequence": {
      const parts = options.list("normalizers").map((part) => readNormalizer(part, steps));
      return (text) => parts.reduce((changed, part) => part(changed), text);
    }
    case "BertNormalizer":
      return bertNormalizer(options);
    case "Precompiled":
      return precompiled(options, steps);
    case "Replace": {
      const pattern = new LimitedPattern(readPattern(options), steps);
      const content = options.text("content");
      return (text) => text.replace(pattern, content);
    }
    case "Prepend": {
      const prefix = options.text("prepend");
      return (text) => (text === "" ? "" : prefix + text);
    }
    case "Strip": {
      const left = options.boolean("strip_left", true);
      const right = options.boolean("strip_right", true);
      return (text) => strip(text, left, right);
    }
    case "StripAccents":
      return stripAccents;
    case "Lowercase":
      return lowerCase;
    case "Nmt":
      return normalizeForTranslation;
    default:
      return unsupported("normalizer", `has the unknown type ${options.type}`);
  }
}

function bertNormalizer(options: Options): Normalizer {
  const lowercase = options.boolean("lowercase", true);
  const all = {
    cleanText: options.boolean("clean_text", true),
    chineseCharacters: options.boolean("handle_chinese_chars", true),
    stripAccents: options.boolean("strip_accents", lowercase),
    lowercase,
  };
  return (text) => normalizeForBert(text, all);
}

function strip(text: string, left: boolean, right: boolean): string {
  const from = left ? (SPACES_AT_START.exec(text)?.[0].length ?? 0) : 0;
  let end = text.length;
  if (right) while (end > from && SPACE.test(text.charAt(end - 1))) end -= 1;
  return text.slice(from, end);
}

/** The normalizer Nmt of SentencePiece: removes control characters, and writes other separators as spaces. */
function normalizeForTranslation(text: string): string {
  return text

    .replace(/[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]/g, "")
    .replace(/[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/g, " ");
}

const utf8 = new TextEncoder();

/** Bytes of the largest grapheme that is replaced as a whole. */
const LARGEST_GRAPHEME = 5;

/**
 * SentencePiece's map, as the Rust library applies it: to each grapheme of few bytes, of which a prefix in the map is enough, and to the
 * characters of any other.
 */
function precompiled(options: Options, steps: Steps): Normalizer {
  const encoded = options.text("precompiled_charsmap");
  let map: PrecompiledMap;
  try {
    map = new PrecompiledMap(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)));
  } catch (error) {
    return options.wrong("precompiled_charsmap", `a map of characters in base64: it ${messageOf(error)}`, encoded);
  }
  const replacementOf = (part: string): string | undefined => {
    const bytes = utf8.encode(part);
    return map.prefixAt(bytes, 0, bytes.length, "shortest")?.replacement;
  };
  const ofCharacter = new Map<string, string>();
  const character = (part: string): string => {
    let result = ofCharacter.get(part);
    if (result === undefined) ofCharacter.set(part, (result = replacementOf(part) ?? part));
    return result;
  };
  return (text) => {
    let result = "";
    for (const grapheme of graphemesOf(text)) {
      const isOne = grapheme.length === 1;
      const whole =
        !isOne && grapheme.length <= LARGEST_GRAPHEME && utf8.encode(grapheme).length <= LARGEST_GRAPHEME
          ? replacementOf(grapheme)
          : undefined;
      if (whole !== undefined) result += whole;
      else if (isOne) result += character(grapheme);
      else for (const part of grapheme) result += character(part);
      if (result.length > steps.longest) throw new TooManySteps("a normalizer makes the text too long");
    }
    return result;
  };
}
