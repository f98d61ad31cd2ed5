// Guesses the next tokens of a text from its own repeats: prompt lookup decoding (Saxena 2023; n-gram speculation in vLLM).

/** Tokens that must repeat. */
const LONGEST_MATCH = 4;
const SHORTEST_MATCH = 2;
/** Guessing starts after so many tokens in a row that would have been guessed right, because wrong guesses cost time. */
const SHORTEST_STREAK = 2;
/** After so many, a wrong token is taken for an edit of a copy, and guessing goes on without another streak. */
const COPY_STREAK = 8;
/** Tokens that are read at once, the guesses and the one before them. Products take four tokens at once. */
const FEWEST_AT_ONCE = 4;
/** Twice as many are read at once after so many right reads of each size. */
const READS_OF_EACH_SIZE = 4;

/** @internal */
export class PromptLookup {
  readonly #most: number;
  readonly #tokens: number[] = [];
  /** By the last tokens before it: the place of the token that followed most recently. */
  readonly #following = new Map<string, number>();
  /** Where the text that is repeated goes on. */
  #place: number | undefined;
  /** Tokens in a row that were as expected. */
  #streak = 0;
  /** Whether the text was copied up to its last wrong token, which then was an edit: it may go on being copied. */
  #isCopy = false;
  /** Whether the place assumes that the last token replaced another. */
  #isPastEdit = false;

  /** @param most - the most tokens to guess at once */
  constructor(most: number, tokens: readonly number[]) {
    this.#most = most;
    for (const token of tokens) this.add(token);
  }

  /** Adds a token to the text. */
  add(token: number): void {
    const place = this.#place;
    const isExpected = place !== undefined && this.#tokens[place] === token;
    const end = this.#tokens.length;
    for (let size = SHORTEST_MATCH; size <= Math.min(LONGEST_MATCH, end); size++)
      this.#following.set(this.#lastTokens(size), end);
    this.#tokens.push(token);
    if (isExpected) {
      this.#streak++;
      this.#isPastEdit = false;
      this.#place = place + 1; // even if the last tokens occurred again since
      return;
    }
    const wasCopied = this.#streak >= COPY_STREAK;
    if (place !== undefined && !this.#isPastEdit) this.#isCopy = wasCopied;
    this.#streak = 0;
    const found = this.#find();
    this.#isPastEdit = found === undefined && wasCopied;
    this.#place = this.#isPastEdit ? place! + 1 : found;
  }

  /** The tokens that may come next, at most `room`; none where the text doesn't repeat itself. */
  guesses(room: number): number[] {
    if (this.#place === undefined || (this.#streak < SHORTEST_STREAK && !this.#isCopy)) return [];
    const place = this.#place;
    const period = this.#tokens.length - place; // a repeat that reaches the end goes on with itself
    const count = Math.min(this.#most, this.#atOnce() - 1, Math.max(room, 0));
    return Array.from({ length: count }, (_, i) => this.#tokens[place + (i % period)]!);
  }

  /** More in long copies only: the longer a read, the more a wrong guess costs. */
  #atOnce(): number {
    let count = FEWEST_AT_ONCE;
    for (let right = READS_OF_EACH_SIZE * count; this.#streak >= right; right += READS_OF_EACH_SIZE * count) count *= 2;
    return count;
  }

  #find(): number | undefined {
    for (let size = LONGEST_MATCH; size >= SHORTEST_MATCH; size--) {
      const place = this.#following.get(this.#lastTokens(size));
      if (place !== undefined) return place;
    }
    return undefined;
  }

  #lastTokens(count: number): string {
    return this.#tokens.slice(-count).join();
  }
}
