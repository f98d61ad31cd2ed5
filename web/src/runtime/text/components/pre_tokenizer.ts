// The pre-tokenizers of a tokenizer.json: functions that split a text into words.
import { matchesOfText } from "../pattern/limited_pattern.js";
import type { Steps } from "../pattern/matcher.js";
import { BERT_RUNS } from "../unicode/bert_runs.js";
import { onFirstUse, rangesOf, withFixedClasses, WORD_CHARACTERS } from "../unicode/classes.js";
import { toByteLevel } from "../vocabulary.js";
import { Options, unsupported } from "./options.js";
import { readPattern } from "./read_pattern.js";
import { splitByScript } from "./scripts.js";
import type { SourceText } from "./source_text.js";
import { BEHAVIORS, keeping, matchesOfRegExp, type Splitter, splitter, Words } from "./words.js";

/** How texts are split. */
export interface PreTokenizer {
  /** The words of a text. */
  readonly split: (source: SourceText) => readonly string[];
  /** What becomes of each word at the end. It is separate because the results for words are kept. */
  readonly finish: (word: string) => string;
}

const punctuationMark = onFirstUse(() => `[${rangesOf(BERT_RUNS, "A")}]`, "gu");
const bertWord = onFirstUse(() => {
  const punctuation = rangesOf(BERT_RUNS, "A");
  return withFixedClasses(`[${punctuation}]|[^\\s${punctuation}]+`);
}, "gu");
const NOT_SPACES = new RegExp(withFixedClasses("\\S+"), "gu");
/** Numbers of Unicode 17, which Rust itself has. */
const NUMBER = "[\\p{N}\\u{11de0}-\\u{11de9}\\u{16ff4}-\\u{16ff6}]";
const eachNumber = onFirstUse(() => withFixedClasses(NUMBER), "gu");
const numbers = onFirstUse(() => withFixedClasses(`${NUMBER}+`), "gu");
const wordsAndMarks = onFirstUse(() => withFixedClasses(`[${WORD_CHARACTERS}]+|[^${WORD_CHARACTERS}\\s]+`), "gu");
/** GPT-2's words. */
const gpt2 = onFirstUse(
  () => withFixedClasses(String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`),
  "gu",
);

/** Characters of a word of FixedLength. */
const LONGEST_WORD = 2 ** 31 - 1;

/** Reads a pre-tokenizer. @throws INVALID_FILE, UNSUPPORTED_MODEL (tokenizer.json pre_tokenizer) */
export function readPreTokenizer(json: unknown, steps: Steps): PreTokenizer {
  const splitters = json === undefined || json === null ? [] : splittersOf(json, steps);
  const endsInBytes = splitters.at(-1) === inBytes;
  if (endsInBytes) splitters.pop();
  return {
    split(source) {
      let words = new Words();
      words.add(source, 0, source.text.length);
      for (const one of splitters) words = words.split(one);
      return words.texts;
    },
    finish: endsInBytes ? toByteLevel : (word) => word,
  };
}

/** Writes a word in GPT-2's characters for bytes. */
const inBytes: Splitter = ({ text, first }, words) => {
  const bytes = toByteLevel(text);
  words.add({ text: bytes, first: first === 0 ? 0 : toByteLevel(text.slice(0, first)).length }, 0, bytes.length);
};

function splittersOf(json: unknown, steps: Steps): Splitter[] {
  const options = Options.of(json, "pre_tokenizer");
  const splitters = read(options, steps);
  options.end();
  return splitters;
}

function read(options: Options, steps: Steps): Splitter[] {
  switch (options.type) {
    case "Sequence":
      return options.list("pretokenizers").flatMap((part) => splittersOf(part, steps));
    case "BertPreTokenizer":
      return [keeping(bertWord())];
    case "ByteLevel":
      return byteLevel(options);
    case "CharDelimiterSplit":
      return [splitter(matchesOfText(options.character("delimiter")), "Removed")];
    case "Whitespace":
      return [keeping(wordsAndMarks())];
    case "WhitespaceSplit":
      return [keeping(NOT_SPACES)];
    case "Punctuation":
      return [splitter(matchesOfRegExp(punctuationMark()), options.oneOf("behavior", BEHAVIORS, "Isolated"))];
    case "Digits":
      return [splitter(matchesOfRegExp(options.boolean("individual_digits") ? eachNumber() : numbers()), "Isolated")];
    case "Split":
      return [splitter(readPattern(options, steps), options.oneOf("behavior", BEHAVIORS), options.boolean("invert"))];
    case "Metaspace":
      return [metaspace(options)];
    case "UnicodeScripts":
      return [splitByScript];
    case "FixedLength":
      return [fixedLength(options.integer("length", 1, LONGEST_WORD, 5))];
    default:
      return unsupported("pre_tokenizer", `has the unknown type ${options.type}`);
  }
}

function byteLevel(options: Options): Splitter[] {
  options.boolean("trim_offsets"); // changes offsets only
  const splitters: Splitter[] = [];
  if (options.boolean("add_prefix_space")) splitters.push(withPrefix(" "));
  if (options.boolean("use_regex", true)) splitters.push(splitter(matchesOfRegExp(gpt2()), "Isolated"));
  return [...splitters, inBytes];
}

/** Adds a prefix to each word that doesn't begin with it. */
function withPrefix(prefix: string): Splitter {
  return (source, words) => {
    const { text, first } = source.text.startsWith(prefix) ? source : prefixed(source, prefix);
    words.add({ text, first }, 0, text.length);
  };
}

const prefixed = ({ text, first }: SourceText, prefix: string): SourceText => ({
  text: prefix + text,
  first: first === 0 ? 0 : prefix.length + first,
});

/** The options of Metaspace. The older `add_prefix_space` must agree with `prepend_scheme`. */
export function metaspaceOptions(options: Options): {
  replacement: string;
  scheme: "first" | "never" | "always";
  splits: boolean;
} {
  options.value("str_rep"); // the replacement once more
  const scheme = options.oneOf("prepend_scheme", ["first", "never", "always"], "always");
  if (!options.boolean("add_prefix_space", true) && scheme !== "never")
    options.wrong("prepend_scheme", '"never", as add_prefix_space is false (tokenizers refuses the file too)', scheme);
  return { replacement: options.character("replacement"), scheme, splits: options.boolean("split", true) };
}

/** Writes spaces as ▁, and splits before each. */
function metaspace(options: Options): Splitter {
  const { replacement, scheme, splits } = metaspaceOptions(options);
  const atMarks = splitter(matchesOfText(replacement), "MergedWithNext");
  return ({ text, first }, words) => {
    const replaced = text.replaceAll(" ", () => replacement);
    let source = {
      text: replaced,
      first: first === 0 ? 0 : text.slice(0, first).replaceAll(" ", () => replacement).length,
    };
    const prepends = scheme === "always" || (scheme === "first" && first > 0);
    if (prepends && !replaced.startsWith(replacement)) source = prefixed(source, replacement);
    if (splits) atMarks(source, words);
    else words.add(source, 0, source.text.length);
  };
}

function fixedLength(length: number): Splitter {
  return (source, words) => {
    const { text } = source;
    for (let start = 0, end = 0; start < text.length; start = end) {
      for (let count = 0; count < length && end < text.length; count++) end += text.codePointAt(end)! > 0xffff ? 2 : 1;
      words.add(source, start, end);
    }
  };
}
