// Reads strings as Python does (The Python Language Reference, section 2.5).

/** The text isn't a Python literal, or its end is missing. */
export class NotPython extends Error {
  /** @param isCut - whether more text may complete it */
  constructor(readonly isCut: boolean) {
    super("not a Python literal");
  }
}

const BEGIN = /(?<prefix>[rRuU]?)(?<quote>"""|'''|"|')/y;
const SIMPLE: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
/** Hexadecimal digits after `\x`, `\u` and `\U`. */
const DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** Whether a string may begin here. */
export function isStringAt(text: string, at: number): boolean {
  BEGIN.lastIndex = at;
  return BEGIN.test(text);
}

/**
 * The string that begins here. A line break in single quotes, which Python refuses, is part of it: models write some.
 * @throws NotPython
 */
export function stringAt(text: string, at: number): { value: string; end: number } {
  BEGIN.lastIndex = at;
  const { prefix, quote } = BEGIN.exec(text)!.groups as { prefix: string; quote: string };
  const begin = BEGIN.lastIndex;
  const end = endQuote(text, begin, quote);
  const written = text.slice(begin, end).replace(/\r\n?/g, "\n"); // as in source files
  const value = prefix.toLowerCase() === "r" ? written : unescaped(written);
  return { value, end: end + quote.length };
}

/** Where the quote that ends a string is. */
export function endQuote(text: string, begin: number, quote: string): number {
  for (let at = begin; at < text.length; at++) {
    if (text[at] === "\\") at += 1;
    else if (text.startsWith(quote, at)) return at;
  }
  throw new NotPython(true);
}

/** @throws NotPython: an escape that Python refuses, or a name in `\N{…}` */
export function unescaped(text: string): string {
  return text.replace(/\\([0-7]{1,3}|[xuU][0-9a-fA-F]{0,8}|[^])/g, (all: string, escape: string) => {
    if (/^[0-7]/.test(escape)) return String.fromCodePoint(parseInt(escape, 8));
    const length = DIGITS[escape[0]!];
    if (length !== undefined) {
      const digits = escape.slice(1, length + 1);
      const code = parseInt(digits, 16);
      if (digits.length < length || code > 0x10ffff) throw new NotPython(false);
      return String.fromCodePoint(code) + escape.slice(length + 1);
    }
    if (escape === "N") throw new NotPython(false);
    return SIMPLE[escape] ?? all; // Python keeps the backslash of others
  });
}
