// The words of a text while pre-tokenizers split it, and what becomes of the matches of a pattern.
import type { EachMatch } from "../pattern/limited_pattern.js";
import { firstOf, type SourceText } from "./source_text.js";

/** Words, and how many UTF-16 code units at the start of all of them stand for the first character of the whole text. */
export class Words {
  readonly texts: string[] = [];
  first = 0;

  /** Adds a part of a text, unless it is empty. */
  add({ text, first }: SourceText, start: number, end: number): void {
    if (end <= start) return;
    this.texts.push(start === 0 && end === text.length ? text : text.slice(start, end));
    if (first > start) this.first += firstOf(first, start, end);
  }

  /** Splits each word. */
  split(splitter: Splitter): Words {
    const words = new Words();
    let at = 0;
    for (const text of this.texts) {
      splitter({ text, first: at < this.first ? firstOf(this.first, at, at + text.length) : 0 }, words);
      at += text.length;
    }
    return words;
  }
}

/** Splits a text and adds its words. */
export type Splitter = (source: SourceText, words: Words) => void;

export const BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"] as const;
export type Behavior = (typeof BEHAVIORS)[number];

/** Splits at the matches of a pattern, or with `invert` at what is between them. */
export function splitter(eachMatch: EachMatch, behavior: Behavior, invert = false): Splitter {
  if (behavior === "Isolated") return isolated(eachMatch);
  return (source, words) => {
    const spans = spansOf(source.text, eachMatch, invert);
    for (const { start, end } of merge(spans, behavior)) words.add(source, start, end);
  };
}

/** Every match and everything between two is a word. */
function isolated(eachMatch: EachMatch): Splitter {
  return (source, words) => {
    let at = 0;
    eachMatch(source.text, (start, end) => {
      words.add(source, at, start);
      words.add(source, start, end);
      at = end;
    });
    words.add(source, at, source.text.length);
  };
}

/** The matches of a regular expression of ours, which has the flag g and takes linear time. */
export function matchesOfRegExp(pattern: RegExp): EachMatch {
  return (text, found) => {
    for (const { 0: match, index } of text.matchAll(pattern)) found(index, index + match.length);
  };
}

/** Keeps only what a regular expression of ours matches. */
export function keeping(pattern: RegExp): Splitter {
  const eachMatch = matchesOfRegExp(pattern);
  return (source, words) => eachMatch(source.text, (start, end) => words.add(source, start, end));
}

interface Span {
  start: number;
  end: number;
  isMatch: boolean;
}

function spansOf(text: string, eachMatch: EachMatch, invert: boolean): Span[] {
  const spans: Span[] = [];
  let at = 0;
  eachMatch(text, (start, end) => {
    if (start > at) spans.push({ start: at, end: start, isMatch: invert });
    spans.push({ start, end, isMatch: !invert });
    at = end;
  });
  if (at < text.length) spans.push({ start: at, end: text.length, isMatch: invert });
  return spans;
}

/** A match that follows another one isn't merged with the text beyond it. */
function merge(spans: Span[], behavior: Exclude<Behavior, "Isolated">): Span[] {
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
