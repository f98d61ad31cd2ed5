// Characters that a pattern of Oniguruma writes with a backslash.
import { UnknownSyntax } from "./parse.js";

const CONTROLS: Readonly<Record<string, number>> = { t: 9, v: 11, n: 10, r: 13, f: 12, a: 7, e: 27 };

const ESCAPE =
  /\\(?:x\{([0-9a-fA-F]{1,8})\}|x([0-9a-fA-F]{0,2})|u([0-9a-fA-F]{4})|(0[0-7]{0,2})|(?:c|C-)([@-_a-z])|([tvnrfae])|([^a-zA-Z0-9]))/uy;

/** The character of the escape at a position, and where that ends. @throws UnknownSyntax */
export function readCharacter(source: string, at: number): { code: number; end: number } {
  ESCAPE.lastIndex = at;
  const found = ESCAPE.exec(source);
  if (found === null) throw new UnknownSyntax(`it has ${source.slice(at, at + 3)}`);
  const [text, braced, byte, unit, octal, control, letter, other] = found;
  const hexadecimal = braced ?? byte ?? unit;
  const code =
    hexadecimal !== undefined
      ? Number.parseInt(`0${hexadecimal}`, 16)
      : octal !== undefined
        ? Number.parseInt(octal, 8)
        : control !== undefined
          ? control.toUpperCase().charCodeAt(0) & 0x1f
          : letter !== undefined
            ? CONTROLS[letter]!
            : other!.codePointAt(0)!;
  // \x80 to \xff would be bytes
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || (byte !== undefined && code > 0x7f))
    throw new UnknownSyntax(`it has ${text}`);
  return { code, end: at + text.length };
}
