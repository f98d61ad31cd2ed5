// How many tokens a word has at least, from its characters alone: without merging them.

/**
 * Bounds for a vocabulary whose tokens are strings of characters, of which each is in exactly one token of a word, or in none if `mayLose` is
 * true for it. A character adds at least 1 / (the length of the longest token that has it), so the sum over a word's characters is no more
 * than the number of its tokens.
 */
export class TokenBound {
  readonly #pieces: () => Iterable<string>;
  readonly #mayLose: (character: string) => boolean;
  #longest: Map<string, number> | undefined;

  /** @param pieces - asked when a long word comes */
  constructor(pieces: () => Iterable<string>, mayLose: (character: string) => boolean) {
    this.#pieces = pieces;
    this.#mayLose = mayLose;
  }

  /** The number of tokens that a word has at least. */
  least(word: string): number {
    const counts = new Map<string, number>();
    for (const character of word) counts.set(character, (counts.get(character) ?? 0) + 1);
    let sum = 0;
    for (const [character, count] of counts)
      if (!this.#mayLose(character)) sum += count / (this.#lengths().get(character) ?? 1);
    return Math.ceil(sum * (1 - 1e-9)); // the sum is rounded
  }

  /** For each character the length of the longest token that has it, in characters. */
  #lengths(): Map<string, number> {
    if (this.#longest !== undefined) return this.#longest;
    const longest = new Map<string, number>();
    for (const piece of this.#pieces()) {
      const characters = Array.from(piece);
      for (const character of characters)
        if (!((longest.get(character) ?? 0) >= characters.length)) longest.set(character, characters.length);
    }
    return (this.#longest = longest);
  }
}
