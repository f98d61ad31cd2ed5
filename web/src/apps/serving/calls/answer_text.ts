// The text of an answer that hasn't been read yet, which knows what of it are control tokens.
import { MarkedText } from "../../../runtime/text/control_text.js";

/**
 * Text in which the markers of a format are text, whether or not they are control tokens, so that calls can be read. Other control
 * tokens are left out. What is taken as content has no control tokens at all.
 */
export class AnswerText {
  readonly #markers: ReadonlySet<string>;
  readonly #marked = new MarkedText();
  /** The control tokens: where each begins and ends in `text`. */
  #controls: (readonly [begin: number, end: number])[] = [];
  text = "";

  /** @param markers - control tokens that are part of the format */
  constructor(markers: readonly string[]) {
    this.#markers = new Set(markers);
  }

  push(piece: string): void {
    for (const { text, isControl } of this.#marked.push(piece)) {
      if (isControl && !this.#markers.has(text)) continue;
      if (isControl) this.#controls.push([this.text.length, this.text.length + text.length]);
      this.text += text;
    }
  }

  /** Whether a control token begins here. */
  isControl(at: number): boolean {
    return this.#controls.some(([begin]) => begin === at);
  }

  /** Whether a control token is in this range. */
  hasControl(from: number, to: number): boolean {
    return this.#controls.some(([begin, end]) => begin < to && end > from);
  }

  /** Removes text at the beginning, and returns what of it isn't a control token. */
  take(length: number): string {
    let [taken, at] = ["", 0];
    for (const [begin, end] of this.#controls) {
      if (begin >= length) break;
      taken += this.text.slice(at, begin);
      at = Math.min(end, length);
    }
    taken += this.text.slice(at, length);
    this.skip(length);
    return taken;
  }

  /** Removes text at the beginning. */
  skip(length: number): void {
    this.text = this.text.slice(length);
    this.#controls = this.#controls
      .filter(([, end]) => end > length)
      .map(([begin, end]) => [Math.max(0, begin - length), end - length] as const);
  }
}
