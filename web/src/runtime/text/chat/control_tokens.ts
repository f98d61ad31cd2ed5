// Reads control tokens in messages as the text that they are, as transformers' `sanitize_control_tokens` does: markers around them show where
// they are in the prompt, and are taken out again.

/** A part of a prompt, and whether it is text in which no control tokens are looked for. */
export interface PromptPiece {
  readonly text: string;
  readonly isPlain: boolean;
}

/** Characters for private use, two of which are markers: those that no input has. */
const FIRST_MARKER = 0xe000;
const LAST_MARKER = 0xf8ff;

/** Marks the control tokens in texts. */
export class ControlMarks {
  readonly #tokens: RegExp;
  readonly #marks: RegExp;
  readonly #start: string;
  readonly #end: string;

  /** @param inputs - everything that the template gets, as one text */
  constructor(tokens: readonly string[], inputs: string) {
    const byLength = [...tokens]
      .sort((a, b) => b.length - a.length)
      .map((token) => token.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
    this.#tokens = new RegExp(byLength.join("|"), "g");
    const free: string[] = [];
    for (let code = FIRST_MARKER; code <= LAST_MARKER && free.length < 2; code++) {
      const character = String.fromCharCode(code);
      if (!inputs.includes(character)) free.push(character);
    }
    [this.#start, this.#end] = free as [string, string];
    this.#marks = new RegExp(`${this.#start}([^${this.#start}${this.#end}]*)${this.#end}|[${this.#start}${this.#end}]`);
  }

  /** A copy of a value with marks in its texts. Names of keys stay. */
  mark(value: unknown): unknown {
    if (typeof value === "string") return value.replace(this.#tokens, `${this.#start}$&${this.#end}`);
    if (Array.isArray(value)) return value.map((item: unknown) => this.mark(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.mark(item)]));
  }

  /** The pieces of a prompt. Each second one was marked. */
  pieces(prompt: string): PromptPiece[] {
    return prompt.split(this.#marks).map((text: string | undefined, i) => ({ text: text ?? "", isPlain: i % 2 === 1 }));
  }
}

/** Whether a text has one of the tokens. */
export function hasToken(tokens: readonly string[], text: string): boolean {
  return tokens.some((token) => text.includes(token));
}
