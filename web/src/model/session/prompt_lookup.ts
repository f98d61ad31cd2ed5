// Guesses the next tokens of a text from its own repeats: prompt lookup decoding (Saxena 2023; n-gram speculation in vLLM).

/** Tokens that must repeat. */
const LONGEST_MATCH = 4;
const SHORTEST_MATCH = 2;
/** Guessing starts after so many tokens in a row that would have been guessed right, because wrong guesses cost time. */
const SHORTEST_STREAK = 2;

/** @internal */
export class PromptLookup {
  readonly #most: number;
  readonly #tokens: number[] = [];
  /** By the last tokens before it: the place of the token that followed most recently. */
  readonly #following = new Map<string, number>();
  /** Where the longest repeat goes on. */
  #place: number | undefined;
  #streak = 0;

  /** @param most - the most tokens to guess at once */
  constructor(most: number, tokens: readonly number[]) {
    this.#most = most;
    for (const token of tokens) this.add(token);
  }

  /** Adds a token to the text. */
  add(token: number): void {
    const isExpected = this.#place !== undefined && this.#tokens[this.#place] === token;
    this.#streak = isExpected ? this.#streak + 1 : 0;
    const place = this.#tokens.length;
    for (let size = SHORTEST_MATCH; size <= Math.min(LONGEST_MATCH, place); size++)
      this.#following.set(this.#lastTokens(size), place);
    this.#tokens.push(token);
    this.#place = this.#find();
  }

  /** The tokens that may come next, at most `room`; none where the text doesn't repeat itself. */
  guesses(room: number): number[] {
    if (this.#place === undefined || this.#streak < SHORTEST_STREAK) return [];
    const place = this.#place;
    const period = this.#tokens.length - place; // a repeat that reaches the end goes on with itself
    // with the token before them 4, 8, 16, … : products take four tokens at once
    const count = Math.min(this.#most, 2 ** Math.ceil(Math.log2(this.#streak + 2)) - 1);
    return Array.from({ length: Math.min(count, Math.max(room, 0)) }, (_, i) => this.#tokens[place + (i % period)]!);
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
