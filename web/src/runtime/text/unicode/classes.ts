// Classes of characters in regular expressions. They are those of one version of Unicode, whatever version the engine has.
import { CATEGORY_RUNS, HAN_RUNS } from "./runs.js";

/** The letters of runs.ts for each class. */
const LETTERS: Readonly<Record<string, string>> = {
  L: "ABCDE",
  Lu: "A",
  Ll: "B",
  Lt: "C",
  Lm: "D",
  Lo: "E",
  M: "FG",
  Mn: "F",
  N: "HI",
  Nd: "H",
  P: "J",
  S: "K",
};
const LONG_NAMES: Readonly<Record<string, string>> = {
  Letter: "L",
  Lowercase_Letter: "Ll",
  Uppercase_Letter: "Lu",
  Mark: "M",
  Number: "N",
  Decimal_Number: "Nd",
  Punctuation: "P",
  Symbol: "S",
};
/** Unicode's White_Space, which doesn't change. JavaScript's \s has U+FEFF too, and lacks U+0085. */
const WHITE_SPACE = "\\t-\\r\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
/** One character of White_Space. */
export const SPACE = new RegExp(`[${WHITE_SPACE}]`, "u");

/**
 * The characters of \w in Rust's regular expressions, as they are written between [ and ]: Unicode's Alphabetic (letters, numbers that are
 * letters, and letters in circles and squares), marks, digits, connectors and joiners.
 */
export const WORD_CHARACTERS =
  "\\p{L}\\p{Nl}\\u24b6-\\u24e9\\u{1f130}-\\u{1f149}\\u{1f150}-\\u{1f169}\\u{1f170}-\\u{1f189}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";

const sources = new Map<string, string>([["White_Space", WHITE_SPACE]]);

/** The characters of a class as they are written between [ and ]; undefined for a class that isn't in runs.ts. */
function charactersOf(name: string): string | undefined {
  const short = LONG_NAMES[name] ?? name.replace(/^(?:Script|sc|General_Category|gc)=/, "");
  const known = sources.get(short);
  if (known !== undefined) return known;
  const isHan = short === "Han";
  const letters = isHan ? "A" : LETTERS[short];
  if (letters === undefined) return undefined;
  const source = rangesOf(isHan ? HAN_RUNS : CATEGORY_RUNS, letters);
  sources.set(short, source);
  return source;
}

/** The characters of some letters of runs.ts or bert_runs.ts, as they are written between [ and ]. */
export function rangesOf(runs: string, letters: string): string {
  const ranges: [number, number][] = [];
  let start = 0;
  for (const [, letter, length] of runs.matchAll(/([A-Z])([0-9a-z]*)/g)) {
    const end = start + (length === "" ? 1 : Number.parseInt(length!, 36));
    const last = ranges.at(-1);
    if (letters.includes(letter!)) {
      if (last?.[1] === start) last[1] = end;
      else ranges.push([start, end]);
    }
    start = end;
  }
  const written = (code: number): string => `\\u{${code.toString(16)}}`;
  return ranges.map(([first, end]) => written(first) + (end - first > 1 ? `-${written(end - 1)}` : "")).join("");
}

/**
 * A regular expression that is computed on its first use. All those of the tokenizers take 8 ms in an engine that has just started (Node 20), and
 * each tokenizer needs few of them.
 */
export function onFirstUse(source: () => string, flags: string): () => RegExp {
  let expression: RegExp | undefined;
  return () => (expression ??= new RegExp(source(), flags));
}

/**
 * Replaces classes such as \p{L} and \s by their characters, in the source of a regular expression with the flag u. Classes that aren't in
 * runs.ts stay as they are, and so do \P{…} and \S inside of brackets.
 */
export function withFixedClasses(source: string): string {
  let isInside = false;
  const pattern = /\\([pP])\{([^}]*)\}|\\([sS])|\\.|[[\]]/gsu;
  return source.replace(pattern, (text, kind?: string, name?: string, space?: string) => {
    if (text === "[") isInside = true;
    if (text === "]") isInside = false;
    const characters = space !== undefined ? WHITE_SPACE : name === undefined ? undefined : charactersOf(name);
    const isNegated = kind === "P" || space === "S";
    if (characters === undefined || (isNegated && isInside)) return text;
    return isInside ? characters : `[${isNegated ? "^" : ""}${characters}]`;
  });
}
