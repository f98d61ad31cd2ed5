// Reads Python's literals, as ast.literal_eval does, and writes them as JSON as json.dumps does, but with numbers as they are written.
import { parsed } from "./json_stream.js";
import { isStringAt, NotPython, stringAt } from "./python_string.js";

/** As deep as literals may be. */
const MAX_DEPTH = 200;

/** The most characters of a number that is still coming. */
const MAX_NUMBER = 10_000;

const SPACE = /(?:[ \t\f\r\n]|#[^\n]*(?:\n|$)|\\\r?\n)*/y;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const NUMBER =
  /0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|(?:(?:\d(?:_?\d)*)?\.\d(?:_?\d)*|\d(?:_?\d)*\.?)(?:[eE][+-]?\d(?:_?\d)*)?/y;
const NAMES: Readonly<Record<string, string>> = {
  True: "true",
  False: "false",
  None: "null",
  // as JSON has them: models mix both
  true: "true",
  false: "false",
  null: "null",
};

interface Literal {
  readonly json: string;
  readonly kind: "text" | "number" | "signed" | "name" | "group";
  /** What other values it equals in a set or as a key; undefined: it can't be in a set. */
  readonly identity: string | undefined;
}

/** Reads literals one after the other. */
export class PythonReader {
  readonly #text: string;
  at: number;

  constructor(text: string, at = 0) {
    this.#text = text;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#text.length;
  }

  /** The character here; undefined at the end. */
  get next(): string | undefined {
    return this.#text[this.at];
  }

  skipSpace(): void {
    SPACE.lastIndex = this.at;
    SPACE.test(this.#text);
    this.at = SPACE.lastIndex;
  }

  /**
   * The JSON of the literal here.
   * @throws NotPython
   */
  value(depth = 0): Literal {
    if (depth > MAX_DEPTH) throw new NotPython(false);
    this.skipSpace();
    const character = this.next;
    if (character === undefined) throw new NotPython(true);
    if (isStringAt(this.#text, this.at)) return scalar(JSON.stringify(this.#strings()), "text");
    if (character === "[") return listOf(this.#items("]", depth).values);
    if (character === "(") return this.#tuple(depth);
    if (character === "{") return this.#mapping(depth);
    if (character === "+" || character === "-") return this.#signed(depth);
    if (/[\d.]/.test(character)) return scalar(this.#number(), "number");
    return this.#name();
  }

  /** Strings side by side are one. */
  #strings(): string {
    let all = "";
    while (isStringAt(this.#text, this.at)) {
      const { value, end } = stringAt(this.#text, this.at);
      all += value;
      this.at = end;
      this.skipSpace();
    }
    return all;
  }

  #number(): string {
    NUMBER.lastIndex = this.at;
    const written = NUMBER.exec(this.#text)?.[0];
    const end = written === undefined ? this.at : this.at + written.length;
    if (/^[\w.]*(?:[eE][+-]\d*)?$/.test(this.#text.slice(this.at, this.at + MAX_NUMBER))) throw new NotPython(true);
    // a letter makes it a complex number, or none
    if (written === undefined || /[\p{L}\p{N}_]/u.test(this.#text[end]!)) throw new NotPython(false);
    this.at = end;
    return jsonNumber(written);
  }

  #signed(depth: number): Literal {
    const isNegative = this.next === "-";
    this.at += 1;
    this.skipSpace();
    if (this.next === "+" || this.next === "-") throw new NotPython(false);
    const { json, kind } = this.value(depth + 1);
    if (kind !== "number") throw new NotPython(false);
    return scalar(isNegative && json !== "0" ? `-${json}` : json, "signed");
  }

  #name(): Literal {
    NAME.lastIndex = this.at;
    const name = NAME.exec(this.#text)?.[0];
    if (name === undefined) throw new NotPython(false);
    const end = this.at + name.length;
    if (end >= this.#text.length) throw new NotPython(true);
    if (name === "set" && /^[ \t\f\r\n]*\([ \t\f\r\n]*\)/.test(this.#text.slice(end))) {
      this.at = this.#text.indexOf(")", end) + 1;
      return { json: "[]", kind: "group", identity: undefined };
    }
    const json = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
    if (json === undefined) throw new NotPython(false);
    this.at = end;
    return scalar(json, "name");
  }

  /** A tuple, which JSON has as a list, or a value in parentheses. */
  #tuple(depth: number): Literal {
    const { values, endsWithComma } = this.#items(")", depth);
    if (values.length === 1 && !endsWithComma) return values[0]!;
    const parts = values.map(({ identity }) => identity);
    return { ...listOf(values), identity: parts.includes(undefined) ? undefined : `(${parts.join()})` };
  }

  /** Values with commas between them, up to the bracket that closes them. */
  #items(close: string, depth: number): { values: Literal[]; endsWithComma: boolean } {
    const values: Literal[] = [];
    let endsWithComma = false;
    this.at += 1;
    for (;;) {
      this.skipSpace();
      if (this.next === close) {
        this.at += 1;
        return { values, endsWithComma };
      }
      if (values.length > 0 && !endsWithComma) throw new NotPython(this.isAtEnd);
      values.push(this.value(depth + 1));
      endsWithComma = this.#skipComma();
    }
  }

  #skipComma(): boolean {
    this.skipSpace();
    if (this.next !== ",") return false;
    this.at += 1;
    return true;
  }

  /** A dictionary, or a set, which JSON has as a list. */
  #mapping(depth: number): Literal {
    const members = new Map<string, readonly [key: string, value: string]>();
    let isSet: boolean | undefined;
    let endsWithComma = true;
    this.at += 1;
    for (;;) {
      this.skipSpace();
      if (this.next === "}") {
        this.at += 1;
        break;
      }
      if (!endsWithComma) throw new NotPython(this.isAtEnd);
      const key = this.value(depth + 1);
      this.skipSpace();
      if (this.isAtEnd) throw new NotPython(true);
      isSet ??= this.next !== ":";
      const { identity, kind } = key;
      const first = identity === undefined ? undefined : members.get(identity)?.[0];
      if (identity === undefined) throw new NotPython(false);
      if (isSet) members.set(identity, [first ?? key.json, ""]);
      else {
        if (this.next !== ":" || kind === "group") throw new NotPython(false);
        this.at += 1;
        const { json } = this.value(depth + 1);
        members.set(identity, [first ?? (kind === "text" ? key.json : JSON.stringify(key.json)), json]);
      }
      endsWithComma = this.#skipComma();
    }
    const all = [...members.values()];
    const json =
      isSet === true
        ? `[${all.map(([key]) => key).join(",")}]`
        : `{${all.map(([key, value]) => `${key}:${value}`).join(",")}}`;
    return { json, kind: "group", identity: undefined };
  }
}

function listOf(values: readonly Literal[]): Literal {
  return { json: `[${values.map(({ json }) => json).join(",")}]`, kind: "group", identity: undefined };
}

/** A value that isn't a list. Numbers that are equal are one key, and so are True and 1. */
function scalar(json: string, kind: Literal["kind"]): Literal {
  if (kind === "text") return { json, kind, identity: json };
  const truth = json === "true" ? "1" : json === "false" ? "0" : json;
  const isWhole = /^-?\d+$/.test(truth) || !Number.isInteger(Number(truth));
  return { json, kind, identity: isWhole ? truth : BigInt(Number(truth)).toString() };
}

/** A number of Python as JSON writes it. */
function jsonNumber(written: string): string {
  const digits = written.replaceAll("_", "");
  if (/^0[xXoObB]/.test(digits)) return BigInt(digits).toString();
  const isWhole = /^\d+$/.test(digits);
  if (isWhole && /^0+[1-9]/.test(digits)) throw new NotPython(false); // as in Python
  const [, whole, fraction, exponent = ""] = /^(\d*)(\.\d*)?([eE].*)?$/.exec(digits)!;
  const point = fraction === "." ? ".0" : (fraction ?? "");
  return (whole!.replace(/^0+(?=\d)/, "") || "0") + point + exponent;
}

/**
 * The JSON of a text that is a literal of Python; undefined if it is something else. More is read than Python does: strings with line
 * breaks, and the names that JSON has. Characters by name, `\N{…}`, aren't.
 */
export function pythonValue(text: string): string | undefined {
  const space = new PythonReader(`${text}\n`);
  space.skipSpace();
  if (space.isAtEnd || text.endsWith("\\")) return undefined;
  try {
    const reader = new PythonReader(`(${text}\n)\n`); // without brackets, commas make a tuple
    const { json } = reader.value();
    reader.skipSpace();
    return reader.isAtEnd && parsed(json) !== undefined ? json : undefined;
  } catch (error) {
    if (error instanceof NotPython) return undefined;
    throw error;
  }
}
