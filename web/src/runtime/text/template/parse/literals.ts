// String literals of templates. Jinja reads them with Python's codecs ASCII (backslashreplace) and unicode_escape.
import { type EscapeRules, unescapedPython } from "../values/python_escapes.js";
import { escapedCode } from "../values/python_text.js";

const RULES: EscapeRules = {
  fail: (reason) => {
    throw new SyntaxError(reason);
  },
  // Python has turned the character into an escape before it reads the backslash
  other: (all, character) => (character > "\x7f" ? escapedCode(character) : all),
  half: () => {
    throw new SyntaxError(
      "half of a surrogate pair in a string is not supported: write the character, or \\U and its code",
    );
  },
};

/** The text of a string literal, without its quotes. @throws SyntaxError */
export function stringFrom(source: string): string {
  return unescapedPython(source, RULES);
}
