// Matches regular expressions like JavaScript or like Oniguruma, in a number of steps that is limited. An engine's own can't be stopped.
import { withFixedClasses } from "../unicode/classes.js";
import type { More } from "./oniguruma.js";
import { parsePattern, type Part as PartWith, type Pattern, UnknownSyntax } from "./parse.js";

/** What the patterns of a tokenizer may use while a text is encoded. They share it. */
export interface Steps {
  /** Steps that matching may still take. */
  left: number;
  /** Length to which replacements may extend a text. */
  longest: number;
}

/** Thrown when no steps are left. */
export class TooManySteps extends Error {}

/** A match: where it starts and ends, and the ends of its groups. */
export interface Match {
  readonly start: number;
  readonly end: number;
  /** Start and end of each group, from group 1; undefined for a group that took no part. */
  readonly groups: readonly (readonly [number, number] | undefined)[];
}

/** Returns the end of the whole match, or -1. */
type Rest = (at: number) => number;
/** Matches a part at a position, then the rest. */
type Matcher = (at: number, rest: Rest) => number;
type InSet = (codePoint: number) => boolean;
type Part = PartWith<More>;

/** Finds the leftmost match from a position on. */
export type Search = (text: string, from: number) => Match | undefined;

/** Compiles the source of a RegExp with the flag u. @throws UnknownSyntax */
export function compile(source: string, steps: Steps): Search {
  const pattern = parsePattern(source);
  return new Compiler(pattern, steps, false).search(pattern.part);
}

/** Compiles a pattern of Oniguruma, in which an iteration that matches nothing ends a repetition. */
export function compileOniguruma(pattern: Pattern<More>, steps: Steps): Search {
  return new Compiler(pattern, steps, true).search(pattern.part);
}

class Compiler {
  #text = "";
  #groups: ([number, number] | undefined)[] = [];
  readonly #sets = new Map<string, InSet>();

  constructor(
    private readonly pattern: Pattern<More>,
    private readonly steps: Steps,
    private readonly emptyEnds: boolean,
  ) {}

  /** The leftmost match from a position on. */
  search(part: Part): Search {
    const matcher = this.#matcher(part, false);
    const starts = this.#startsOf(part);
    const done: Rest = (at) => at;
    return (text, from) => {
      this.#text = text;
      for (let start = from; start <= text.length; start += this.#widthAt(start)) {
        if (starts !== undefined && (start === text.length || !starts(text.codePointAt(start)!))) {
          this.#step();
          continue;
        }
        this.steps.left -= this.pattern.groups / 16;
        this.#groups = new Array<undefined>(this.pattern.groups).fill(undefined);
        const end = matcher(start, done);
        if (end >= 0) return { start, end, groups: this.#groups };
      }
      return undefined;
    };
  }

  #step(): void {
    if (--this.steps.left < 0) throw new TooManySteps("matching takes too many steps");
  }

