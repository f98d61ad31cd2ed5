// Reads grammars in GBNF, the format of llama.cpp. Its own parser is C++, and no library on npm reads the whole format.
import { fail } from "../../core/base/errors.js";
import {
  ANY_CHARACTER,
  choiceOf,
  type Expression,
  type Grammar,
  mergeRanges,
  otherRanges,
  type Range,
  repeat,
  ROOT,
  rule,
  sequenceOf,
  set,
  text,
} from "./expression.js";
import { spend } from "./work.js";

/** Parentheses inside each other. */
const MAX_NESTED = 200;

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  "\\": "\\",
  '"': '"',
  "[": "[",
  "]": "]",
};

/** @throws INVALID_ARGUMENT (format.grammar), with line and column */
export function readGbnf(source: string): Grammar {
  spend(2 * source.length);
  return new GbnfReader(source).read();
}

class GbnfReader {
  readonly #source: string;
  #at = 0;
  #depth = 0;
  /** Where each rule is first used, for the message about one that is missing. */
  readonly #uses = new Map<string, number>();

  constructor(source: string) {
    this.#source = source;
  }

  read(): Grammar {
    const rules = new Map<string, Expression>();
    this.#space(true);
    while (this.#at < this.#source.length) {
      const start = this.#at;
      const name = this.#name();
      if (name === "") this.#fail("expected the name of a rule");
      this.#space(false);
      if (!this.#take("::=")) this.#fail("expected ::= after the name of a rule");
      if (rules.has(name)) this.#fail(`the rule ${name} is there twice`, start);
      this.#space(true);
      rules.set(name, this.#alternates());
      if (this.#at < this.#source.length && !/[\n\r]/.test(this.#source[this.#at]!))
        this.#fail("expected the end of the line: parentheses hold lines together");
      this.#space(true);
    }
    if (!rules.has(ROOT)) this.#fail("there is no rule root, with which a grammar starts", 0);
    for (const [name, at] of this.#uses) if (!rules.has(name)) this.#fail(`there is no rule ${name}`, at);
    return rules;
  }

  #alternates(): Expression {
    const options = [this.#sequence()];
    while (this.#bar()) {
      this.#space(true);
      options.push(this.#sequence());
    }
    return choiceOf(options);
  }

  /** Takes a `|`, which may stand at the start of the next line. */
  #bar(): boolean {
    const start = this.#at;
    this.#space(true);
    if (this.#take("|")) return true;
    this.#at = start;
    return false;
  }

  #sequence(): Expression {
    const parts: Expression[] = [];
    for (let part = this.#part(); part !== undefined; part = this.#part()) {
      parts.push(this.#repeated(part));
      this.#space(this.#depth > 0);
    }
    return sequenceOf(parts);
  }

  /** The next element; undefined at the end of a sequence. */
  #part(): Expression | undefined {
    if (this.#take('"')) return this.#literal();
    if (this.#take("[")) return this.#class();
    if (this.#take("(")) return this.#group();
    if (this.#take(".")) return set(ANY_CHARACTER);
    if (/^!?</.test(this.#source.slice(this.#at, this.#at + 2)))
      this.#fail("tokens such as <[123]> can't be used; write their text");
    const start = this.#at;
    const name = this.#name();
    if (name === "") return undefined;
    if (!this.#uses.has(name)) this.#uses.set(name, start);
    return rule(name);
  }

  #group(): Expression {
    if (++this.#depth > MAX_NESTED) this.#fail("parentheses are nested too deeply");
    this.#space(true);
    const inside = this.#alternates();
    this.#space(true);
    if (!this.#take(")")) this.#fail("expected )");
    this.#depth -= 1;
    return inside;
  }

  #literal(): Expression {
    let characters = "";
    while (!this.#take('"')) characters += String.fromCodePoint(this.#character("the closing quote of a text"));
    return text(characters);
  }

  #class(): Expression {
    const isNegated = this.#take("^");
    const ranges: Range[] = [];
    while (!this.#take("]")) {
      const first = this.#character("the ] of a set");
      const isRange = this.#source[this.#at] === "-" && this.#source[this.#at + 1] !== "]";
      if (isRange) this.#at += 1;
      const last = isRange ? this.#character("the end of a range") : first;
      if (last < first) this.#fail("a range must not end before its start");
      ranges.push([first, last]);
    }
    const merged = mergeRanges(ranges);
    return set(isNegated ? otherRanges(merged) : merged);
  }

  /** The code point of a character or an escape. */
  #character(wanted: string): number {
    const character = this.#source.codePointAt(this.#at);
    if (character === undefined || character === 10) this.#fail(`expected ${wanted}`);
    if (character !== 0x5c) {
      this.#at += character > 0xffff ? 2 : 1;
      return character;
    }
    const [escape, x, u, U] =
      /^\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|.)/s.exec(
        this.#source.slice(this.#at, this.#at + 10),
      ) ?? [];
    const hex = x ?? u ?? U;
    const point = hex === undefined ? ESCAPES[escape?.[1] ?? ""]?.codePointAt(0) : Number.parseInt(hex, 16);
    if (point === undefined || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      this.#fail('unknown escape, the known ones are \\n \\r \\t \\\\ \\" \\[ \\] \\x41 \\u0041 \\U00000041');
    this.#at += escape!.length;
    return point;
  }

  #repeated(part: Expression): Expression {
    let whole = part;
    for (;;) {
      this.#space(this.#depth > 0);
      if (this.#take("*")) whole = repeat(whole, 0);
      else if (this.#take("+")) whole = repeat(whole, 1);
      else if (this.#take("?")) whole = repeat(whole, 0, 1);
      else if (this.#source[this.#at] === "{") whole = repeat(whole, ...this.#limits());
      else return whole;
    }
  }

  #limits(): [number, number] {
    const [all, least, comma, most] =
      /^\{\s*(\d{0,6})\s*(,?)\s*(\d{0,6})\s*\}/.exec(this.#source.slice(this.#at, this.#at + 100)) ?? [];
    if (all === undefined || (least === "" && most === "")) this.#fail("expected {2}, {2,}, {,5} or {2,5}");
    const from = Number(least);
    const to = comma === "" ? from : most === "" ? Infinity : Number(most);
    if (to < from) this.#fail("a repeat must not end before its start");
    this.#at += all.length;
    return [from, to];
  }

  #name(): string {
    const [name] = /^[a-zA-Z][a-zA-Z0-9_-]*/.exec(this.#source.slice(this.#at, this.#at + 200)) ?? [""];
    this.#at += name.length;
    return name;
  }

  #take(wanted: string): boolean {
    if (!this.#source.startsWith(wanted, this.#at)) return false;
    this.#at += wanted.length;
    return true;
  }

  /** Skips spaces and comments, and the ends of lines too if they mean nothing. */
  #space(withLines: boolean): void {
    const space = withLines ? /(?:\s|#[^\n\r]*)*/y : /(?:[ \t]|#[^\n\r]*)*/y;
    space.lastIndex = this.#at;
    this.#at += space.exec(this.#source)?.[0].length ?? 0;
  }

  #fail(message: string, at = this.#at): never {
    const lines = this.#source.slice(0, at).split("\n");
    const column = (lines[lines.length - 1]?.length ?? 0) + 1;
    fail("INVALID_ARGUMENT", "format.grammar", `line ${lines.length}, column ${column}: ${message}`);
  }
}
