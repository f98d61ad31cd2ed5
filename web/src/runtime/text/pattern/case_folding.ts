// Which characters are the same where a pattern ignores case, as in Oniguruma: by Unicode's folding, in which one may be the same as several.
import type { Contains } from "./characters.js";

interface Folding {
  /** Characters that are the same as one, without itself. */
  readonly others: ReadonlyMap<number, readonly number[]>;
  /** Characters that are the same as several (ß and ss), by those. */
  readonly long: ReadonlyMap<string, readonly number[]>;
}

let folding: Folding | undefined;

/** U+0131, the dotless i, is the same as no other, though its capital letter is I. */
const DOTLESS_I = 0x131;

function foldingOf(): Folding {
  if (folding !== undefined) return folding;
  const classes = new Map<string, number[]>();
  const long = new Map<string, number[]>();
  const add = (map: Map<string, number[]>, key: string, code: number): void => {
    const members = map.get(key);
    if (members === undefined) map.set(key, [code]);
    else members.push(code);
  };
  for (let code = 0; code < 0x1f000; code++) {
    if (code === 0xd800) code = 0xe000;
    const character = String.fromCodePoint(code);
    const [lower, upper] = [character.toLowerCase(), character.toUpperCase()];
    if (lower === character && upper === character) continue;
    const folded = upper.toLowerCase();
    if (length(upper) > 1) add(long, folded, code);
    else if (length(lower) > 1) add(long, lower, code);
    // all that are the same as several characters are the same as each other (U+0390 and U+1FD3)
    const [first = code] = long.get(folded) ?? [];
    add(classes, code === DOTLESS_I ? lower : length(folded) > 1 ? String.fromCodePoint(first) : folded, code);
    // a small letter with the capital sharp s in its class
    if (character === "ẞ") add(long, "ss", code);
  }
  const others = new Map<number, readonly number[]>();
  for (const members of classes.values())
    for (const code of members)
      if (members.length > 1)
        others.set(
          code,
          members.filter((other) => other !== code),
        );
  folding = { others, long };
  return folding;
}

const length = (text: string): number => Array.from(text).length;

/** The characters of a set, and those that are the same as one of it. */
export function ignoringCase(set: Contains): Contains {
  const { others } = foldingOf();
  return (code) => set(code) || (others.get(code)?.some(set) ?? false);
}

/** The characters that are the same as this text of several, which is folded. */
export function sameAsSeveral(text: string): readonly number[] {
  return foldingOf().long.get(text) ?? [];
}

/** The folded texts of several characters that are the same as one in the set. */
export function severalFor(set: Contains): string[] {
  return [...foldingOf().long].flatMap(([text, codes]) => (codes.some(set) ? [text] : []));
}

/** Most characters that are the same as one. */
export const MAX_FOLDED = 3;

/** A character as it is compared. */
export function folded(character: string): string {
  const lower = character.toUpperCase().toLowerCase();
  return character.codePointAt(0) === DOTLESS_I || length(lower) > 1 ? character.toLowerCase() : lower;
}
