// Text in which the control tokens are marked, so that their text can be told from text that only looks like it.

// Decoded text is well-formed, so neither of these surrogates stands alone in it.
const BEGIN = "\uDC00";
const END = "\uDC01";
const MARKS = /([\uDC00\uDC01])/u; // with this flag, not the second half of a pair

/** A run of text, or the text of one control token. @internal */
export interface TextRun {
  readonly text: string;
  readonly isControl: boolean;
}

/** Marks the text of a control token. @internal */
export function markControl(text: string): string {
  return BEGIN + text + END;
}

/** Takes marked text apart while it streams. @internal */
export class MarkedText {
  /** The text of a control token whose end is missing. */
  #control: string | undefined;
  /** The first half of a pair, if the last piece ended with it. */
  #half = "";

  /** The runs that a piece completes. */
  push(piece: string): TextRun[] {
    const runs: TextRun[] = [];
    const text = this.#half + piece;
    this.#half = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? "";
    for (const part of text.slice(0, text.length - this.#half.length).split(MARKS)) {
      if (part === BEGIN) this.#control = "";
      else if (part === END) {
        runs.push({ text: this.#control ?? "", isControl: true });
        this.#control = undefined;
      } else if (this.#control !== undefined) this.#control += part;
      else if (part !== "") runs.push({ text: part, isControl: false });
    }
    return runs;
  }
}
