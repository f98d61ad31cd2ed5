// Turns regular expressions, as JavaScript writes them with the flag u, into expressions.
import { parsePattern, type Part, UnknownSyntax } from "../text/pattern/parse.js";
import { ANY_CHARACTER, choiceOf, EMPTY, type Expression, type Range, repeat, sequenceOf, set } from "./expression.js";
import { intersection } from "./machine/intersect.js";
import { TooLarge } from "./machine/limits.js";
import { rangesOf } from "./sets.js";
import { spend } from "./work.js";

/** Any text. */
const ANY = repeat(set(ANY_CHARACTER), 0);

/** A part between the edges of a text. */
interface Anchored {
  readonly parts: readonly Part[];
  readonly startsText: boolean;
  readonly endsText: boolean;
}

/** The most alternatives of a pattern in which edges are in parts of it. */
const MAX_ANCHORED = 1000;

/** Texts that a pattern requires, and others that it forbids with a negative lookahead at its start. */
export interface PatternConditions {
  readonly must: readonly Expression[];
  readonly mustNot: readonly Expression[];
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
  const { looks, rest } = parsed(source, around === EMPTY);
  if (looks.length === 0) return whole(rest, character, around);
  try {
    return intersection(conditions(looks, whole(rest, set, around === EMPTY ? EMPTY : ANY)), character);
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    throw new UnknownSyntax("its lookaheads need too many states");
  }
}

/** What a pattern says about the characters of a text. @throws UnknownSyntax */
export function patternConditions(source: string): PatternConditions {
  const { looks, rest } = parsed(source, false);
  return conditions(looks, whole(rest, set, ANY));
}

type Look = Extract<Part, { kind: "look" }>;

/** A pattern without the lookaheads at the start of the text. */
function parsed(source: string, isWhole: boolean): { looks: Look[]; rest: Part } {
  spend(10 * source.length);
  try {
    new RegExp(source, "u");
  } catch (error) {
    throw new UnknownSyntax(error instanceof Error ? error.message : String(error));
  }
  const { part } = parsePattern(source);
  const parts = part.kind === "sequence" ? part.parts : [part];
  const isStart = (one: Part | undefined): boolean => one?.kind === "edge" && one.edge === "start";
  const first = isStart(parts[0]) ? 1 : 0;
  let end = first;
  while (parts[end]?.kind === "look" && !(parts[end] as Look).isBehind) end += 1;
  if (end === first || (first === 0 && !isWhole)) return { looks: [], rest: part };
  return {
    looks: parts.slice(first, end) as Look[],
    rest: { kind: "sequence", parts: [...parts.slice(0, first), ...parts.slice(end)] },
  };
}

function conditions(looks: readonly Look[], rest: Expression): PatternConditions {
  const texts = (isNegated: boolean): Expression[] =>
    looks
      .filter((look) => look.isNegated === isNegated)
      .map(({ part }) => whole({ kind: "sequence", parts: [{ kind: "edge", edge: "start" }, part] }, set, ANY));
  return { must: [rest, ...texts(false)], mustNot: texts(true) };
}

function whole(part: Part, character: (ranges: readonly Range[]) => Expression, around: Expression): Expression {
  const sets = new Map<string, Expression>();
  const characterOf = (source: string): Expression => {
    const known = sets.get(source) ?? character(rangesOf(source));
    sets.set(source, known);
    return known;
  };
  // Alternatives with the same edges share what stands around them.
  const byEdges = new Map<number, Expression[]>();
  for (const { parts, startsText, endsText } of alternatives(part)) {
    const edges = Number(startsText) + 2 * Number(endsText);
    const inside = byEdges.get(edges) ?? [];
    byEdges.set(edges, inside);
    inside.push(sequenceOf(parts.map((one) => convert(one, characterOf))));
  }
  const options = Array.from(byEdges, ([edges, inside]) =>
    sequenceOf([(edges & 1) === 1 ? EMPTY : around, choiceOf(inside), edges > 1 ? EMPTY : around]),
  );
  return choiceOf(options);
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
      throw new UnknownSyntax("it has \\b or \\B");
    case "sequence": {
      // From the end, runs without edges as a whole.
      let found: Anchored[] = [{ parts: [], startsText: false, endsText: false }];
      for (let end = part.parts.length; end > 0;) {
        let start = end;
        while (start > 0 && !hasEdge(part.parts[start - 1]!)) start -= 1;
        const firsts = start < end ? [{ parts: part.parts.slice(start, end), startsText: false, endsText: false }] : alternatives(part.parts[--start]!); // prettier-ignore
        if (firsts.length * found.length > MAX_ANCHORED)
          throw new UnknownSyntax("it has too many alternatives with ^ or $");
        found = firsts.flatMap((first) => found.map((rest) => joined(first, rest)));
        end = start;
      }
      return found;
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

function convert(part: Part, characterOf: (source: string) => Expression): Expression {
  switch (part.kind) {
    case "set":
      return characterOf(part.source);
    case "sequence":
      return sequenceOf(part.parts.map((one) => convert(one, characterOf)));
    case "choice":
      return choiceOf(part.options.map((one) => convert(one, characterOf)));
    case "group":
      return convert(part.part, characterOf);
    case "repeat":
      return repeat(convert(part.part, characterOf), part.least, part.most);
    case "edge":
      throw new UnknownSyntax("^ and $ must stand at the start and end of the text");
    case "look":
      throw new UnknownSyntax("it has a lookbehind, or a lookahead after its start");
    case "same":
      throw new UnknownSyntax("it has a back reference");
  }
}
