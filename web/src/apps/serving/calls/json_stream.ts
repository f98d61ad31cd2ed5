// Reads a JSON object while it streams.

/** What no JSON has outside of strings: the arguments are broken, and a marker follows. */
const MARKER = /[<`]/;

/** What ends a number, a literal or a bracket, beside which space can be left out. */
const PUNCTUATION = /[[\]{},:"]/;

/**
 * Finds the end of an object or a list, and leaves out the space between its parts. It doesn't check that the text is JSON. The control
 * characters that JSON doesn't allow in a string, such as line breaks, are escaped.
 */
export class JsonStream {
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** The last character outside of strings, and whether space followed. */
  #last = "{";
  #hasSpace = false;

  /** Whether the text read last is inside a string. */
  get isText(): boolean {
    return this.#isText;
  }

  /** Reads up to the bracket that closes the object, or up to a marker. `used` is the length of what was read. */
  push(text: string): { written: string; used: number; isEnd: boolean } {
    let written = "";
    for (let i = 0; i < text.length; i++) {
      const character = text[i]!;
      if (this.#isText) {
        written += character < " " ? JSON.stringify(character).slice(1, -1) : character;
        if (this.#isEscaped) this.#isEscaped = false;
        else if (character === "\\") this.#isEscaped = true;
        else if (character === '"') this.#isText = false;
        continue;
      }
      if (/\s/.test(character)) {
        this.#hasSpace = true;
        continue;
      }
      if (MARKER.test(character)) return { written, used: i, isEnd: true };
      // the space between two words stays: without it, `1 2` would be a number
      if (this.#hasSpace && !PUNCTUATION.test(this.#last) && !PUNCTUATION.test(character)) written += " ";
      written += character;
      [this.#last, this.#hasSpace] = [character, false];
      if (character === '"') this.#isText = true;
      else if (character === "{" || character === "[") this.#depth += 1;
      else if (character === "}" || character === "]") this.#depth -= 1;
      if (this.#depth <= 0 && !this.#isText) return { written, used: i + 1, isEnd: true };
    }
    return { written, used: text.length, isEnd: false };
  }
}

/** The end of the JSON value that begins here; -1 if it may go on after the text. */
export function endOfValue(text: string, at: number): number {
  const first = text[at];
  if (first === "{" || first === "[") {
    const { used, isEnd } = new JsonStream().push(text.slice(at));
    return isEnd ? at + used : -1;
  }
  if (first === '"') return endOfString(text, at);
  const found = /[\s,\]}]/.exec(text.slice(at));
  return found === null ? -1 : at + found.index;
}

/** The end of the string that begins here; -1 if it goes on after the text. */
export function endOfString(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === '"') return i + 1;
  }
  return -1;
}

/** The string that a JSON text is; undefined if it is something else. */
export function stringOf(text: string): string | undefined {
  const value = parsed(text);
  return typeof value === "string" ? value : undefined;
}

/** The value of a JSON text; undefined if it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
