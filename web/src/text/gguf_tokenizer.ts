// Builds a tokenizer from the metadata of a GGUF file.
import { show } from "../base/show.js";
import { fail } from "../base/errors.js";
import {
  booleanOf,
  numbersOf,
  readVocabulary,
  invalid,
  stringOf,
  stringsOf,
  tokenOf,
  type GgufMetadata,
} from "./gguf_vocabulary.js";
import { byteLevelEncoder, sentencePieceEncoder, type PieceEncoder } from "./piece_encoder.js";
import { preTokenizerOf } from "./pre_tokenizers.js";
import { AddedTokens, endTokensOf, trimmingTokens } from "./special_tokens.js";
import type { PieceFormat, Vocabulary } from "./vocabulary.js";
import { VocabularyTokenizer, type Tokenizer } from "./vocabulary_tokenizer.js";

/**
 * The tokenizer in the metadata of a GGUF file: `tokenizer.ggml.model` "gpt2" (byte-level BPE) or "llama" (SentencePiece BPE). Produces
 * the same ids as llama.cpp.
 *
 * @throws UNSUPPORTED_MODEL (tokenizer.ggml.model, tokenizer.ggml.pre), INVALID_FILE (the invalid key)
 */
export function readGgufTokenizer(metadata: GgufMetadata): Tokenizer {
  const model = stringOf(metadata, "tokenizer.ggml.model");
  if (model === undefined) invalid("tokenizer.ggml.model", "is missing, so the file has no tokenizer");
  if (model === "gpt2") return byteLevelTokenizer(metadata);
  if (model === "llama") return sentencePieceTokenizer(metadata);
  fail(
    "UNSUPPORTED_MODEL",
    "tokenizer.ggml.model",
    `must be "gpt2" or "llama" (got "${model}"); use the model's tokenizer.json if there is one`,
  );
}

function byteLevelTokenizer(metadata: GgufMetadata): Tokenizer {
  const format: PieceFormat = { encoding: "byte_level", spacePrefix: "never" };
  const pre = preTokenizerOf(stringOf(metadata, "tokenizer.ggml.pre") ?? "default");
  const vocabulary = readVocabulary(metadata, format);
  const encoder = byteLevelEncoder(vocabulary, readMerges(metadata, vocabulary), pre);
  return tokenizer(metadata, vocabulary, encoder, pre.addsBegin);
}

function sentencePieceTokenizer(metadata: GgufMetadata): Tokenizer {
  const addsSpace = booleanOf(metadata, "tokenizer.ggml.add_space_prefix") ?? true;
  const format: PieceFormat = { encoding: "metaspace", spacePrefix: addsSpace ? "after_special" : "never" };
  const vocabulary = readVocabulary(metadata, format);
  const key = "tokenizer.ggml.scores";
  const scores = numbersOf(metadata, key, vocabulary.size) ?? invalid(key, "is missing");
  return tokenizer(metadata, vocabulary, sentencePieceEncoder(vocabulary, scores), true);
}

/** Reads merges "left right". Left, right and their concatenation must be tokens. */
function readMerges(metadata: GgufMetadata, vocabulary: Vocabulary): readonly string[] {
  const key = "tokenizer.ggml.merges";
  const merges = stringsOf(metadata, key);
  merges.forEach((merge, i) => {
    const space = merge.indexOf(" ", 1);
    if (space < 0) invalid(key, `must be pairs of tokens separated by a space (got ${show(merge)} at index ${i})`);
    const left = merge.slice(0, space);
    const right = merge.slice(space + 1);
    const missing = [left, right, left + right].find((piece) => vocabulary.idOf(piece) === undefined);
    if (missing !== undefined) invalid(key, `entry ${i}, ${show(merge)}, uses ${show(missing)}, which is not a token`);
  });
  return merges;
}

function tokenizer(
  metadata: GgufMetadata,
  vocabulary: Vocabulary,
  encodeText: PieceEncoder,
  addsBeginByDefault: boolean,
): Tokenizer {
  const { size, format } = vocabulary;
  const tokenFor = (name: string) => tokenOf(metadata, `tokenizer.ggml.${name}_token_id`, size);
  // SentencePiece's default ids, which early Llama files leave out
  const defaultId = (id: number) => (format.encoding === "metaspace" && id < size ? id : undefined);
  const begin = tokenFor("bos") ?? defaultId(1);
  const end = tokenFor("eos") ?? defaultId(2);
  const ends = [end, tokenFor("eot"), tokenFor("eom")].filter((id) => id !== undefined);
  const addsBegin = booleanOf(metadata, "tokenizer.ggml.add_bos_token") ?? addsBeginByDefault;
  if (addsBegin && begin === undefined)
    invalid("tokenizer.ggml.bos_token_id", "is missing, although add_bos_token is true");
  const addsEnd = booleanOf(metadata, "tokenizer.ggml.add_eos_token") ?? false;
  const added = new AddedTokens(vocabulary, trimmingTokens(vocabulary, stringOf(metadata, "general.name") ?? ""));
  const prefix = format.spacePrefix === "after_special" ? " " : "";

  return new VocabularyTokenizer(vocabulary, {
    beginToken: begin,
    endTokens: endTokensOf(vocabulary, ends),
    addsBegin,
    encode(text, special, parseSpecial) {
      const tokens: number[] = [];
      if (special && addsBegin && begin !== undefined) tokens.push(begin);
      for (const part of added.split(text, parseSpecial)) {
        if (typeof part === "number") tokens.push(part);
        else for (const token of encodeText(prefix + part)) tokens.push(token);
      }
      if (special && addsEnd && end !== undefined) tokens.push(end);
      return tokens;
    },
  });
}
