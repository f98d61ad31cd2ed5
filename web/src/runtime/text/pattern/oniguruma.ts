// Parses regular expressions of a tokenizer.json in the syntax of Oniguruma, by which Hugging Face's Rust library matches them: RE of
// Oniguruma 6.9. Groups capture nothing, because no component uses what they capture.
import { anything, type Contains, either, lineEnd, not, property, range, remembered, shorthand } from "./characters.js";
import { folded, ignoringCase, MAX_FOLDED, sameAsSeveral, severalFor } from "./case_folding.js";
import { type CharacterClass, readCharacterClass } from "./character_class.js";
import { readCharacter } from "./escapes.js";
import { MAX_NESTED, type Part, type Pattern, UnknownSyntax } from "./parse.js";

/** Parts that JavaScript doesn't have, or has with another meaning. */
export type More =
  | { kind: "characters"; contains: Contains }
  /** Holds or doesn't at a position of a text. */
  | { kind: "place"; holds: (text: string, at: number) => boolean }
  /** Isn't tried again in another way. */
  | { kind: "atomic"; part: Part<More> };

type OnigPart = Part<More>;

/** Thrown for a pattern that Oniguruma refuses too. */
export class InvalidPattern extends Error {}

interface Options {
  readonly ignoresCase: boolean;
  /** Whether . is a line end too. */
  readonly dotIsAny: boolean;
  /** Whether spaces and comments are left out. */
  readonly isSpaced: boolean;
}

const isWordAt = (text: string, at: number): boolean => {
  const code = text.codePointAt(at);
  return code !== undefined && shorthand("w")(code);
};
const isWordBefore = (text: string, at: number): boolean =>
  at > 0 && isWordAt(text, at > 1 && text.codePointAt(at - 2)! > 0xffff ? at - 2 : at - 1);
const isBoundary = (text: string, at: number): boolean => isWordBefore(text, at) !== isWordAt(text, at);

const PLACES: Readonly<Record<string, (text: string, at: number) => boolean>> = {
  A: (_, at) => at === 0,
  z: (text, at) => at === text.length,
  Z: (text, at) => at === text.length || (at === text.length - 1 && text[at] === "\n"),
  b: isBoundary,
  B: (text, at) => !isBoundary(text, at),
};
const startsLine = (text: string, at: number): boolean => at === 0 || (text[at - 1] === "\n" && at < text.length);
const endsLine = (text: string, at: number): boolean => at === text.length || text[at] === "\n";

const characters = (contains: Contains): OnigPart => ({ kind: "characters", contains });
const sequenceOf = (parts: OnigPart[]): OnigPart => (parts.length === 1 ? parts[0]! : { kind: "sequence", parts });
const choiceOf = (options: OnigPart[]): OnigPart => (options.length === 1 ? options[0]! : { kind: "choice", options });
const repeat = (part: OnigPart, least: number, most: number, isLazy = false): OnigPart => ({
  kind: "repeat",
  part,
  least,
  most,
  isLazy,
});
const text = (characters_: string): OnigPart =>
  sequenceOf(Array.from(characters_, (one) => characters(range(one.codePointAt(0)!, one.codePointAt(0)!))));

const LINE_ENDS: OnigPart = {
  kind: "atomic",
  part: choiceOf([text("\r\n"), characters(lineEnd)]),
};

/** @throws UnknownSyntax, InvalidPattern */
export function parseOniguruma(source: string): Pattern<More> {
  return { part: new Parser(source).parse(), groups: 0, names: new Map() };
}

/** A part of a sequence, and its text if it is one character of the pattern. */
interface Item {
  part: OnigPart;
  literal?: string;
}

class Parser {
  #at = 0;
  #depth = 0;
  #options: Options = { ignoresCase: false, dotIsAny: false, isSpaced: false };

  constructor(private readonly source: string) {}

  parse(): OnigPart {
    const part = this.#choice();
    if (this.#at < this.source.length) throw new InvalidPattern("it has a parenthesis too many");
    return part;
  }

  #has(text: string): boolean {
    return this.source.startsWith(text, this.#at);
  }

  #take(text: string): boolean {
    if (!this.#has(text)) return false;
    this.#at += text.length;
    return true;
  }

  #matches(pattern: RegExp): string[] | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.source);
    if (found === null) return undefined;
    this.#at += found[0].length;
    return found;
  }

