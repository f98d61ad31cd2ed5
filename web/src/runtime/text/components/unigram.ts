// Unigram: the tokens of a text whose scores have the largest sum. Kudo 2018, "Subword Regularization", by Viterbi's algorithm.
import { type EncodingStep, ROUNDS } from "../encoding_steps.js";
import { TokenBound } from "./token_bound.js";
import { TokenTrie } from "./token_trie.js";
import { NoUnknownToken } from "./unknown_token.js";

/** The tokens of a Unigram vocabulary. */
export interface UnigramTokens {
  /** Tokens that can be part of a text, with their ids and scores (logarithms of probabilities). */
  readonly tokens: Iterable<{ readonly text: string; readonly id: number; readonly score: number }>;
  /** One more than the largest id. */
  readonly size: number;
  /** The token of a character that no token has; undefined if there is none. */
  readonly unknown: number | undefined;
  readonly unknownScore: number;
}

/** A token of a text, text[start, end). */
export interface TokenSpan {
  readonly id: number;
  readonly start: number;
  readonly end: number;
}

const NONE = -1;

/** SentencePiece's penalty for a character without a token. */
export const UNKNOWN_PENALTY = 10;

/**
 * A function that splits texts, in steps. Of splits with the same sum the first wins that goes over the text from left to right. Unknown characters in
 * a row are one unknown token. Takes time in proportion to the text's length times that of the longest token.
 */
export function unigramEncoder({
  tokens,
  size,
  unknown,
  unknownScore,
}: UnigramTokens): (text: string) => Generator<EncodingStep, TokenSpan[], void> {
  const trie = new TokenTrie();
  const scores = new Float64Array(size);
  for (const { text, id, score } of tokens) {
    trie.add(text, id);
    scores[id] = score;
  }

  const pieces = Array.from(tokens, ({ text }) => text);
  const characters = new Set(pieces.filter((piece) => piece.length === (piece.codePointAt(0)! > 0xffff ? 2 : 1)));
  const unknownTexts = Array.from(tokens, ({ id, text }) => (id === unknown ? text : "")).join("");
  // unknown characters in a row are one token
  const mayLose = (character: string): boolean => !characters.has(character) || unknownTexts.includes(character);
  const bound = new TokenBound(() => pieces, mayLose);

  return function* (text) {
    if (text.length > ROUNDS) yield bound.least(text);
    let rounds = 0;
    // for each end of a part of the text: the sum of the best split, and its last token
    const sums = new Float64Array(text.length + 1);
    const ids = new Int32Array(text.length + 1);
    const starts = new Int32Array(text.length + 1).fill(NONE);
    const consider = (start: number, end: number, id: number | undefined, score: number): void => {
      const sum = sums[start]! + score;
      if (starts[end] !== NONE && sum <= sums[end]!) return;
      sums[end] = sum;
      if (id === undefined) throw new NoUnknownToken("unk_id", "is missing, but a character has no token");
      ids[end] = id;
      starts[end] = start;
    };
    for (let start = 0, next = 0; start < text.length; start = next) {
      if (++rounds % ROUNDS === 0) yield 0;
      next = start + (text.codePointAt(start)! > 0xffff ? 2 : 1);
      let hasCharacter = false;
      let node = trie.step(0, text.charCodeAt(start));
      for (let end = start + 1; node !== 0; end++) {
        const id = trie.idAt(node);
        if (id >= 0) {
          consider(start, end, id, scores[id]!);
          hasCharacter ||= end === next;
        }
        if (end === text.length) break;
        node = trie.step(node, text.charCodeAt(end));
      }
      if (hasCharacter) continue;
      consider(start, next, unknown, unknownScore);
    }

    const spans: { id: number; start: number; end: number }[] = [];
    for (let end = text.length; end > 0; end = starts[end]!) {
      if (++rounds % ROUNDS === 0) yield 0;
      const last = spans.at(-1);
      if (last !== undefined && ids[end] === unknown && last.id === unknown) last.start = starts[end]!;
      else spans.push({ id: ids[end]!, start: starts[end]!, end });
    }
    return spans.reverse();
  };
}
