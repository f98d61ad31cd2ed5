// Escapes in Python's strings (The Python Language Reference, section 2.5).

const SIMPLE: Readonly<Record<string, string>> = {
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
/** Hexadecimal digits after `\x`, `\u` and `\U`. */
const DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** What readers of strings do differently. */
export interface EscapeRules {
  /** Refuses an escape for a reason: one that Python refuses, or a name in `\N{…}`. */
  readonly fail: (reason: string) => never;
  /** What a backslash before another character means. Python keeps both. */
  readonly other: (all: string, character: string) => string;
  /** Checks a code that isn't a character: half of a surrogate pair. */
  readonly half?: () => void;
}

/** The text of a string, without its quotes. */
export function unescapedPython(text: string, { fail, other, half }: EscapeRules): string {
  return text.replace(
    /\\(?:([0-7]{1,3})|([xuU])([0-9a-fA-F]*)|([^]))/gu,
    (all, octal?: string, kind?: string, hex?: string, character?: string) => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      if (kind === undefined) {
        if (character === "N") fail("a character by its name (\\N{…}) is not supported: write the character");
        return SIMPLE[character!] ?? other(all, character!);
      }
      const count = DIGITS[kind]!;
      if (hex!.length < count) fail(`truncated \\${kind} escape in a string`);
      const code = Number.parseInt(hex!.slice(0, count), 16);
      if (code > 0x10ffff) fail("illegal Unicode character in a string");
      if (code >= 0xd800 && code < 0xe000) half?.();
      return String.fromCodePoint(code) + hex!.slice(count);
    },
  );
}
