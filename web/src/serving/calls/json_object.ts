// Reads a JSON object while it streams.

/** Finds the end of an object, and leaves out the space between its parts. It doesn't check that the text is JSON. */
export class JsonObjectStream {
  #depth: number;
  #isText = false;
  #isEscaped = false;

  /** @param depth - number of brackets that were opened before */
  constructor(depth = 0) {
    this.#depth = depth;
  }

  /** Reads up to the bracket that closes the object. `used` is the length of what was read. */
  push(text: string): { written: string; used: number; isEnd: boolean } {
    let written = "";
    for (let i = 0; i < text.length; i++) {
      const character = text[i]!;
      if (this.#isText || !/\s/.test(character)) written += character;
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isText && character === "\\") this.#isEscaped = true;
      else if (character === '"') this.#isText = !this.#isText;
      else if (this.#isText) continue;
      else if (character === "{" || character === "[") this.#depth += 1;
      else if (character === "}" || character === "]") this.#depth -= 1;
      if (this.#depth <= 0 && !this.#isText) return { written, used: i + 1, isEnd: true };
    }
    return { written, used: text.length, isEnd: false };
  }
}
