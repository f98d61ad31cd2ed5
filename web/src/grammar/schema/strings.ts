// The texts of JSON strings.
import type { Dict } from "../../base/dict.js";
import { fail } from "../../base/errors.js";
import { messageOf, show } from "../../base/show.js";
import { UnknownSyntax } from "../../text/pattern/parse.js";
import {
  choice,
  type Expression,
  intersectRanges,
  otherRanges,
  type Range,
  repeat,
  sequence,
  set,
  text,
} from "../expression.js";
import { patternExpression } from "../pattern.js";
import { FORMATS } from "./formats.js";

const QUOTE = text('"');

/** Characters that JSON writes as escapes. */
const ESCAPED: readonly Range[] = [
  [0x00, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
];
const PLAIN = otherRanges(ESCAPED);

/** Escapes of one letter, by what they stand for. */
const SHORT: ReadonlyMap<number, string> = new Map([
  [0x08, "\\b"],
  [0x09, "\\t"],
  [0x0a, "\\n"],
  [0x0c, "\\f"],
  [0x0d, "\\r"],
  [0x22, '\\"'],
  [0x5c, "\\\\"],
]);

/** A character of the ranges, as JSON writes it in a string. */
function jsonCharacter(ranges: readonly Range[]): Expression {
  const escapes = intersectRanges(ranges, ESCAPED).flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, i) =>
      text(SHORT.get(first + i) ?? `\\u${(first + i).toString(16).padStart(4, "0")}`),
    ),
  );
  return choice(set(intersectRanges(ranges, PLAIN)), ...escapes);
}

const HEX = set([
  [0x30, 0x39],
  [0x41, 0x46],
  [0x61, 0x66],
]);
const ESCAPE = sequence(
  text("\\"),
  choice(
    set(Array.from('"\\/bfnrt', (letter): Range => [letter.codePointAt(0)!, letter.codePointAt(0)!])),
    // A half of a surrogate pair isn't text, so \uD800 to \uDFFF don't occur.
    sequence(
      text("u"),
      choice(
        sequence(
          set([
            [0x30, 0x39],
            [0x41, 0x43],
            [0x45, 0x46],
            [0x61, 0x63],
            [0x65, 0x66],
          ]),
          HEX,
        ),
        sequence(
          set([
            [0x44, 0x44],
            [0x64, 0x64],
          ]),
          set([[0x30, 0x37]]),
        ),
      ),
      HEX,
      HEX,
    ),
  ),
);

/** Any characters in a string. */
const ANY_TEXT = repeat(choice(set(PLAIN), ESCAPE), 0);

/** Any JSON string. */
export const ANY_STRING = sequence(QUOTE, ANY_TEXT, QUOTE);

/** Strings that aren't one of the names, without escapes. */
export function otherStrings(names: readonly string[]): Expression {
  return sequence(QUOTE, others(names.map((name) => Array.from(name))), QUOTE);
}

/** Texts that differ from all names. */
function others(names: readonly (readonly string[])[]): Expression {
  const starts = new Map<string, string[][]>();
  for (const [first, ...rest] of names)
    if (first !== undefined) starts.set(first, [...(starts.get(first) ?? []), rest]);
  const points = Array.from(starts.keys(), (first): Range => [first.codePointAt(0)!, first.codePointAt(0)!]);
  const free = intersectRanges(PLAIN, otherRanges([...points].sort(([a], [b]) => a - b)));
  return choice(
    ...(names.some((name) => name.length === 0) ? [] : [text("")]),
    sequence(set(free), repeat(set(PLAIN), 0)),
    ...Array.from(starts, ([first, rests]) =>
      sequence(jsonCharacter(points.filter(([point]) => point === first.codePointAt(0))), others(rests)),
    ),
  );
}

/** @throws INVALID_ARGUMENT: a pattern or format that can't be written, or one beside limits of the length */
export function stringExpression(schema: Dict, path: string): Expression {
  const { minLength, maxLength, pattern, format, not } = schema;
  const least = lengthOf(minLength, 0, `${path}.minLength`);
  const most = lengthOf(maxLength, Infinity, `${path}.maxLength`);
  if (not !== undefined) {
    if (pattern !== undefined || format !== undefined || least > 0 || most < Infinity)
      fail("INVALID_ARGUMENT", `${path}.not`, "can't be used with pattern, format, or limits of the length");
    return otherStrings((not as { enum: string[] }).enum);
  }
  if (pattern === undefined && format === undefined) return limitedString(least, most);
  if (pattern !== undefined && (least > 0 || most < Infinity))
    fail(
      "INVALID_ARGUMENT",
      `${path}.pattern`,
      "can't be used with minLength or maxLength; write the length in the pattern, as in ^[a-z]{1,8}$",
    );
  if (pattern !== undefined) return sequence(QUOTE, patternOf(pattern, `${path}.pattern`), QUOTE);
  const known = FORMATS.get(format as string);
  if (known === undefined)
    fail(
      "INVALID_ARGUMENT",
      `${path}.format`,
      `must be one of ${[...FORMATS.keys()].join(", ")}, or use pattern (got ${show(format)})`,
    );
  if (known.least < least || known.most > most)
    fail("INVALID_ARGUMENT", `${path}.format`, "can't be used with these limits of the length; use pattern");
  return sequence(QUOTE, patternOf(known.pattern, `${path}.format`), QUOTE);
}

function limitedString(least: number, most: number): Expression {
  if (least === 0 && most === Infinity) return ANY_STRING;
  const character = choice(set(PLAIN), ESCAPE);
  if (most === Infinity) return sequence(QUOTE, repeat(character, least, least), ANY_TEXT, QUOTE);
  return sequence(QUOTE, repeat(character, least, most), QUOTE);
}

function patternOf(source: unknown, field: string): Expression {
  if (typeof source !== "string") fail("INVALID_ARGUMENT", field, `must be a text (got ${show(source)})`);
  try {
    return patternExpression(source, jsonCharacter, ANY_TEXT);
  } catch (error) {
    if (!(error instanceof UnknownSyntax)) throw error;
    fail("INVALID_ARGUMENT", field, `can't be generated: ${messageOf(error)} (got ${show(source)})`);
  }
}

/** A limit of lengths, which may be written as 3.0. */
export function lengthOf(value: unknown, otherwise: number, field: string): number {
  if (value === undefined) return otherwise;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  fail("INVALID_ARGUMENT", field, `must be an integer from 0 (got ${show(value)})`);
}
