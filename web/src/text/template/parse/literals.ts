// String literals of templates. Jinja reads them with Python's codecs ASCII (backslashreplace) and unicode_escape.
import { escapedCode } from "../values/python_text.js";

const ESCAPES: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
const DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** The text of a string literal, without its quotes. @throws SyntaxError */
export function stringFrom(source: string): string {
  return source.replace(
    /\\(?:([0-7]{1,3})|([xuU])([0-9a-fA-F]*)|([^]))/gu,
    (all, octal?: string, kind?: string, hex?: string, other?: string) => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      if (kind !== undefined) return codePoint(kind, hex!);
      if (other === "N")
        throw new SyntaxError("a character by its name (\\N{…}) is not supported: write the character");
      const known = ESCAPES[other!];
      if (known !== undefined) return known;
      // Python has turned the character into an escape before it reads the backslash
      return other! > "\x7f" ? escapedCode(other!) : all;
    },
  );
}

function codePoint(kind: string, hex: string): string {
  const count = DIGITS[kind]!;
  if (hex.length < count) throw new SyntaxError(`truncated \\${kind} escape in a string`);
  const code = Number.parseInt(hex.slice(0, count), 16);
  if (code > 0x10ffff) throw new SyntaxError("illegal Unicode character in a string");
  if (code >= 0xd800 && code < 0xe000)
    throw new SyntaxError(
      "half of a surrogate pair in a string is not supported: write the character, or \\U and its code",
    );
  return String.fromCodePoint(code) + hex.slice(count);
}
