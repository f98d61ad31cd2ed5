// Reads strings as Python does (The Python Language Reference, section 2.5).
import { type EscapeRules, unescapedPython } from "../../../runtime/text/template/values/python_escapes.js";

/** The text isn't a Python literal, or its end is missing. */
export class NotPython extends Error {
  /** @param isCut - whether more text may complete it */
  constructor(readonly isCut: boolean) {
    super("not a Python literal");
  }
}

const BEGIN = /(?<prefix>[rRuU]?)(?<quote>"""|'''|"|')/y;
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

const RULES: EscapeRules = {
  fail: () => {
    throw new NotPython(false);
  },
  other: (all) => all,
};

/** @throws NotPython: an escape that Python refuses, or a name in `\N{…}` */
export function unescaped(text: string): string {
  return unescapedPython(text, RULES);
}
