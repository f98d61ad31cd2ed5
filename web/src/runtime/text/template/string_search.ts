// What methods of strings find, split and replace. Positions count code points, as in Python.
import type { Budget } from "./values/budget.js";
import { SPACE, strip } from "./values/whitespace.js";
import { integerOf, lengthOf, wholeOf } from "./values/types.js";
import type { Value } from "./values/values.js";

/** Characters of a text that is replaced or split at. */
const MAX_SEARCHED = 10_000;

const space = `[${SPACE}]`;
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

/** A text's lines, with or without their ends. */
export function linesOf(text: string, keepsEnds = false): string[] {
  if (keepsEnds) return text.match(new RegExp(`[^]*?(?:${LINE_ENDS.source})|[^]+$`, "g")) ?? [];
  const lines = text.split(LINE_ENDS);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Replaces a text by another, at most `count` times. @throws OverBudget, RangeError */
export function replaceText(text: string, from: string, to: string, count: number, budget: Budget): string {
  checkSearched(from);
  if (count < 0 && text.length + (text.length + 1) * to.length <= 1000 && from !== "")
    return text.replaceAll(from, () => to);
  const parts: string[] = [];
  let end = 0;
  if (from === "") {
    const characters = Array.from(text);
    const most = count < 0 ? characters.length + 1 : Math.min(count, characters.length + 1);
    budget.checkLength(text.length + most * to.length);
    budget.spend(characters.length / 8);
    const start = characters.map((character, i) => (i < most ? to : "") + character).join("");
    return start + (most > characters.length ? to : "");
  }
  for (let at = text.indexOf(from); at >= 0 && parts.length !== count; at = text.indexOf(from, end)) {
    parts.push(text.slice(end, at));
    end = at + from.length;
  }
  budget.checkLength(text.length + parts.length * (to.length - from.length));
  budget.spend(parts.length / 8);
  return [...parts, text.slice(end)].join(to);
}

function checkSearched(text: string): void {
  if (text.length > MAX_SEARCHED)
    throw new RangeError(`a text to replace must have at most ${MAX_SEARCHED} characters`);
}

/** The pieces between separators: whitespace, or the text `separator`. At most `most` cuts are made. */
export function split(text: string, separator: string | undefined, most: number, fromRight: boolean): string[] {
  if (separator === "") throw new RangeError("empty separator");
  const cuts: [number, number][] = [];
  let whole = text;
  if (separator === undefined) {
    whole = strip(text);
    if (whole === "") return [];
    for (const { 0: match, index } of whole.matchAll(new RegExp(`${space}+`, "g")))
      cuts.push([index, index + match.length]);
  } else {
    checkSearched(separator);
    const find = (from: number): number =>
      fromRight ? text.lastIndexOf(separator, from) : text.indexOf(separator, from);
    for (let at = find(fromRight ? Infinity : 0); at >= 0;) {
      cuts.push([at, at + separator.length]);
      if (fromRight && at < separator.length) break;
      at = find(fromRight ? at - separator.length : at + separator.length);
    }
    if (fromRight) cuts.reverse();
  }
  const made = most < 0 ? cuts : fromRight ? cuts.slice(Math.max(0, cuts.length - most)) : cuts.slice(0, most);
  const starts = [0, ...made.map(([, end]) => end)];
  const ends = [...made.map(([start]) => start), whole.length];
  const pieces = starts.map((start, i) => whole.slice(start, ends[i]));
  if (separator === undefined && made.length === most) {
    // whitespace at the outer end stays in the piece that isn't cut
    if (fromRight) pieces[0] = text.slice(0, text.length - strip(text, "left").length) + pieces[0]!;
    else pieces.push(pieces.pop()! + text.slice(strip(text, "right").length));
  }
  return pieces;
}

/** A part of a text from `start` to `end`, and how many code points are before it; undefined if it can't hold anything. */
export function within(text: string, start: Value, end: Value): { part: string; before: number } | undefined {
  if (start === null && end === null) return { part: text, before: 0 };
  const length = lengthOf(text);
  const index = (value: Value, otherwise: number): number => {
    if (value === null) return otherwise;
    const whole = wholeOf(value);
    const at = typeof whole === "bigint" ? (whole < 0 ? -1 : 1) * 2 ** 52 : integerOf(value, "slice indices");
    return at < 0 ? Math.max(0, at + length) : at;
  };
  const [from, to] = [index(start, 0), Math.min(length, index(end, length))];
  if (from > length || from > to) return undefined;
  const isPlain = length === text.length;
  return { part: isPlain ? text.slice(from, to) : Array.from(text).slice(from, to).join(""), before: from };
}

/** Where a text is in another one, in code points; -1 if it isn't. */
export function find(text: string, searched: string, start: Value, end: Value, isLast: boolean): number {
  const found = within(text, start, end);
  if (found === undefined) return -1;
  const at = isLast ? found.part.lastIndexOf(searched) : found.part.indexOf(searched);
  return at < 0 ? -1 : found.before + lengthOf(found.part.slice(0, at));
}

/** How often a text is in another one. */
export function count(text: string, searched: string, start: Value, end: Value): number {
  const found = within(text, start, end);
  if (found === undefined) return 0;
  return searched === "" ? lengthOf(found.part) + 1 : found.part.split(searched).length - 1;
}

/** The text before and after a separator, with it between them. */
export function partition(text: string, separator: string, isLast: boolean): [string, string, string] {
  if (separator === "") throw new RangeError("empty separator");
  const at = isLast ? text.lastIndexOf(separator) : text.indexOf(separator);
  if (at < 0) return isLast ? ["", "", text] : [text, "", ""];
  return [text.slice(0, at), separator, text.slice(at + separator.length)];
}
