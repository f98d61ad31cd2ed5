// The texts of JSON strings.
import * as advise from "../../../core/base/advice.js";
import type { Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { messageOf, show } from "../../../core/base/show.js";
import { UnknownSyntax } from "../../text/pattern/parse.js";
import {
  ANY_CHARACTER,
  choice,
  choiceOf,
  type Expression,
  intersectRanges,
  isNothing,
  type MachineState,
  mergeRanges,
  NOTHING,
  otherRanges,
  type Range,
  repeat,
  sequence,
  set,
  text,
} from "../expression.js";
import { intersection } from "../machine/intersect.js";
import { TooLarge } from "../machine/limits.js";
import { patternConditions, patternExpression } from "../pattern.js";
import { spend } from "../work.js";
import { ANNOTATING, FORMATS, PATTERNS_OF_ZOD } from "./formats.js";

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

/** One of these characters. */
const anyOf = (characters: string): Expression =>
  set(Array.from(characters, (one): Range => [one.codePointAt(0)!, one.codePointAt(0)!]));

const HEX = anyOf("0123456789ABCDEFabcdef");
const SURROGATE = anyOf("Dd");
/** An escape of a character. One above U+FFFF is a pair of surrogates. Half of a pair isn't text, so none occurs alone. */
const ESCAPE = sequence(
  text("\\"),
  choice(
    anyOf('"\\/bfnrt'),
    sequence(text("u"), anyOf("0123456789ABCEFabcef"), HEX, HEX, HEX),
    sequence(text("u"), SURROGATE, anyOf("01234567"), HEX, HEX),
    sequence(text("u"), SURROGATE, anyOf("89ABab"), HEX, HEX, text("\\u"), SURROGATE, anyOf("CDEFcdef"), HEX, HEX),
  ),
);

/** Any characters in a string. */
const ANY_TEXT = repeat(choice(set(PLAIN), ESCAPE), 0);

/** Any text, without the escapes of JSON. */
const ANY = repeat(set(ANY_CHARACTER), 0);

/** Any JSON string. */
export const ANY_STRING = sequence(QUOTE, ANY_TEXT, QUOTE);

const [ASCII, BEYOND_ASCII] = [intersectRanges(PLAIN, [[0, 0x7f]]), set(intersectRanges(PLAIN, [[0x80, 0x10ffff]]))];

/** Strings that aren't one of the names, without escapes. */
export function otherStrings(names: readonly string[]): Expression {
  // A state for each start of a name, and one for texts that no name starts with.
  const starts: { readonly next: Map<number, number>; canEnd: boolean }[] = [{ next: new Map(), canEnd: true }];
  for (const name of names) {
    let at = 0;
    for (const character of name) {
      spend(20);
      const point = character.codePointAt(0)!;
      const next = starts[at]!.next.get(point) ?? starts.push({ next: new Map(), canEnd: true }) - 1;
      starts[at]!.next.set(point, next);
      at = next;
    }
    starts[at]!.canEnd = false;
  }
  const free = starts.length;
  const states = starts.map(({ next, canEnd }): MachineState => {
    const points = mergeRanges(Array.from(next.keys(), (point): Range => [point, point]));
    const others = otherRanges(points);
    const isAscii = (points[points.length - 1]?.[1] ?? 0) < 0x80;
    const beyond = isAscii ? BEYOND_ASCII : set(intersectRanges(PLAIN, intersectRanges(others, [[0x80, 0x10ffff]])));
    return {
      edges: [
        ...Array.from(next, ([point, to]) => [jsonCharacter([[point, point]]), to] as const),
        [set(intersectRanges(ASCII, others)), free],
        [beyond, free],
      ],
      canEnd,
    };
  });
  states.push({ edges: [[set(PLAIN), free]], canEnd: true });
  return sequence(QUOTE, { kind: "machine", states }, QUOTE);
}

/** @throws INVALID_ARGUMENT: a pattern or format that can't be written, or that no text matches beside the other keywords */
export function stringExpression(schema: Dict, path: string): Expression {
  const { minLength, maxLength, pattern, patterns = [], not } = schema;
  const least = lengthOf(minLength, 0);
  const most = lengthOf(maxLength, Infinity);
  const given = [...(pattern === undefined ? [] : [pattern]), ...(patterns as unknown[])];
  const excluded = (not as { enum: string[] } | undefined)?.enum;
  const { sources, format } = withFormat(schema["format"], given, `${path}.format`);
  const isFree = least === 0 && most === Infinity;
  if (sources.length === 0 && format === undefined) {
    if (excluded === undefined) return limitedString(least, most);
    if (isFree) return otherStrings(excluded);
  }
  const all = [...sources, ...(format === undefined ? [] : [format])];
  const field = sources.length > 0 ? `${path}.pattern` : format !== undefined ? `${path}.format` : `${path}.not`;
  return readPatterns(all, field, () => {
    if (all.length === 1 && isFree && excluded === undefined)
      return sequence(QUOTE, patternExpression(all[0]!, jsonCharacter, ANY_TEXT), QUOTE);
    const parts = all.map(patternConditions);
    const must = parts.flatMap((part) => part.must);
    const mustNot = parts.flatMap((part) => part.mustNot);
    if (excluded !== undefined) mustNot.push(choiceOf(excluded.map(text)));
    const expression = intersection({ must: must.length > 0 ? must : [ANY], mustNot, least, most }, jsonCharacter);
    if (!isNothing(expression)) return sequence(QUOTE, expression, QUOTE);
    if (format === undefined) return NOTHING;
    fail(
      "INVALID_ARGUMENT",
      field,
      `leaves no text of the common form in which the format ${show(schema["format"])} is written`,
      advise.other("use pattern without format"),
    );
  });
}

/**
 * The patterns of a schema, and the pattern of its format. A format that isn't known names what the pattern beside it
 * says, as in the schemas of zod.
 */
function withFormat(
  format: unknown,
  patterns: readonly unknown[],
  field: string,
): { sources: string[]; format: string | undefined } {
  const sources = patterns as string[];
  if (format === undefined || ANNOTATING.has(format as string)) return { sources, format: undefined };
  const own = sources.find((source) => PATTERNS_OF_ZOD.has(source));
  if (own !== undefined && PATTERNS_OF_ZOD.get(own)!.format === format) {
    const others = sources.filter((source) => source !== own);
    return { sources: others, format: PATTERNS_OF_ZOD.get(own)!.pattern };
  }
  const known = FORMATS.get(format as string);
  if (known !== undefined || sources.length > 0) return { sources, format: known };
  fail(
    "INVALID_ARGUMENT",
    field,
    `must be one of ${[...FORMATS.keys()].join(", ")}, or stand beside a pattern (got ${show(format)})`,
  );
}

function limitedString(least: number, most: number): Expression {
  if (least === 0 && most === Infinity) return ANY_STRING;
  const character = choice(set(PLAIN), ESCAPE);
  if (most === Infinity) return sequence(QUOTE, repeat(character, least, least), ANY_TEXT, QUOTE);
  return sequence(QUOTE, repeat(character, least, most), QUOTE);
}

/** Calls a function that reads patterns. Its errors get the field and say which pattern it is. */
function readPatterns(sources: readonly string[], field: string, read: () => Expression): Expression {
  try {
    return read();
  } catch (error) {
    const shown = sources.length === 0 ? "" : ` (got ${sources.map((source) => show(source)).join(" and ")})`;
    if (error instanceof UnknownSyntax)
      fail("INVALID_ARGUMENT", field, `can't be generated: ${messageOf(error)}${shown}`);
    if (!(error instanceof TooLarge)) throw error;
    const message = `can't be combined with the other keywords of this text: it would need too many states${shown}`;
    fail("INVALID_ARGUMENT", field, message);
  }
}

/** A limit of lengths. */
export function lengthOf(value: unknown, otherwise: number): number {
  return (value as number | undefined) ?? otherwise;
}