  #choice(): OnigPart {
    if (++this.#depth > MAX_NESTED) throw new UnknownSyntax("it is nested too deeply");
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    this.#depth -= 1;
    return choiceOf(options);
  }

  #sequence(): OnigPart {
    const items: Item[] = [];
    for (;;) {
      if (this.#options.isSpaced) this.#matches(/(?:[\t-\r ]|#[^\n]*)*/y);
      if (this.#at >= this.source.length || this.#has("|") || this.#has(")")) break;
      if (this.#matches(/\(\?#(?:\\[^]|[^\\)])*\)/y) !== undefined) continue;
      const item = this.#single();
      if (item !== undefined) items.push(this.#repeated(item));
    }
    return sequenceOf(this.#options.ignoresCase ? joinedWhereFolded(items) : items.map(({ part }) => part));
  }

  #repeated(item: Item): Item {
    let { part } = item;
    let isRepeated = false;
    for (;;) {
      const [text, star, kind, least, comma, most] = this.#matches(/([*+?])([?+]?)|\{(\d*)(,?)(\d*)\}/y) ?? [];
      if (text === undefined) break;
      isRepeated = true;
      if (star !== undefined) {
        const repeated = repeat(part, star === "+" ? 1 : 0, star === "?" ? 1 : Infinity, kind === "?");
        part = kind === "+" ? { kind: "atomic", part: repeated } : repeated;
        continue;
      }
      if (least === "" && most === "") {
        this.#at -= text.length; // {} and {,} are text
        break;
      }
      const first = Number(least);
      const last = comma === "" ? first : most === "" ? Infinity : Number(most);
      if (first > last || first > 100_000 || (Number.isFinite(last) && last > 100_000))
        throw new UnknownSyntax(`it has the repetition ${text}`);
      // x{2}? is x{2} or nothing
      const isLazy = comma !== "" && this.#take("?");
      part = repeat(part, first, last, isLazy);
    }
    return isRepeated ? { part } : item;
  }

  #single(): Item | undefined {
    if (this.#take("^")) return { part: { kind: "place", holds: startsLine } };
    if (this.#take("$")) return { part: { kind: "place", holds: endsLine } };
    if (this.#take(".")) return { part: characters(this.#options.dotIsAny ? anything : not(range(10, 10))) };
    if (this.#take("(")) return this.#group();
    if (this.#has("[")) {
      const { set, end } = readCharacterClass(this.source, this.#at);
      this.#at = end;
      return { part: this.#class(set) };
    }
    if (this.#has("\\")) return this.#escape();
    if (/[*+?]/.test(this.source.charAt(this.#at))) throw new InvalidPattern("a repetition has nothing to repeat");
    const character = String.fromCodePoint(this.source.codePointAt(this.#at)!);
    this.#at += character.length;
    return this.#literal(character);
  }

  /**
   * Where case is ignored, a class has what is the same as its characters before it is negated. If it isn't, it also has the texts of several
   * characters that are the same as one of it, which are tried last.
   */
  #class({ listed, isNegated }: CharacterClass): OnigPart {
    const { ignoresCase } = this.#options;
    const contains = ignoresCase ? ignoringCase(listed) : listed;
    const one = characters(remembered(isNegated ? not(contains) : contains));
    const long = ignoresCase && !isNegated ? severalFor(listed) : [];
    return long.length === 0 ? one : choiceOf([one, ...long.map((several) => this.#foldedText(several))]);
  }

  #foldedText(several: string): OnigPart {
    return sequenceOf(
      Array.from(several, (one) => characters(ignoringCase(range(one.codePointAt(0)!, one.codePointAt(0)!)))),
    );
  }

  #literal(character: string): Item {
    const code = character.codePointAt(0)!;
    const same = range(code, code);
    if (!this.#options.ignoresCase) return { part: characters(same) };
    const long = severalFor(same);
    if (long.length === 0) return { part: characters(ignoringCase(same)), literal: character };
    // the others that fold to the same text, such as ß and ẞ
    const alike = long.flatMap((several) => sameAsSeveral(several)).map((other) => range(other, other));
    const one = characters(ignoringCase(either([same, ...alike])));
    return { part: choiceOf([...long.map((several) => this.#foldedText(several)), one]) };
  }

  #escape(): Item {
    const letter = this.source.charAt(this.#at + 1);
    if (/^[dhsw]$/i.test(letter)) {
      this.#at += 2;
      const set = shorthand(letter.toLowerCase());
      return { part: characters(/[a-z]/.test(letter) ? set : not(set)) };
    }
    const [, kind, caret, name] = this.#matches(/\\([pP])\{(\^?)([^}]*)\}/y) ?? [];
    if (name !== undefined) {
      const set = property(name);
      const isNegated = (kind === "P") !== (caret === "^");
      const all = this.#options.ignoresCase ? remembered(ignoringCase(set)) : set;
      return { part: characters(isNegated ? not(all) : all) };
    }
    if (Object.hasOwn(PLACES, letter)) {
      this.#at += 2;
      return { part: { kind: "place", holds: PLACES[letter]! } };
    }
    if (this.#take("\\R")) return { part: LINE_ENDS };
    if (this.#take("\\N")) return { part: characters(not(range(10, 10))) };
    if (this.#take("\\O")) return { part: characters(anything) };
    const { code, end } = readCharacter(this.source, this.#at);
    this.#at = end;
    return this.#literal(String.fromCodePoint(code));
  }

  #group(): Item | undefined {
    const before = this.#options;
    const make = this.#groupKind();
    if (make === undefined) {
      // (?i) holds to the end of the group that it stands in, other options of a choice included
      const part = this.#choice();
      this.#options = before;
      return { part };
    }
    const part = this.#choice();
    if (!this.#take(")")) throw new InvalidPattern("a group has no end");
    this.#options = before;
    return { part: make(part) };
  }

  /** What a group makes of its part; undefined for options without a group of their own. */
  #groupKind(): ((part: OnigPart) => OnigPart) | undefined {
    const look = this.#matches(/\?(<?)([=!])/y);
    if (look !== undefined) {
      const [, behind, sign] = look;
      return (part) => ({ kind: "look", part, isBehind: behind === "<", isNegated: sign === "!" });
    }
    if (this.#take("?>")) return (part) => ({ kind: "atomic", part });
    if (this.#take("?:")) return (part) => part;
    if (this.#matches(/\?<[\p{L}_][\p{L}\p{N}_]*>/uy) !== undefined) return (part) => part;
    const [text, on, off, end] = this.#matches(/\?([imx]*)(?:-([imx]*))?([:)])/y) ?? [];
    if (text !== undefined) {
      const has = (letter: string, was: boolean): boolean => (was || on!.includes(letter)) && !off?.includes(letter);
      this.#options = {
        ignoresCase: has("i", this.#options.ignoresCase),
        dotIsAny: has("m", this.#options.dotIsAny),
        isSpaced: has("x", this.#options.isSpaced),
      };
      return end === ":" ? (part) => part : undefined;
    }
    if (this.#has("?") || this.#has("*"))
      throw new UnknownSyntax(`it has (${this.source.slice(this.#at, this.#at + 3)}`);
    return (part) => part;
  }
}

/** Where characters in a row are the same as one (ss and ß), that one is allowed too. */
function joinedWhereFolded(items: readonly Item[]): OnigPart[] {
  const after: OnigPart[][] = [[]]; // from the end: what the items from there on are
  for (let start = items.length - 1; start >= 0; start--) {
    const options: OnigPart[] = [];
    let several = folded(items[start]!.literal ?? "");
    for (let end = start + 1; end < Math.min(items.length, start + MAX_FOLDED); end++) {
      const { literal } = items[end]!;
      if (several === "" || literal === undefined) break;
      several += folded(literal);
      const codes = sameAsSeveral(several);
      const rest = after[items.length - end - 1]!;
      if (codes.length > 0)
        options.push(sequenceOf([characters(either(codes.map((code) => range(code, code)))), ...rest]));
    }
    const plain = [items[start]!.part, ...after.at(-1)!];
    after.push(options.length === 0 ? plain : [choiceOf([sequenceOf(plain), ...options])]);
  }
  return after.at(-1)!;
}
