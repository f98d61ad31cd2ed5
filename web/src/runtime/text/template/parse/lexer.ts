// Splits a template into text and the tokens of its tags, as jinja2/lexer.py does with trim_blocks and lstrip_blocks. Takes linear time.
import { stringFrom } from "./literals.js";
import { Float, integerFrom } from "../values/numbers.js";
import { SPACE, strip } from "../values/whitespace.js";
import type { Value } from "../values/values.js";

/** Far above any template of a released model, which have up to 30,000 characters. */
const MAX_CHARACTERS = 1 << 20;

/** A token: text between tags, the start or end of a tag, a name, a literal, or an operator, whose type is its text. */
export interface Token {
  readonly type: string;
  /** The text between tags, a name, or the token as it is written. */
  readonly text: string;
  /** Where it starts. */
  readonly at: number;
  /** The value of a literal. */
  readonly value?: Value;
}

const OPENINGS: Readonly<Record<string, string>> = { "{{": "variable_begin", "{%": "block_begin" };
const CLOSED_BY: Readonly<Record<string, string>> = { "{": "}", "(": ")", "[": "]" };

const RAW = new RegExp(`\\{%[-+]?[${SPACE}]*raw[${SPACE}]*-?%\\}`, "y");
const END_OF_RAW = new RegExp(`\\{%([-+]?)[${SPACE}]*endraw[${SPACE}]*([-+]?)%\\}`, "y");
const SPACES = new RegExp(`[${SPACE}]*`, "y");
const NUMBER = /\d+(?:_\d+)*(\.\d+(?:_\d+)*)?(e[-+]?\d+(?:_\d+)*)?/iy;
const INTEGER = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy;
const WORD = /[\p{XID_Continue}\p{L}\p{N}]+/uy;
const IDENTIFIER = /^[\p{XID_Start}_]\p{XID_Continue}*$/u;
const OPERATOR = /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}><=.:|,;]/y;

/** The line of a position. */
export function lineAt(source: string, at: number): number {
  let line = 1;
  for (let end = source.indexOf("\n"); end >= 0 && end < at; end = source.indexOf("\n", end + 1)) line += 1;
  return line;
}

/** A template as Jinja reads it: its line ends are \n, and one at the end is left out. */
export function normalized(template: string): string {
  const source = template.replace(/\r\n?/g, "\n");
  return source.endsWith("\n") ? source.slice(0, -1) : source;
}

/** The tokens of a template. @throws SyntaxError */
export function tokensOf(source: string): Token[] {
  if (source.length > MAX_CHARACTERS)
    throw new SyntaxError(`it has ${source.length} characters, and the limit is ${MAX_CHARACTERS}`);
  return new Lexer(source).run();
}

/** The texts of a template: between its tags, and in quotes. */
export function textsOf(template: string): string[] {
  return tokensOf(normalized(template)).flatMap(({ type, text, value }) => {
    if (type === "data") return [text];
    return type === "string" ? [value as string] : [];
  });
}

class Lexer {
  readonly #tokens: Token[] = [];
  #at = 0;
  /** Whether what was read last ends a line, so that whitespace before a tag is at the start of one. */
  #startsLine = true;

  constructor(readonly source: string) {}

  run(): Token[] {
    const { source } = this;
    while (this.#at < source.length) {
      const start = this.#startOfTag();
      const opening = source.slice(start, start + 2);
      const sign = this.#signAt(start + 2);
      this.#text(start, sign, opening !== "{{");
      if (opening === "") break;
      if (opening === "{%" && this.#matches(RAW, start) !== undefined) {
        this.#raw(start);
        continue;
      }
      this.#at = start + 2 + sign.length;
      if (opening === "{#") {
        this.#comment();
      } else {
        this.#push(OPENINGS[opening]!, opening, start);
        this.#tag(opening);
      }
    }
    this.#push("eof", "", source.length);
    return this.#tokens;
  }

