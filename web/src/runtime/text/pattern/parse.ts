// Parses regular expressions as JavaScript writes them, with the flag u.

/** A part of a regular expression. `More` are parts of another syntax than JavaScript's. */
export type Part<More = never> =
  /** One character: a set as JavaScript writes it, such as `[a-z]`, `\p{L}` or `a`. */
  | { kind: "set"; source: string }
  | { kind: "sequence"; parts: Part<More>[] }
  | { kind: "choice"; options: Part<More>[] }
  | { kind: "group"; index: number; part: Part<More> }
  | { kind: "repeat"; part: Part<More>; least: number; most: number; isLazy: boolean }
  | { kind: "look"; part: Part<More>; isBehind: boolean; isNegated: boolean }
  | { kind: "edge"; edge: "start" | "end" | "word" | "notWord" }
  | { kind: "same"; group: number | string }
  | More;

/** A parsed regular expression. */
export interface Pattern<More = never> {
  readonly part: Part<More>;
  /** Number of groups. */
  readonly groups: number;
  readonly names: ReadonlyMap<string, number>;
}

/** Thrown for syntax that a parser doesn't have. */
export class UnknownSyntax extends Error {}

/** Groups inside each other. */
export const MAX_NESTED = 200;

/**
 * Parses the source of a RegExp that the engine has accepted, with the flag u and without i, m and s.
 * @throws UnknownSyntax
 */
export function parsePattern(source: string): Pattern {
  const names = new Map<string, number>();
  let at = 0;
  let groups = 0;
  let depth = 0;

  const has = (text: string): boolean => source.startsWith(text, at);
  const take = (text: string): boolean => {
    if (!has(text)) return false;
    at += text.length;
    return true;
  };

  function choice(): Part {
    if (++depth > MAX_NESTED) throw new UnknownSyntax("it is nested too deeply");
    const options = [sequence()];
    while (take("|")) options.push(sequence());
    depth -= 1;
    return options.length === 1 ? options[0]! : { kind: "choice", options };
  }

  function sequence(): Part {
    const parts: Part[] = [];
    while (at < source.length && !has("|") && !has(")")) parts.push(repeated(single()));
    return parts.length === 1 ? parts[0]! : { kind: "sequence", parts };
  }

  function repeated(part: Part): Part {
    const [text, star, least, comma, most] = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})/.exec(source.slice(at, at + 40)) ?? [];
    if (text === undefined) return part;
    at += text.length;
    const isLazy = take("?");
    if (star !== undefined)
      return { kind: "repeat", part, least: star === "+" ? 1 : 0, most: star === "?" ? 1 : Infinity, isLazy };
    const first = Number(least);
    return {
      kind: "repeat",
      part,
      least: first,
      most: comma === "" ? first : most === "" ? Infinity : Number(most),
      isLazy,
    };
  }

  function single(): Part {
    if (take("^")) return { kind: "edge", edge: "start" };
    if (take("$")) return { kind: "edge", edge: "end" };
    if (take("\\b")) return { kind: "edge", edge: "word" };
    if (take("\\B")) return { kind: "edge", edge: "notWord" };
    if (take("(")) return group();
    const start = at;
    if (has("[")) {
      for (at += 1; at < source.length && !has("]"); at += 1) if (has("\\")) at += 1;
      at += 1;
      return { kind: "set", source: source.slice(start, at) };
    }
    if (has("\\")) return escape();
    at += source.codePointAt(at)! > 0xffff ? 2 : 1;
    return { kind: "set", source: source.slice(start, at) };
  }

  function group(): Part {
    let make: (part: Part) => Part = (part) => part;
    const look = /^\?(<?)([=!])/.exec(source.slice(at, at + 3));
    if (look !== null) {
      at += look[0].length;
      make = (part) => ({ kind: "look", part, isBehind: look[1] === "<", isNegated: look[2] === "!" });
    } else if (!take("?:")) {
      const index = ++groups;
      const name = /^\?<([^>]*)>/.exec(source.slice(at, at + 100));
      if (name !== null) {
        at += name[0].length;
        names.set(name[1]!, index);
      } else if (has("?")) {
        throw new UnknownSyntax(`it has (${source.slice(at, at + 3)}`);
      }
      make = (part) => ({ kind: "group", index, part });
    }
    const part = choice();
    if (!take(")")) throw new UnknownSyntax("a group has no end");
    return make(part);
  }

  function escape(): Part {
    const [text, number, name] =
      /^\\(?:([1-9]\d*)|k<([^>]*)>|[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|x..|c.|.)/su.exec(
        source.slice(at, at + 100),
      ) ?? [];
    if (text === undefined) throw new UnknownSyntax("an escape has no end");
    // only a high surrogate takes the escape after it
    const isPair = text.length === 12 && /^\\u[dD][89abAB]/.test(text);
    const taken = text.length === 12 && !isPair ? text.slice(0, 6) : text;
    at += taken.length;
    if (number !== undefined) return { kind: "same", group: Number(number) };
    if (name !== undefined) return { kind: "same", group: name };
    return { kind: "set", source: taken };
  }

  const part = choice();
  if (at < source.length) throw new UnknownSyntax("it has a parenthesis too many");
  return { part, groups, names };
}
