// Encodes text without special tokens: BPE by ranks and SentencePiece BPE.
import { TokenBound } from "./components/token_bound.js";
import { drained, type Encoding, type TextEncoding, wordSteps } from "./encoding_steps.js";
import { mergePieces, type RankOf } from "./merge.js";
import { MergeTable } from "./merge_table.js";
import { splitWords, type PreTokenizer } from "./pre_tokenizers.js";
import { toByteLevel, pieceOfByte, TOKEN_KINDS, type Vocabulary } from "./vocabulary.js";

const utf8 = new TextEncoder();

/** Encodes a word or a piece. */
export type PieceEncoder = (text: string) => number[];

/**
 * Byte-pair encoding: splits text into words, those into characters, and merges them by rank in `tokenizer.ggml.merges`. The characters
 * are GPT-2's for bytes, or those of the text with ▁ for a space.
 */
export function rankedEncoder(vocabulary: Vocabulary, merges: readonly string[], pre: PreTokenizer): TextEncoding {
  const mergeWord = rankedMerger(merges);
  const inBytes = pre.ofCharacters ? byteTokens(vocabulary) : asciiTokens(vocabulary);
  const encodePiece = (piece: string): number[] => {
    const id = vocabulary.idOf(piece);
    return id === undefined ? inBytes(piece) : [id];
  };
  let keeps: boolean | undefined; // whether no piece is left out
  const keepsAll = (): boolean =>
    (keeps ??= pre.ofCharacters
      ? hasAllBytes(vocabulary)
      : merges.every((merge) => vocabulary.idOf(merge.replace(/(?<=.) /s, "")) !== undefined));
  const bound = new TokenBound(
    () => vocabulary.pieces.filter((piece) => piece !== undefined),
    (character) => !keepsAll() || !(pre.ofCharacters || vocabulary.idOf(character) !== undefined),
  );
  function* steps(word: string): Encoding {
    const escaped = pre.ofCharacters ? word : toByteLevel(word);
    const canBeWhole = pre.wholeWords === "all" || (pre.wholeWords === "line_ends" && /^\n+$/.test(word));
    const whole = canBeWhole ? vocabulary.idOf(escaped) : undefined;
    if (whole !== undefined && !vocabulary.isSpecial(whole)) {
      yield [whole];
      return;
    }
    yield bound.least(escaped);
    const pieces = yield* mergeWord(escaped);
    yield* wordSteps(pieces, { encode: encodePiece });
  }
  const encode = memoize((word) => drained(steps(word)));
  return (text) => wordSteps(splitWords(pre.ofCharacters ? text.replaceAll(" ", "▁") : text, pre), { encode, steps });
}

/** A function that splits a word into pieces by merges, the first of equal ones. They may name pieces that aren't tokens. */
function rankedMerger(merges: readonly string[]): (word: string) => Generator<0, string[], void> {
  const symbols = new Map<string, number>();
  const symbolOf = (piece: string): number => {
    let symbol = symbols.get(piece);
    if (symbol === undefined) symbols.set(piece, (symbol = symbols.size));
    return symbol;
  };
  const table = new MergeTable(merges.length);
  merges.forEach((merge, rank) => {
    const space = merge.indexOf(" ", 1);
    if (space < 0) return; // it merges nothing
    const [left, right] = [merge.slice(0, space), merge.slice(space + 1)];
    table.set(rank, symbolOf(left), symbolOf(right), symbolOf(left + right), true);
  });
  return function* (word) {
    const characters = Array.from(word);
    const merged = Int32Array.from(characters, (character) => symbols.get(character) ?? -1);
    const lengths = Int32Array.from(characters, (character) => character.length);
    const count = yield* table.merge(merged, lengths, characters.length);
    let at = 0;
    return Array.from(lengths.subarray(0, count), (length) => word.slice(at, (at += length)));
  };
}

function hasAllBytes(vocabulary: Vocabulary): boolean {
  return Array.from({ length: 256 }, (_, byte) => vocabulary.idOf(pieceOfByte(byte))).every((id) => id !== undefined);
}

/** The tokens for the bytes of a piece that isn't a token. Those that the vocabulary doesn't have are left out. */
function byteTokens(vocabulary: Vocabulary): PieceEncoder {
  return (piece) => Array.from(utf8.encode(piece), (byte) => vocabulary.idOf(pieceOfByte(byte)) ?? []).flat();
}

/** The tokens for a piece's characters. As in llama.cpp, only ASCII characters have one. */
function asciiTokens(vocabulary: Vocabulary): PieceEncoder {
  return (piece) =>
    Array.from(piece, (character) => (character < "\x80" ? (vocabulary.idOf(character) ?? []) : [])).flat();
}

/**
 * SentencePiece BPE: replaces spaces by ▁, then merges the pieces that form the token with the highest score. A character without a
 * token is encoded as its bytes. Kudo and Richardson 2018, "SentencePiece".
 */
export function sentencePieceEncoder(vocabulary: Vocabulary, scores: Float64Array): TextEncoding {
  const rankOf: RankOf = (text, start, _middle, end) => {
    const id = vocabulary.idOf(text.slice(start, end));
    return id === undefined ? undefined : -scores[id]!;
  };
  const unknown = unknownToken(vocabulary);
  const bytesOf = (piece: string) =>
    Array.from(utf8.encode(piece), (byte) => vocabulary.idOf(pieceOfByte(byte)) ?? unknown).flat();
  const encodePiece = (piece: string): number[] => {
    const id = vocabulary.idOf(piece);
    return id === undefined ? bytesOf(piece) : [id];
  };
  const keepsAll = unknown.length > 0 || hasAllBytes(vocabulary);
  const bound = new TokenBound(
    () => vocabulary.pieces.filter((piece) => piece !== undefined),
    (character) => !keepsAll && vocabulary.idOf(character) === undefined,
  );
  function* steps(word: string): Encoding {
    yield bound.least(word);
    yield* wordSteps(yield* mergePieces(word, rankOf), { encode: encodePiece });
  }
  const encode = memoize((word) => drained(steps(word)));
  // if no token crosses the end of a word, words can be encoded one by one with the same result
  const splitsAtSpaces = !vocabulary.pieces.some(
    (piece, id) => piece !== undefined && /[^▁]▁/.test(piece) && !vocabulary.isAdded(id),
  );
  return (text) => {
    const escaped = text.replaceAll(" ", "▁");
    return wordSteps(splitsAtSpaces ? (escaped.match(/▁*[^▁]*/g) ?? []) : [escaped], { encode, steps });
  };
}

/** The encoding of a byte without a token: the unknown token, or nothing if there is none. */
function unknownToken(vocabulary: Vocabulary): number[] {
  const id = vocabulary.pieces.findIndex((_, token) => vocabulary.kindOf(token) === TOKEN_KINDS.unknown);
  return id < 0 ? [] : [id];
}

/** Caches the tokens of words, as texts repeat the same few. */
export function memoize(encode: PieceEncoder): PieceEncoder {
  const maxWords = 20000;
  const maxWordLength = 64;
  const cached = new Map<string, number[]>();
  return (word) => {
    const tokens = cached.get(word);
    if (tokens !== undefined) return tokens;
    const encoded = encode(word);
    if (word.length > maxWordLength) return encoded;
    if (cached.size >= maxWords) cached.clear();
    cached.set(word, encoded);
    return encoded;
  };
}
