// Parses a class of characters of Oniguruma: [a-z], with classes inside of it, intersections, and names.
import { both, bracketClass, type Contains, either, not, property, range, shorthand } from "./characters.js";
import { readCharacter } from "./escapes.js";
import { MAX_NESTED, UnknownSyntax } from "./parse.js";

/** A class of characters. */
export interface CharacterClass {
  /** What is between the brackets, or what isn't where they begin with ^. Classes inside of it don't ignore case. */
  readonly listed: Contains;
  readonly isNegated: boolean;
}

const nothing: Contains = () => false;
const NAME = /\[:(\^?)([a-z]+):\]/y;
const PROPERTY = /\\([pP])\{(\^?)([^}]*)\}/y;

/** @throws UnknownSyntax */
export function readCharacterClass(source: string, from: number, depth = 0): { set: CharacterClass; end: number } {
  if (depth > MAX_NESTED) throw new UnknownSyntax("it is nested too deeply");
  let at = from + 1;
  const isNegated = source[at] === "^";
  if (isNegated) at += 1;
  let whole: Contains | undefined; // what is before the last &&
  let sets: Contains[] = [];
  const first = at;

  for (;;) {
    if (at >= source.length) throw new UnknownSyntax("a class of characters has no end");
    if (source[at] === "]" && (at > first || !source.slice(at + 1).includes("]"))) {
      if (at === first) throw new UnknownSyntax("a class of characters is empty");
      break;
    }
    if (source.startsWith("&&", at)) {
      at += 2;
      whole = intersection();
      sets = [];
      continue;
    }
    const named = nameAt();
    if (named !== undefined) {
      sets.push(named);
      continue;
    }
    if (source[at] === "[") {
      const inner = readCharacterClass(source, at, depth + 1);
      at = inner.end;
      sets.push(inner.set.isNegated ? not(inner.set.listed) : inner.set.listed);
      continue;
    }
    const start = character();
    const isRange = source[at] === "-" && source[at + 1] !== "]" && at + 1 < source.length;
    if (isRange && !/^-(?:\[|\\[pPdDsSwWhH]|&&)/.test(source.slice(at, at + 3))) {
      at += 1;
      const end = character();
      if (end < start) throw new UnknownSyntax("a range of characters is empty");
      sets.push(range(start, end));
    } else if (isRange) throw new UnknownSyntax(`it has ${source.slice(at, at + 3)} in a class of characters`);
    else sets.push(range(start, start));
  }

  return { set: { listed: intersection(), isNegated }, end: at + 1 };

  function intersection(): Contains {
    const last = sets.length === 0 ? nothing : either(sets);
    return whole === undefined ? last : both(whole, last);
  }

  /** A set with a name. */
  function nameAt(): Contains | undefined {
    NAME.lastIndex = at;
    const [bracket, caret, name] = NAME.exec(source) ?? [];
    if (bracket !== undefined) {
      at += bracket.length;
      return caret === "^" ? not(bracketClass(name!)) : bracketClass(name!);
    }
    PROPERTY.lastIndex = at;
    const [text, kind, hat, title] = PROPERTY.exec(source) ?? [];
    if (text !== undefined) {
      at += text.length;
      return (kind === "P") !== (hat === "^") ? not(property(title!)) : property(title!);
    }
    const [, letter] = /^\\([dDsSwWhH])/.exec(source.slice(at, at + 2)) ?? [];
    if (letter === undefined) return undefined;
    at += 2;
    const set = shorthand(letter.toLowerCase(), true);
    return /[a-z]/.test(letter) ? set : not(set);
  }

  function character(): number {
    if (source[at] === "\\") {
      if (source[at + 1] === "b") {
        at += 2;
        return 8;
      }
      const { code, end } = readCharacter(source, at);
      at = end;
      return code;
    }
    const code = source.codePointAt(at)!;
    at += code > 0xffff ? 2 : 1;
    return code;
  }
}
