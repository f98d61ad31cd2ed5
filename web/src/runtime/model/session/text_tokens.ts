// The tokens of a session's text, and how many of them have the keys, values and states that a new session computes for them.
import { commonLength } from "../../../core/base/lists.js";

/** @internal */
export class TextTokens {
  #ids: number[] = [];
  /** What {@link shown} returned, until the tokens change. */
  #shown: readonly number[] | undefined;
  /** Tokens at the beginning that were read before others were removed in front of the rest. */
  #unshifted = Infinity;
  /** The longest that the text has been since it was empty: some RoPEs rotate all keys for that length. */
  #longest = 0;
  readonly #samePlan: () => number;

  /** @param samePlan - the longest text whose RoPE has the frequencies of a short one */
  constructor(samePlan: () => number) {
    this.#samePlan = samePlan;
  }

  get length(): number {
    return this.#ids.length;
  }

  /** Frozen: callers keep it. */
  get shown(): readonly number[] {
    this.#shown ??= Object.freeze(this.#ids.slice());
    return this.#shown;
  }

  /** The last tokens, at most `count`. */
  last(count: number): number[] {
    return this.#ids.slice(Math.max(0, this.length - count));
  }

  /** A copy of a part. */
  part(from: number, to = this.length): Int32Array {
    return Int32Array.from(this.#ids.slice(from, to));
  }

  add(tokens: Iterable<number>): void {
    for (const token of tokens) this.#ids.push(token);
    this.#shown = undefined;
    this.reached(this.length);
  }

  /** To be called when the model has read up to `length` tokens, also if some of them aren't part of the text. */
  reached(length: number): void {
    this.#longest = Math.max(this.#longest, length);
  }

  /** Removes the tokens after the first `length`. */
  cut(length: number): void {
    this.#ids.length = length;
    this.#shown = undefined;
    if (length <= this.#unshifted) this.#unshifted = Infinity;
    if (length === 0) this.#longest = 0;
  }

  /** Removes `discard` tokens after the first `keep`. Of those that are left, at most the first `exact` are still those of a new session. */
  remove(keep: number, discard: number, exact: number): void {
    this.#unshifted = Math.min(this.#unshifted, exact);
    this.#ids.splice(keep, discard);
    this.#shown = undefined;
    if (this.length === 0) this.cut(0);
  }

  /** Takes the tokens of a saved text, of which the first `exact` are those of a new session. */
  replace(tokens: readonly number[], exact = Infinity): void {
    this.#ids = tokens.slice();
    this.#shown = undefined;
    [this.#unshifted, this.#longest] = [exact, tokens.length];
  }

  copy(other: TextTokens): void {
    this.replace(other.#ids, other.#unshifted);
    this.#longest = other.#longest;
  }

  /** How many tokens of the beginning are those of a new session that reads `prompt`. */
  exactFor(prompt: ArrayLike<number>): number {
    if (Math.max(this.#longest, prompt.length) > this.#samePlan()) return 0;
    return Math.min(commonLength(this.#ids, prompt), this.#unshifted);
  }
}
