// Turns regular expressions, as JavaScript writes them with the flag u, into expressions.
import { parsePattern, type Part, UnknownSyntax } from "../text/pattern/parse.js";
import {
  ANY_CHARACTER,
  choice,
  EMPTY,
  type Expression,
  intersectRanges,
  mergeRanges,
  type Range,
  repeat,
  sequence,
} from "./expression.js";

/** A part between the edges of a text. */
interface Anchored {
  readonly parts: readonly Part[];
  readonly startsText: boolean;
  readonly endsText: boolean;
}

/**
 * The texts in which a regular expression finds a match.
 *
 * @param source - with the flag u, such as `^\d{4}$`
 * @param character - the expression of one character of the ranges, for texts that are written with escapes
 * @param around - what may stand before and after the match where the pattern has no `^` or `$`
 * @throws UnknownSyntax: invalid, or one of lookarounds, back references and `\b`, or edges inside the match
 */
export function patternExpression(
  source: string,
  character: (ranges: readonly Range[]) => Expression,
  around: Expression,
): Expression {
  try {
    new RegExp(source, "u");
  } catch (error) {
    throw new UnknownSyntax(error instanceof Error ? error.message : String(error));
  }
  const anchored = alternatives(parsePattern(source).part);
  const options = anchored.map(({ parts, startsText, endsText }) =>
    sequence(startsText ? EMPTY : around, ...parts.map((part) => convert(part, character)), endsText ? EMPTY : around),
  );
  return choice(...options);
}

/** The alternatives of a pattern, each without the edges at its start and end. */
function alternatives(part: Part): Anchored[] {
  switch (part.kind) {
    case "choice":
      return part.options.flatMap(alternatives);
    case "group":
      return alternatives(part.part);
    case "edge":
      if (part.edge === "start") return [{ parts: [], startsText: true, endsText: false }];
      if (part.edge === "end") return [{ parts: [], startsText: false, endsText: true }];
      return [{ parts: [part], startsText: false, endsText: false }];
    case "sequence": {
      const [first, ...others] = part.parts;
      if (first === undefined) return [{ parts: [], startsText: false, endsText: false }];
      if (!hasEdge(part)) return [{ parts: part.parts, startsText: false, endsText: false }];
      const rests = alternatives({ kind: "sequence", parts: others });
      return alternatives(first).flatMap((start) => rests.map((rest) => joined(start, rest)));
    }
    default:
      return [{ parts: [part], startsText: false, endsText: false }];
  }
}

function joined(start: Anchored, rest: Anchored): Anchored {
  const isInside =
    (start.endsText && (rest.parts.length > 0 || rest.startsText)) || (rest.startsText && start.parts.length > 0);
  if (isInside) throw new UnknownSyntax("^ and $ must stand at the start and end of the text");
  return {
    parts: [...start.parts, ...rest.parts],
    startsText: start.startsText || rest.startsText,
    endsText: start.endsText || rest.endsText,
  };
}

function hasEdge(part: Part): boolean {
  switch (part.kind) {
    case "edge":
      return true;
    case "sequence":
      return part.parts.some(hasEdge);
    case "choice":
      return part.options.some(hasEdge);
    case "group":
      return hasEdge(part.part);
    default:
      return false;
  }
}

function convert(part: Part, character: (ranges: readonly Range[]) => Expression): Expression {
  switch (part.kind) {
    case "set":
      return character(rangesOf(part.source));
    case "sequence":
      return sequence(...part.parts.map((one) => convert(one, character)));
    case "choice":
      return choice(...part.options.map((one) => convert(one, character)));
    case "group":
      return convert(part.part, character);
    case "repeat":
      return repeat(convert(part.part, character), part.least, part.most);
    case "edge":
      throw new UnknownSyntax(
        part.edge === "start" || part.edge === "end"
          ? "^ and $ must stand at the start and end of the text"
          : "it has \\b or \\B",
      );
    case "look":
      throw new UnknownSyntax("it has a lookahead or lookbehind");
    case "same":
      throw new UnknownSyntax("it has a back reference");
  }
}

const known = new Map<string, readonly Range[]>();

/** The characters of a set as JavaScript writes it. */
function rangesOf(source: string): readonly Range[] {
  const ranges = known.get(source) ?? findRanges(source);
  known.set(source, ranges);
  return ranges;
}

/** The engine itself is asked for each character: it knows its syntax and its version of Unicode. */
function findRanges(source: string): Range[] {
  if (Array.from(source).length === 1 && source !== ".") return [[source.codePointAt(0)!, source.codePointAt(0)!]];
  const isIn = new RegExp(`^${source}$`, "u");
  const ranges: Range[] = [];
  for (const [first, last] of ANY_CHARACTER) {
    let start = -1;
    for (let point = first; point <= last + 1; point++) {
      const matches = point <= last && isIn.test(String.fromCodePoint(point));
      if (matches && start < 0) start = point;
      if (!matches && start >= 0) {
        ranges.push([start, point - 1]);
        start = -1;
      }
    }
  }
  return intersectRanges(mergeRanges(ranges), ANY_CHARACTER);
}