  #push(type: string, text: string, at: number, value?: Value): void {
    this.#tokens.push(value === undefined ? { type, text, at } : { type, text, at, value });
  }

  #fail(message: string, at: number): never {
    throw new SyntaxError(`${message} (line ${lineAt(this.source, at)})`);
  }

  #matches(pattern: RegExp, at: number): RegExpExecArray | undefined {
    pattern.lastIndex = at;
    return pattern.exec(this.source) ?? undefined;
  }

  #signAt(at: number): string {
    const sign = this.source.charAt(at);
    return sign === "-" || sign === "+" ? sign : "";
  }

  #startOfTag(): number {
    const { source } = this;
    for (let at = source.indexOf("{", this.#at); at >= 0; at = source.indexOf("{", at + 1)) {
      if ("{%#".includes(source.charAt(at + 1) || " ")) return at;
    }
    return source.length;
  }

  /** Adds the text up to a tag, without the whitespace that the tag trims. */
  #text(end: number, sign: string, isBlock: boolean): void {
    const { source } = this;
    const start = this.#at;
    let text = source.slice(start, end);
    if (end < source.length) {
      if (sign === "-") {
        text = strip(text, "right");
      } else if (sign === "" && isBlock) {
        const line = text.lastIndexOf("\n") + 1;
        if ((line > 0 || this.#startsLine) && strip(text.slice(line)) === "") text = text.slice(0, line);
      }
    }
    if (text !== "") this.#push("data", text, start);
  }

  /** Ends a tag or comment at `end`. */
  #endAt(end: number, sign: string, trimsLine: boolean): void {
    let at = end;
    if (sign === "-") at += this.#matches(SPACES, at)![0].length;
    else if (sign === "" && trimsLine && this.source[at] === "\n") at += 1;
    this.#startsLine = this.source[at - 1] === "\n";
    this.#at = at;
  }

  #comment(): void {
    const end = this.source.indexOf("#}", this.#at);
    if (end < 0) this.#fail("Missing end of comment tag", this.#at);
    this.#endAt(end + 2, end > this.#at ? this.#signAt(end - 1) : "", true);
  }

  #raw(start: number): void {
    const { source } = this;
    const opening = this.#matches(RAW, start)![0];
    this.#endAt(start + opening.length, opening.endsWith("-%}") ? "-" : "", false);
    for (let at = source.indexOf("{%", this.#at); at >= 0; at = source.indexOf("{%", at + 1)) {
      const match = this.#matches(END_OF_RAW, at);
      if (match === undefined) continue;
      this.#text(at, match[1]!, true);
      this.#endAt(at + match[0].length, match[2]!, true);
      return;
    }
    this.#fail("Missing end of raw directive", start);
  }

  #tag(opening: string): void {
    const { source } = this;
    const isBlock = opening === "{%";
    const ending = isBlock ? "%}" : "}}";
    const open: string[] = [];
    for (;;) {
      this.#at += this.#matches(SPACES, this.#at)![0].length;
      const at = this.#at;
      if (at >= source.length) return;
      if (open.length === 0) {
        const sign = source.startsWith(ending, at + 1) ? this.#signAt(at) : "";
        if (sign === "-" || (sign === "+" && isBlock) || source.startsWith(ending, at)) {
          this.#push(isBlock ? "block_end" : "variable_end", ending, at);
          this.#endAt(at + sign.length + 2, sign, isBlock);
          return;
        }
      }
      this.#at += this.#token(at, open);
    }
  }

  /** Adds the token at a position, and returns its length. */
  #token(at: number, open: string[]): number {
    const character = this.source.charAt(at);
    if (character === "'" || character === '"') return this.#string(at, character);
    if (character >= "0" && character <= "9") return this.#number(at);
    const word = this.#matches(WORD, at)?.[0];
    if (word !== undefined) {
      if (!IDENTIFIER.test(word)) this.#fail("Invalid character in identifier", at);
      this.#push("name", word, at);
      return word.length;
    }
    const operator = this.#matches(OPERATOR, at)?.[0];
    if (operator === undefined) this.#fail(`unexpected char '${character}'`, at);
    const closing = CLOSED_BY[operator];
    if (closing !== undefined) open.push(closing);
    if (")]}".includes(operator)) {
      const expected = open.pop();
      if (expected !== operator)
        this.#fail(`unexpected '${operator}'${expected === undefined ? "" : `, expected '${expected}'`}`, at);
    }
    this.#push(operator, operator, at);
    return operator.length;
  }

  #string(start: number, quote: string): number {
    const { source } = this;
    let hasEscapes = false;
    for (let at = start + 1; at < source.length; at++) {
      const character = source[at];
      if (character === quote) {
        const text = source.slice(start + 1, at);
        try {
          this.#push("string", "string", start, hasEscapes ? stringFrom(text) : text);
        } catch (error) {
          this.#fail((error as Error).message, start);
        }
        return at + 1 - start;
      }
      if (character === "\\") {
        hasEscapes = true;
        at += 1;
      }
    }
    this.#fail(`unexpected char ${quote}: a string has no end`, start);
  }

  #number(at: number): number {
    const [text, fraction, exponent] = this.#matches(NUMBER, at)!;
    if ((fraction !== undefined || exponent !== undefined) && this.source[at - 1] !== ".") {
      const number = Number(text.replaceAll("_", ""));
      if (!Number.isFinite(number)) this.#fail("a number that is too large for a float is not supported", at);
      this.#push("float", text, at, new Float(number));
      return text.length;
    }
    const digits = this.#matches(INTEGER, at)![0];
    try {
      this.#push("integer", digits, at, integerFrom(digits.replaceAll("_", "")));
    } catch (error) {
      this.#fail((error as Error).message, at);
    }
    return digits.length;
  }
}
