// Encodes text with the WordPiece and Unigram vocabularies of GGUF files: `tokenizer.ggml.model` "bert" and "t5".
import { messageOf } from "../../core/base/show.js";
import { normalizeForBert } from "./components/bert_normalizer.js";
import { PrecompiledMap } from "./components/precompiled_map.js";
import { readPreTokenizer } from "./components/pre_tokenizer.js";
import { normalizeForSentencePiece } from "./components/sentence_piece_normalizer.js";
import { unigramEncoder, UNKNOWN_PENALTY } from "./components/unigram.js";
import { wordPieceEncoder } from "./components/word_piece.js";
import { booleanOf, bytesOf, type GgufMetadata, invalid, numbersOf } from "./gguf_vocabulary.js";
import { stepsFor } from "./pattern/steps.js";
import { type TextEncoding, wordSteps } from "./encoding_steps.js";
import { memoize } from "./piece_encoder.js";
import { TOKEN_KINDS, type Vocabulary } from "./vocabulary.js";

/** BERT's limit for words. GGUF files don't have it. */
const LONGEST_WORD = 100;

/**
 * WordPiece, in which words begin with ▁ and nothing is before their other pieces. Text is normalized as by BERT's own tokenizer;
 * llama.cpp's leaves Korean letters together, which that one takes apart.
 */
export function wordPieceTextEncoder(metadata: GgufMetadata, vocabulary: Vocabulary, unknown: number): TextEncoding {
  const lowercase = booleanOf(metadata, "tokenizer.ggml.normalizer.lowercase") ?? true;
  const stripAccents = booleanOf(metadata, "tokenizer.ggml.normalizer.strip_accents") ?? lowercase;
  const options = { cleanText: true, chineseCharacters: true, stripAccents, lowercase };
  const ids = new Map<string, number>();
  vocabulary.pieces.forEach((piece, id) => {
    if (piece === undefined || vocabulary.isSpecial(id)) return;
    ids.set(piece.startsWith("▁") ? piece.slice(1) : `##${piece}`, id);
  });
  const pieces = { ids, continuing: "##", unknown: () => unknown, longestWord: LONGEST_WORD };
  const encode = memoize(wordPieceEncoder(pieces));
  const { split } = readPreTokenizer({ type: "BertPreTokenizer" }, stepsFor(0));
  return (text) => wordSteps(split({ text: normalizeForBert(text, options), first: 0 }), { encode });
}

/** Unigram, as SentencePiece and llama.cpp encode it. */
export function unigramTextEncoder(metadata: GgufMetadata, vocabulary: Vocabulary, unknown: number): TextEncoding {
  const options = {
    map: readMap(metadata),
    prefix: booleanOf(metadata, "tokenizer.ggml.add_space_prefix") ?? false,
    merges: booleanOf(metadata, "tokenizer.ggml.remove_extra_whitespaces") ?? false,
  };
  const key = "tokenizer.ggml.scores";
  const scores = numbersOf(metadata, key, vocabulary.size) ?? invalid(key, "is missing");
  const { normal, user_defined: added, unused } = TOKEN_KINDS;
  let least = Infinity;
  const tokens = vocabulary.pieces.flatMap((piece, id) => {
    const kind = vocabulary.kindOf(id);
    if (kind === normal) least = Math.min(least, scores[id]!);
    const isText = kind === normal || kind === added || kind === unused;
    return piece === undefined || !isText ? [] : { text: piece, id, score: kind === added ? 0 : scores[id]! };
  });
  const unknownScore = Math.fround(Math.fround(least) - UNKNOWN_PENALTY);
  const encode = unigramEncoder({ tokens, size: vocabulary.size, unknown, unknownScore });
  return function* (text) {
    const spans = yield* encode(normalize(text));
    yield spans.map(({ id }) => id);
  };

  function normalize(text: string): string {
    try {
      return normalizeForSentencePiece(text, options);
    } catch (error) {
      return invalid("tokenizer.ggml.precompiled_charsmap", messageOf(error));
    }
  }
}

function readMap(metadata: GgufMetadata): PrecompiledMap | undefined {
  const key = "tokenizer.ggml.precompiled_charsmap";
  const bytes = bytesOf(metadata, key);
  if (bytes === undefined || bytes.length === 0) return undefined;
  try {
    return new PrecompiledMap(bytes);
  } catch (error) {
    return invalid(key, messageOf(error));
  }
}
