import { mergePieces, type RankOf } from "./merge.js";
import { splitWords, type PreTokenizer } from "./pre_tokenizers.js";
import { inByteCharacters, pieceOfByte, TOKEN_KINDS, type Vocabulary } from "./vocabulary.js";

/** Turns a text without added tokens into tokens. */
export type PieceEncoder = (text: string) => number[];

/** Byte-level byte-pair encoding (GPT-2): words, their bytes as characters, joined by rank in `tokenizer.ggml.merges`. */
export function byteLevelEncoder(vocabulary: Vocabulary, merges: readonly string[], pre: PreTokenizer): PieceEncoder {
  const ranks = new Map<string, number>();
  merges.forEach((merge, rank) => ranks.set(merge, rank));
  const rankOf: RankOf = (text, start, middle, end) =>
    ranks.get(`${text.slice(start, middle)} ${text.slice(middle, end)}`);
  const unknown = unknownToken(vocabulary);
  const encodeWord = remember((word) => {
    const spelled = inByteCharacters(word);
    const whole = pre.wholeWords ? vocabulary.idOf(spelled) : undefined;
    if (whole !== undefined && !vocabulary.isSpecial(whole)) return [whole];
    return mergePieces(spelled, rankOf).flatMap((piece) => vocabulary.idOf(piece) ?? unknown);
  });
  return (text) => splitWords(text, pre.patterns).flatMap(encodeWord);
}

/**
 * SentencePiece's byte-pair encoding: spaces are ▁, and pieces are joined where a token of the highest score comes of it.
 * Characters that are no token become their bytes. Kudo and Richardson 2018, "SentencePiece".
 */
export function sentencePieceEncoder(vocabulary: Vocabulary, scores: Float64Array): PieceEncoder {
  const rankOf: RankOf = (text, start, _middle, end) => {
    const id = vocabulary.idOf(text.slice(start, end));
    return id === undefined ? undefined : -scores[id]!;
  };
  const utf8 = new TextEncoder();
  const unknown = unknownToken(vocabulary);
  const bytesOf = (piece: string) =>
    Array.from(utf8.encode(piece), (byte) => vocabulary.idOf(pieceOfByte(byte)) ?? unknown).flat();
  const encodeWord = remember((word) =>
    mergePieces(word, rankOf).flatMap((piece) => vocabulary.idOf(piece) ?? bytesOf(piece)),
  );
  // where no token goes on past the end of a word, words are joined alike alone and in a text
  const wordwise = !vocabulary.pieces.some(
    (piece, id) => piece !== undefined && /[^▁]▁/.test(piece) && !vocabulary.isAdded(id),
  );
  return (text) => {
    const spelled = text.replaceAll(" ", "▁");
    return wordwise ? (spelled.match(/▁*[^▁]*/g) ?? []).flatMap(encodeWord) : encodeWord(spelled);
  };
}

/** What stands for bytes that have no token: the unknown token, or nothing. */
function unknownToken(vocabulary: Vocabulary): number[] {
  const id = vocabulary.pieces.findIndex((_, token) => vocabulary.kindOf(token) === TOKEN_KINDS.unknown);
  return id < 0 ? [] : [id];
}

/** Keeps the tokens of words: a text has the same few over and over. */
function remember(encode: PieceEncoder): PieceEncoder {
  const mostWords = 20000;
  const longestWord = 64;
  const known = new Map<string, number[]>();
  return (word) => {
    const tokens = known.get(word);
    if (tokens !== undefined) return tokens;
    const encoded = encode(word);
    if (word.length > longestWord) return encoded;
    if (known.size >= mostWords) known.clear();
    known.set(word, encoded);
    return encoded;
  };
}
