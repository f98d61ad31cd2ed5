// WordPiece and Unigram models of a tokenizer.json, with the normalizers and pre-tokenizers of such files. They are our own, because those
// of `@huggingface/tokenizers` differ from Hugging Face's Rust library in ids.
import type { Dict } from "../base/dict.js";
import { show } from "../base/show.js";
import { isArray } from "../base/typed_arrays.js";
import { readNormalizer } from "./components/normalizer.js";
import { invalid, Options, unsupported } from "./components/options.js";
import { readPreTokenizer } from "./components/pre_tokenizer.js";
import { asRustReads } from "./components/rust_number.js";
import { unigramEncoder } from "./components/unigram.js";
import { wordPieceEncoder } from "./components/word_piece.js";
import { vocabularyEntries } from "./json_vocabulary.js";
import type { Steps } from "./pattern/matcher.js";
import { UnknownSyntax } from "./pattern/parse.js";
import { memoize, type PieceEncoder } from "./piece_encoder.js";
import type { TextModel } from "./text_model.js";
import { pieceOfByte } from "./vocabulary.js";

/** SentencePiece's penalty for a character without a token. */
export const UNKNOWN_PENALTY = 10;

/** The kind of a model that this file has; undefined for others. Old files don't name it. */
export function componentKind(model: Dict): "WordPiece" | "Unigram" | undefined {
  const { type } = model;
  if (type === "WordPiece" || type === "Unigram") return type;
  if (type !== undefined) return undefined;
  if (isArray(model["vocab"])) return "Unigram";
  return model["max_input_chars_per_word"] === undefined ? undefined : "WordPiece";
}

/** The model of a tokenizer.json. @throws INVALID_FILE, UNSUPPORTED_MODEL (the part of tokenizer.json) */
export function componentModel(kind: "WordPiece" | "Unigram", json: Dict, steps: Steps): TextModel {
  try {
    const normalize = readNormalizer(json["normalizer"], steps);
    const split = readPreTokenizer(json["pre_tokenizer"], steps);
    const model = new Options({ ...(json["model"] as Dict), type: kind }, "model");
    const encodeWord = memoize(kind === "WordPiece" ? readWordPiece(model) : readUnigram(model));
    model.end();
    const encode = (text: string, isFirst: boolean): number[] =>
      split({ text, isFirst }).flatMap((word) => encodeWord(word.text));
    return { normalize, encode };
  } catch (error) {
    if (error instanceof UnknownSyntax) return unsupported("pattern", error.message);
    throw error;
  }
}

function readWordPiece(model: Options): PieceEncoder {
  const ids = new Map(vocabularyEntries({ vocab: model.value("vocab") }) as [string, number][]);
  const unknownToken = model.text("unk_token", "[UNK]");
  const most = model.value("max_input_chars_per_word") ?? 100;
  return wordPieceEncoder({
    ids,
    continuing: model.text("continuing_subword_prefix", "##"),
    unknown:
      ids.get(unknownToken) ?? invalid("model.unk_token", `must be in the vocabulary (got ${show(unknownToken)})`),
    longestWord: most as number, // checkComponents() has read it
  });
}

const utf8 = new TextEncoder();

function readUnigram(model: Options): PieceEncoder {
  const { vocab, unknown } = readUnigramVocabulary(model);
  const ids = new Map(vocab.map(([piece], id) => [piece, id]));
  const hasBytes = model.boolean("byte_fallback", false);
  const encode = unigramEncoder({
    // of equal tokens the last has the id
    tokens: vocab.flatMap(([text, score], id) => (ids.get(text) === id ? { text, id, score } : [])),
    size: vocab.length,
    unknown,
    unknownScore: vocab.reduce((least, [, score]) => Math.min(least, score), Infinity) - UNKNOWN_PENALTY,
  });
  return (text) =>
    encode(text).flatMap(({ id, start, end }) => {
      if (id !== unknown) return id;
      const piece = text.slice(start, end);
      const whole = ids.get(piece);
      if (whole !== undefined || !hasBytes) return whole ?? id;
      const bytes = Array.from(utf8.encode(piece), (byte) => ids.get(pieceOfByte(byte)));
      return bytes.includes(undefined) ? id : (bytes as number[]);
    });
}

function readUnigramVocabulary(model: Options): { vocab: [string, number][]; unknown: number | undefined } {
  const entries = model.list("vocab") as [string, number][]; // readVocabulary() has checked that they are pairs
  const wrong = entries.findIndex(([, score]) => !Number.isFinite(score));
  if (wrong >= 0) invalid("model.vocab", `scores must be finite (entry ${wrong} has ${show(entries[wrong]![1])})`);
  const vocab = entries.map(([piece, score]): [string, number] => [piece, asRustReads(score)]);
  const unknown = model.value("unk_id");
  if (unknown === undefined) return { vocab, unknown };
  if (!Number.isInteger(unknown) || (unknown as number) < 0 || (unknown as number) >= vocab.length)
    return model.wrong("unk_id", `an id below ${vocab.length}`, unknown);
  return { vocab, unknown: unknown as number };
}
