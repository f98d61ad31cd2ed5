// Sets of characters by the names that Oniguruma has for them, with the classes of one version of Unicode where runs.ts has them.
import { withFixedClasses, WORD_CHARACTERS } from "../unicode/classes.js";
import { UnknownSyntax } from "./parse.js";

/** Whether a character is in a set. */
export type Contains = (codePoint: number) => boolean;

export const not =
  (set: Contains): Contains =>
  (code) =>
    !set(code);
export const either = (sets: readonly Contains[]): Contains =>
  sets.length === 1 ? sets[0]! : (code) => sets.some((set) => set(code));
export const both =
  (first: Contains, second: Contains): Contains =>
  (code) =>
    first(code) && second(code);
export const range =
  (from: number, to: number): Contains =>
  (code) =>
    code >= from && code <= to;
export const anything: Contains = () => true;

/** Asks a set about each character of the basic plane once. */
export function remembered(set: Contains): Contains {
  const answers = new Uint8Array(0x10000); // 0 not asked yet, 1 no, 2 yes
  return (code) => {
    if (code > 0xffff) return set(code);
    const answer = answers[code]!;
    if (answer !== 0) return answer === 2;
    const isIn = set(code);
    answers[code] = isIn ? 2 : 1;
    return isIn;
  };
}

const sets = new Map<string, Contains>();

/** The characters of a set that is written as between [ and ] in JavaScript. */
function written(source: string): Contains {
  const known = sets.get(source);
  if (known !== undefined) return known;
  const expression = new RegExp(withFixedClasses(`^[${source}]$`), "u");
  const set = remembered((code) => expression.test(String.fromCodePoint(code)));
  sets.set(source, set);
  return set;
}

const WORD_IN_BRACKETS = WORD_CHARACTERS.replace("\\p{Join_Control}", "");

/** \w: six numbers of Latin-1 are words for it, but not between brackets. */
const WORD = `${WORD_IN_BRACKETS}\\xb2\\xb3\\xb9\\xbc-\\xbe`;

/** The sets of \d, \h, \s and \w. */
export const shorthand = (letter: string, isInBrackets = false): Contains =>
  written({ d: "\\p{Nd}", h: "0-9A-Fa-f", s: "\\s", w: isInBrackets ? WORD_IN_BRACKETS : WORD }[letter]!);

/** A line end for \R. */
export const lineEnd = written("\\n-\\r\\x85\\u2028\\u2029");

const BRACKETS: Readonly<Record<string, string>> = {
  alnum: "\\p{Alphabetic}\\p{Nd}",
  alpha: "\\p{Alphabetic}",
  ascii: "\\0-\\x7f",
  blank: "\\t\\p{Zs}",
  cntrl: "\\p{Cc}",
  digit: "\\p{Nd}",
  graph: "^\\s\\p{Cc}\\p{Cn}\\p{Cs}",
  lower: "\\p{Lowercase}",
  print: "^\\p{Cc}\\p{Cn}\\p{Cs}\\u2028\\u2029",
  punct: "\\p{P}\\p{S}",
  space: "\\s",
  upper: "\\p{Uppercase}",
  word: WORD_IN_BRACKETS,
  xdigit: "0-9A-Fa-f",
};

/** The set of [[:name:]]. @throws UnknownSyntax */
export function bracketClass(name: string): Contains {
  const source = Object.hasOwn(BRACKETS, name) ? BRACKETS[name] : undefined;
  if (source === undefined) throw new UnknownSyntax(`it has the unknown class [:${name}:]`);
  return written(source);
}

/** General categories by the long names that JavaScript writes in another way, and sets that have a name of their own. */
const PROPERTIES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(BRACKETS).filter(([name]) => name !== "punct" && name !== "word")),
  any: "\\0-\\u{10ffff}",
  assigned: "^\\p{Cn}",
  letter: "\\p{L}",
  mark: "\\p{M}",
  number: "\\p{N}",
  punct: "\\p{P}",
  punctuation: "\\p{P}",
  separator: "\\p{Z}",
  symbol: "\\p{S}",
  whitespace: "\\s",
  word: WORD,
};

/** The set of \p{name}. Oniguruma ignores case, spaces, - and _ in names. @throws UnknownSyntax */
export function property(name: string): Contains {
  const plain = name.replace(/[-_ ]/g, "").toLowerCase();
  if (Object.hasOwn(PROPERTIES, plain)) return written(PROPERTIES[plain]!);
  const words = name.split(/[-_ ]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase());
  const titled = words.join("_");
  const isName = /^\w+$/.test(titled) && plain !== "";
  for (const form of isName ? [titled, name, `Script=${titled}`, `Script=${name}`] : []) {
    try {
      return written(`\\p{${form}}`);
    } catch {
      continue;
    }
  }
  throw new UnknownSyntax(`it has the unknown class \\p{${name}}`);
}
