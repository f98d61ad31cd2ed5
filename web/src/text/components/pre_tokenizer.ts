// The pre-tokenizers of a tokenizer.json: functions that split a text into words.
import { LimitedPattern } from "../pattern/limited_pattern.js";
import type { Steps } from "../pattern/matcher.js";
import { BERT_RUNS } from "../unicode/bert_runs.js";
import { rangesOf, withFixedClasses, WORD_CHARACTERS } from "../unicode/classes.js";
import { Options, unsupported } from "./options.js";
import { readPattern } from "./read_pattern.js";

/** A part of a text. `isFirst`: it begins where the whole text does. */
export interface Word {
  readonly text: string;
  readonly isFirst: boolean;
}

/** Splits a word into words. */
export type PreTokenizer = (word: Word) => readonly Word[];

const BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"] as const;
type Behavior = (typeof BEHAVIORS)[number];

const PUNCTUATION = rangesOf(BERT_RUNS, "A");
const BERT_WORD = new RegExp(withFixedClasses(`[${PUNCTUATION}]|[^\\s${PUNCTUATION}]+`), "gu");
const SPACE = new RegExp(withFixedClasses("\\s"), "gu");
const NUMBER = new RegExp(withFixedClasses("\\p{N}"), "gu");
const NUMBERS = new RegExp(withFixedClasses("\\p{N}+"), "gu");
const WORDS = new RegExp(withFixedClasses(`[${WORD_CHARACTERS}]+|[^${WORD_CHARACTERS}\\s]+`), "gu");

/** Reads a pre-tokenizer. @throws INVALID_FILE, UNSUPPORTED_MODEL (tokenizer.json pre_tokenizer) */
export function readPreTokenizer(json: unknown, steps: Steps): PreTokenizer {
  if (json === undefined || json === null) return (word) => [word];
  const options = Options.of(json, "pre_tokenizer");
  const split = preTokenizerOf(options, steps);
  options.end();
  return split;
}

function preTokenizerOf(options: Options, steps: Steps): PreTokenizer {
  switch (options.type) {
    case "Sequence": {
      const parts = options.list("pretokenizers").map((part) => readPreTokenizer(part, steps));
      return (word) => parts.reduce<readonly Word[]>((words, split) => words.flatMap(split), [word]);
    }
    case "BertPreTokenizer":
      return matches(BERT_WORD);
    case "Whitespace":
      return matches(WORDS);
    case "WhitespaceSplit":
      return splitter(SPACE, "Removed", false);
    case "Punctuation":
      return splitter(new RegExp(`[${PUNCTUATION}]`, "gu"), options.oneOf("behavior", BEHAVIORS, "Isolated"), false);
    case "Digits":
      return splitter(options.boolean("individual_digits", false) ? NUMBER : NUMBERS, "Isolated", false);
    case "Split":
      return splitter(
        new LimitedPattern(readPattern(options), steps),
        options.oneOf("behavior", BEHAVIORS, "Isolated"),
        options.boolean("invert", false),
      );
    case "Metaspace":
      return metaspace(options);
    default:
      return unsupported("pre_tokenizer", `has the unknown type ${options.type}`);
  }
}

/** The option `prepend_scheme` of Metaspace, and the older one that it replaces. */
export function prependSchemeOf(options: Options): "first" | "never" | "always" {
  const scheme = options.oneOf("prepend_scheme", ["first", "never", "always"], "always");
  return options.boolean("add_prefix_space", true) ? scheme : "never";
}

/** Writes spaces as ▁, and splits before each. */
function metaspace(options: Options): PreTokenizer {
  const replacement = options.text("replacement", "▁");
  options.value("str_rep"); // the replacement once more
  const scheme = prependSchemeOf(options);
  const splits = options.boolean("split", true);
  if (Array.from(replacement).length !== 1) options.wrong("replacement", "one character", replacement);
  return ({ text, isFirst }) => {
    let written = text.replaceAll(" ", replacement);
    const prepends = scheme === "always" || (scheme === "first" && isFirst);
    if (prepends && !written.startsWith(replacement)) written = replacement + written;
    if (!splits) return [{ text: written, isFirst }];
    const words: Word[] = [];
    for (let start = 0, end = 0; start < written.length; start = end) {
      end = written.indexOf(replacement, start + (written.startsWith(replacement, start) ? replacement.length : 0));
      if (end < 0) end = written.length;
      words.push({ text: written.slice(start, end), isFirst: isFirst && start === 0 });
    }
    return words;
  };
}

/** Keeps what a pattern matches. */
function matches(pattern: RegExp): PreTokenizer {
  return ({ text, isFirst }) =>
    Array.from(text.matchAll(pattern), ({ 0: match, index }) => ({ text: match, isFirst: isFirst && index === 0 }));
}

interface Span {
  start: number;
  end: number;
  isMatch: boolean;
}

/** Splits at the matches of a pattern, or with `invert` at what is between them. */
function splitter(pattern: RegExp | LimitedPattern, behavior: Behavior, invert: boolean): PreTokenizer {
  return ({ text, isFirst }) =>
    merge(spansOf(text, pattern, invert), behavior)
      .filter(({ start, end }) => end > start)
      .map(({ start, end }) => ({ text: text.slice(start, end), isFirst: isFirst && start === 0 }));
}

function spansOf(text: string, pattern: RegExp | LimitedPattern, invert: boolean): Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const { 0: match, index } of text.matchAll(pattern as RegExp)) {
    if (index > end) spans.push({ start: end, end: index, isMatch: invert });
    end = index + match.length;
    spans.push({ start: index, end, isMatch: !invert });
  }
  if (end < text.length) spans.push({ start: end, end: text.length, isMatch: invert });
  return spans;
}

/** What becomes of the matches. A match that follows another one isn't merged with the text beyond it. */
function merge(spans: Span[], behavior: Behavior): Span[] {
  if (behavior === "Isolated") return spans;
  if (behavior === "Removed") return spans.filter(({ isMatch }) => !isMatch);
  const merged: Span[] = [];
  const backwards = behavior === "MergedWithNext";
  let wasMatch = false;
  for (const span of backwards ? spans.reverse() : spans) {
    const last = merged.at(-1);
    const joins = behavior === "Contiguous" ? span.isMatch === wasMatch : span.isMatch && !wasMatch;
    if (last === undefined || !joins) merged.push({ ...span });
    else if (backwards) last.start = span.start;
    else last.end = span.end;
    wasMatch = span.isMatch;
  }
  return backwards ? merged.reverse() : merged;
}
