// WordPiece: the longest tokens from the start of a word on. Schuster and Nakajima 2012, "Japanese and Korean Voice Search"; Devlin et al. 2018.

/** How a vocabulary writes the pieces of words. */
export interface WordPieces {
  /** Ids by token. */
  readonly ids: ReadonlyMap<string, number>;
  /** Before every piece of a word but the first: `##`. */
  readonly continuing: string;
  /** The token of words that can't be written. @throws NoUnknownToken */
  readonly unknown: () => number;
  /** Characters of a word. Longer ones are unknown. */
  readonly longestWord: number;
}

/** A function that encodes words. It takes time in proportion to a word's length times that of the longest token. */
export function wordPieceEncoder(pieces: WordPieces): (word: string) => number[] {
  const { ids, continuing, unknown, longestWord } = pieces;
  let longest = 0;
  for (const token of ids.keys()) longest = Math.max(longest, token.length);
  return (word) => {
    if (word.length > longestWord && Array.from(word).length > longestWord) return [unknown()];
    const tokens: number[] = [];
    for (let start = 0; start < word.length;) {
      const prefix = start === 0 ? "" : continuing;
      let end = Math.min(word.length, start + longest - prefix.length);
      let id: number | undefined;
      for (; end > start && id === undefined; end--) id = ids.get(prefix + word.slice(start, end));
      if (id === undefined) return [unknown()];
      tokens.push(id);
      start = end + 1;
    }
    return tokens;
  };
}
