// The model of a tokenizer.json: BPE, Unigram, WordPiece or WordLevel, with the normalizer and the pre-tokenizer before it.
import { type Dict, isDict } from "../../core/base/dict.js";
import { show } from "../../core/base/show.js";
import { isArray } from "../../core/base/typed_arrays.js";
import { readBytePairs } from "./components/byte_pairs.js";
import { readNormalizer } from "./components/normalizer.js";
import { invalid, Options, unsupported } from "./components/options.js";
import { readPreTokenizer } from "./components/pre_tokenizer.js";
import { asRustReads } from "./components/rust_number.js";
import { unigramEncoder, UNKNOWN_PENALTY } from "./components/unigram.js";
import { NoUnknownToken } from "./components/unknown_token.js";
import { wordPieceEncoder } from "./components/word_piece.js";
import type { Steps } from "./pattern/matcher.js";
import { drained, type Encoding, type TextEncoding, wordSteps } from "./encoding_steps.js";
import { memoize, type PieceEncoder } from "./piece_encoder.js";
import type { TextModel } from "./text_model.js";
import { pieceOfByte } from "./vocabulary.js";

const MODELS = {
  BPE: readBytePairs,
  Unigram: readUnigram,
  WordPiece: readWordPiece,
  WordLevel: readWordLevel,
} satisfies Record<string, (options: Options, ids: ReadonlyMap<string, number>) => TextEncoding>;

/** The kind of a model. Old files don't name it. @throws UNSUPPORTED_MODEL (tokenizer.json model) */
export function kindOf(model: Dict): keyof typeof MODELS {
  const { type } = model;
  if (typeof type === "string")
    return Object.hasOwn(MODELS, type)
      ? (type as keyof typeof MODELS)
      : unsupported("model", `must be ${Object.keys(MODELS).join(", ")} (got ${show(type)})`);
  if (type !== undefined) return invalid("model", `must have a type (got ${show(type)})`);
  if (isArray(model["vocab"])) return "Unigram";
  if (model["merges"] !== undefined) return "BPE";
  return model["max_input_chars_per_word"] === undefined ? "WordLevel" : "WordPiece";
}

/**
 * The model of a tokenizer.json.
 *
 * @param ids of the tokens of the model, without added ones
 * @throws INVALID_FILE, UNSUPPORTED_MODEL (the part of tokenizer.json)
 */
export function readModel(json: Dict, ids: ReadonlyMap<string, number>, steps: Steps): TextModel {
  const normalize = readNormalizer(json["normalizer"], steps);
  const { split, finish } = readPreTokenizer(json["pre_tokenizer"], steps);
  const model = isDict(json["model"]) ? json["model"] : invalid("model", "must be an object");
  const kind = kindOf(model);
  const options = new Options({ ...model, type: kind }, "model");
  options.value("vocab");
  const encodeWord = MODELS[kind](options, ids);
  options.end();
  const inSteps = (word: string): Encoding => encodeWord(finish(word));
  const encode = memoize((word) => drained(inSteps(word)));
  return { normalize, encode: (source) => wordSteps(split(source), { encode, steps: inSteps }) };
}

/** A function that throws where the unknown token is needed, if it isn't in the vocabulary. */
function unknownToken(options: Options, ids: ReadonlyMap<string, number>): () => number {
  const token = options.text("unk_token");
  return () => {
    const id = ids.get(token);
    if (id !== undefined) return id;
    throw new NoUnknownToken("unk_token", `${show(token)} is not in the vocabulary, but a word has no token`);
  };
}

/** Characters of a word of WordPiece, in which each part is compared with the rest. The default is 100. */
const LONGEST_WORD = 1000;

function readWordPiece(options: Options, ids: ReadonlyMap<string, number>): TextEncoding {
  return atOnce(
    wordPieceEncoder({
      ids,
      continuing: options.text("continuing_subword_prefix"),
      unknown: unknownToken(options, ids),
      longestWord: options.integer("max_input_chars_per_word", 0, LONGEST_WORD),
    }),
  );
}

function readWordLevel(options: Options, ids: ReadonlyMap<string, number>): TextEncoding {
  const unknown = unknownToken(options, ids);
  return atOnce((word) => [ids.get(word) ?? unknown()]);
}

/** For words that never take long. */
function atOnce(encode: PieceEncoder): TextEncoding {
  return function* (word) {
    yield encode(word);
  };
}

const utf8 = new TextEncoder();

function readUnigram(options: Options, ids: ReadonlyMap<string, number>): TextEncoding {
  const entries = options.list("vocab") as [string, number][]; // readVocabulary() has checked that they are pairs
  const wrong = entries.findIndex(([, score]) => !Number.isFinite(score));
  if (wrong >= 0) invalid("model.vocab", `scores must be finite (entry ${wrong} has ${show(entries[wrong]![1])})`);
  const vocab = entries.map(([piece, score]): [string, number] => [piece, asRustReads(score)]);
  const unknown = options.value("unk_id") === undefined ? undefined : options.integer("unk_id", 0, vocab.length - 1);
  const hasBytes = options.boolean("byte_fallback", false);
  const encode = unigramEncoder({
    // of equal tokens the last has the id
    tokens: vocab.flatMap(([text, score], id) => (ids.get(text) === id ? { text, id, score } : [])),
    size: vocab.length,
    unknown,
    unknownScore: vocab.reduce((least, [, score]) => Math.min(least, score), Infinity) - UNKNOWN_PENALTY,
  });
  return function* (text) {
    const spans = yield* encode(text);
    yield spans.flatMap(({ id, start, end }) => {
      if (id !== unknown) return id;
      const piece = text.slice(start, end);
      const whole = ids.get(piece);
      if (whole !== undefined || !hasBytes) return whole ?? id;
      const bytes = Array.from(utf8.encode(piece), (byte) => ids.get(pieceOfByte(byte)));
      return bytes.includes(undefined) ? id : (bytes as number[]);
    });
  };
}
