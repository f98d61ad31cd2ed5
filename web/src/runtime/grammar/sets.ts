// Reads sets of characters as JavaScript writes them with the flag u. The engine is asked only for properties of Unicode: it needs 20 ms for each,
// which patterns with thousands of sets would multiply.
import { ANY_CHARACTER, intersectRanges, mergeRanges, otherRanges, type Range } from "./expression.js";

const DIGIT: readonly Range[] = [[0x30, 0x39]];
const WORD: readonly Range[] = [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]]; // prettier-ignore
const SPACE: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const LINE_ENDS: readonly Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];

const CLASSES: Readonly<Record<string, readonly Range[]>> = { d: DIGIT, w: WORD, s: SPACE };
const CONTROLS: Readonly<Record<string, number>> = { b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

/** An escape: a class, a property, a code point, or a letter. */
const ESCAPE =
  /^\\(?:([dDwWsS])|([pP]\{[^}]*\})|u\{([\da-fA-F]+)\}|u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})|u([\da-fA-F]{4})|x([\da-fA-F]{2})|c([a-zA-Z])|(.))/su;

/** The characters of a set that the engine accepts, such as `[a-z]`, `\p{L}`, `.` or `a`. */
export function rangesOf(source: string): readonly Range[] {
  if (source === ".") return otherRanges(LINE_ENDS);
  if (!source.startsWith("[")) return intersectRanges(member(source, 0).ranges, ANY_CHARACTER);
  const isNegated = source.startsWith("[^");
  const ranges: Range[] = [];
  for (let at = isNegated ? 2 : 1; at < source.length - 1;) {
    const first = member(source, at);
    at = first.end;
    if (source[at] === "-" && at < source.length - 2) {
      const last = member(source, at + 1);
      at = last.end;
      ranges.push([first.ranges[0]![0], last.ranges[0]![1]]);
    } else for (const range of first.ranges) ranges.push(range);
  }
  const merged = mergeRanges(ranges);
  return isNegated ? otherRanges(merged) : intersectRanges(merged, ANY_CHARACTER);
}

/** The characters of one member of a set, and where the next one starts. */
function member(source: string, at: number): { ranges: readonly Range[]; end: number } {
  const point = source.codePointAt(at)!;
  if (point !== 0x5c) return { ranges: [[point, point]], end: at + (point > 0xffff ? 2 : 1) };
  const [text, named, property, braced, high, low, hex, short, control, letter] = ESCAPE.exec(
    source.slice(at, at + 100),
  )!;
  const end = at + text.length;
  if (named !== undefined) {
    const ranges = CLASSES[named.toLowerCase()]!;
    return { ranges: named === named.toLowerCase() ? ranges : otherRanges(ranges), end };
  }
  if (property !== undefined) return { ranges: propertyRanges(text), end };
  const pair = high && low && String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16)).codePointAt(0);
  const code = braced ?? hex ?? short;
  const one =
    pair !== undefined && pair !== ""
      ? pair
      : code !== undefined
        ? Number.parseInt(code, 16)
        : control !== undefined
          ? control.codePointAt(0)! % 32
          : (CONTROLS[letter!] ?? letter!.codePointAt(0)!);
  return { ranges: [[one, one]], end };
}

/** Of properties, whose names are limited in number. */
const known = new Map<string, readonly Range[]>();

/** The engine finds the characters of a property in a text of all characters: it knows its version of Unicode. */
function propertyRanges(source: string): readonly Range[] {
  let ranges = known.get(source);
  if (ranges !== undefined) return ranges;
  const found: Range[] = [];
  for (const [first, last] of ANY_CHARACTER)
    for (let start = first; start <= last; start += 4096) {
      const points = Array.from({ length: Math.min(4096, last + 1 - start) }, (_, i) => start + i);
      const width = start > 0xffff ? 2 : 1;
      for (const match of String.fromCodePoint(...points).matchAll(new RegExp(`${source}+`, "gu")))
        found.push([start + match.index / width, start + (match.index + match[0].length) / width - 1]);
    }
  ranges = mergeRanges(found);
  known.set(source, ranges);
  return ranges;
}