  /** UTF-16 code units of the character at a position. */
  #widthAt(at: number): number {
    const code = this.#text.codePointAt(at);
    return code !== undefined && code > 0xffff ? 2 : 1;
  }

  /** And of the character before it. */
  #widthBefore(at: number): number {
    return at > 1 && this.#text.codePointAt(at - 2)! > 0xffff ? 2 : 1;
  }

  #matcher(part: Part, isBack: boolean): Matcher {
    switch (part.kind) {
      case "set":
      case "characters": {
        const contains = this.#setOf(part);
        return (at, rest) => {
          this.#step();
          const next = this.#next(at, contains, isBack);
          return next < 0 ? -1 : rest(next);
        };
      }
      case "sequence": {
        const parts = part.parts.map((item) => this.#matcher(item, isBack));
        if (isBack) parts.reverse();
        return parts.reduceRight<Matcher>(
          (after, first) => (at, rest) => first(at, (next) => after(next, rest)),
          (at, rest) => rest(at),
        );
      }
      case "choice":
        return this.#choice(part.options, isBack);
      case "repeat":
        return this.#repeat(part, isBack);
      case "group":
        return this.#group(part.index, this.#matcher(part.part, isBack), isBack);
      case "look":
        return this.#look(this.#matcher(part.part, part.isBehind), part.isNegated);
      case "edge":
        return this.#edge(part.edge);
      case "same":
        return this.#same(part.group, isBack);
      case "place":
        return (at, rest) => {
          this.#step();
          return part.holds(this.#text, at) ? rest(at) : -1;
        };
      case "atomic": {
        const match = this.#matcher(part.part, isBack);
        return (at, rest) => {
          const end = match(at, (next) => next);
          return end < 0 ? -1 : rest(end);
        };
      }
    }
  }

  #setOf(part: Part & { kind: "set" | "characters" }): InSet {
    return part.kind === "set" ? this.#set(part.source) : part.contains;
  }

  /** The position after a character of a set, or -1. */
  #next(at: number, contains: InSet, isBack: boolean): number {
    if (isBack) {
      if (at === 0) return -1;
      const before = at - this.#widthBefore(at);
      return contains(this.#text.codePointAt(before)!) ? before : -1;
    }
    const code = this.#text.codePointAt(at);
    return code !== undefined && contains(code) ? at + (code > 0xffff ? 2 : 1) : -1;
  }

  /** The engine says which characters are in a set; the answers are kept. */
  #set(source: string): InSet {
    const known = this.#sets.get(source);
    if (known !== undefined) return known;
    let expression: RegExp;
    try {
      expression = new RegExp(`^${withFixedClasses(source)}$`, "u");
    } catch {
      throw new UnknownSyntax("it has a set that can't be read");
    }
    const contains = remembered((code) => expression.test(String.fromCodePoint(code)));
    this.#sets.set(source, contains);
    return contains;
  }

  #choice(options: readonly Part[], isBack: boolean): Matcher {
    const compiled = options.map((option) => ({
      match: this.#matcher(option, isBack),
      starts: isBack ? undefined : this.#startsOf(option),
    }));
    const looks = compiled.length / 16;
    return (at, rest) => {
      const code = this.#text.codePointAt(at);
      this.steps.left -= looks;
      for (const { match, starts } of compiled) {
        if (starts !== undefined && (code === undefined || !starts(code))) continue;
        this.#step();
        const end = match(at, rest);
        if (end >= 0) return end;
      }
      this.#step();
      return -1;
    };
  }

  #repeat({ part, least, most, isLazy }: Part & { kind: "repeat" }, isBack: boolean): Matcher {
    if ((part.kind === "set" || part.kind === "characters") && !isLazy)
      return this.#repeatSet(this.#setOf(part), least, most, isBack);
    const match = this.#matcher(part, isBack);
    const inside = groupsIn(part);
    const again = (at: number, count: number, rest: Rest): number => {
      this.#step();
      const once = (): number => {
        if (count >= most) return -1;
        const saved = inside.map((index) => this.#groups[index]);
        for (const index of inside) this.#groups[index] = undefined;
        // an iteration that matches nothing isn't one in JavaScript
        const end = match(at, (next) => {
          if (next !== at) return again(next, count + 1, rest);
          return this.emptyEnds ? rest(at) : count >= least ? -1 : again(next, count + 1, rest);
        });
        if (end < 0) inside.forEach((index, i) => (this.#groups[index] = saved[i]));
        return end;
      };
      if (count < least) return once();
      if (isLazy) {
        const end = rest(at);
        return end >= 0 ? end : once();
      }
      const end = once();
      return end >= 0 ? end : rest(at);
    };
    return (at, rest) => again(at, 0, rest);
  }

  /** Repeats one character without recursion, as a text may have a million of them. */
  #repeatSet(contains: InSet, least: number, most: number, isBack: boolean): Matcher {
    return (from, rest) => {
      let at = from;
      let count = 0;
      for (; count < most; count++) {
        this.#step();
        const next = this.#next(at, contains, isBack);
        if (next < 0) break;
        at = next;
      }
      for (; count >= least; count--) {
        this.#step();
        const end = rest(at);
        if (end >= 0) return end;
        if (at === from) break;
        at = isBack ? at + this.#widthAt(at) : at - this.#widthBefore(at);
      }
      return -1;
    };
  }

  #group(index: number, match: Matcher, isBack: boolean): Matcher {
    return (at, rest) =>
      match(at, (next) => {
        const before = this.#groups[index - 1];
        this.#groups[index - 1] = isBack ? [next, at] : [at, next];
        const end = rest(next);
        if (end < 0) this.#groups[index - 1] = before;
        return end;
      });
  }

  #look(match: Matcher, isNegated: boolean): Matcher {
    return (at, rest) => {
      const before = [...this.#groups];
      const isFound = match(at, (next) => next) >= 0;
      if (isNegated || !isFound) this.#groups = before;
      if (isFound === isNegated) return -1;
      const end = rest(at);
      if (end < 0) this.#groups = before;
      return end;
    };
  }

  #edge(edge: "start" | "end" | "word" | "notWord"): Matcher {
    const isWord = (at: number): boolean => /^\w$/.test(this.#text.charAt(at));
    return (at, rest) => {
      this.#step();
      const holds =
        edge === "start"
          ? at === 0
          : edge === "end"
            ? at === this.#text.length
            : ((at > 0 && isWord(at - 1)) !== isWord(at)) === (edge === "word");
      return holds ? rest(at) : -1;
    };
  }

  #same(group: number | string, isBack: boolean): Matcher {
    const index = typeof group === "number" ? group : this.pattern.names.get(group);
    if (index === undefined || index > this.pattern.groups)
      throw new UnknownSyntax("it names a group that it doesn't have");
    return (at, rest) => {
      const [start, end] = this.#groups[index - 1] ?? [0, 0];
      const length = end - start;
      this.steps.left -= length / 16;
      this.#step();
      const from = isBack ? at - length : at;
      if (from < 0 || this.#text.slice(from, from + length) !== this.#text.slice(start, end)) return -1;
      return rest(isBack ? from : at + length);
    };
  }

  /** The characters that a part can start with; undefined if it can match nothing, or isn't worth knowing. */
  #startsOf(part: Part): InSet | undefined {
    switch (part.kind) {
      case "set":
      case "characters":
        return this.#setOf(part);
      case "group":
      case "atomic":
        return this.#startsOf(part.part);
      case "repeat":
        return part.least > 0 ? this.#startsOf(part.part) : undefined;
      case "choice":
        return this.#anyOf(part.options.map((option) => this.#startsOf(option)));
      case "sequence":
        return this.#startsOfSequence(part.parts);
      default:
        return undefined;
    }
  }

  #startsOfSequence(parts: readonly Part[]): InSet | undefined {
    const optional: (InSet | undefined)[] = [];
    for (const part of parts) {
      const canBeNothing = part.kind === "repeat" && part.least === 0;
      optional.push(this.#startsOf(canBeNothing ? part.part : part));
      if (!canBeNothing) return this.#anyOf(optional);
    }
    return undefined;
  }

  #anyOf(sets: readonly (InSet | undefined)[]): InSet | undefined {
    if (sets.length === 0 || sets.includes(undefined)) return undefined;
    if (sets.length === 1) return sets[0];
    return remembered((code) => sets.some((contains) => contains!(code)));
  }
}

/** A set whose answers are kept, in pages of 256 characters. */
function remembered(contains: InSet): InSet {
  const pages: (Uint8Array | undefined)[] = []; // 0 not asked yet, 1 no, 2 yes
  return (code) => {
    if (code > 0xffff) return contains(code);
    const page = (pages[code >> 8] ??= new Uint8Array(256));
    const answer = page[code & 0xff]!;
    if (answer !== 0) return answer === 2;
    const isIn = contains(code);
    page[code & 0xff] = isIn ? 2 : 1;
    return isIn;
  };
}

/** Indices of the groups inside a part, from 0. JavaScript forgets them at each iteration. */
function groupsIn(part: Part): number[] {
  switch (part.kind) {
    case "group":
      return [part.index - 1, ...groupsIn(part.part)];
    case "repeat":
    case "look":
    case "atomic":
      return groupsIn(part.part);
    case "sequence":
      return part.parts.flatMap(groupsIn);
    case "choice":
      return part.options.flatMap(groupsIn);
    default:
      return [];
  }
}
