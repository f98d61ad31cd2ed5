import { RopewalkError } from "../base/errors.js";
import {
  booleanOf,
  numbersOf,
  readVocabulary,
  refuse,
  stringOf,
  stringsOf,
  tokenOf,
  type GgufMetadata,
} from "./gguf_vocabulary.js";
import { byteLevelEncoder, sentencePieceEncoder, type PieceEncoder } from "./piece_encoder.js";
import { preTokenizerOf } from "./pre_tokenizers.js";
import { AddedTokens, endTokensOf, trimmingTokens } from "./special_tokens.js";
import type { Spelling, Vocabulary } from "./vocabulary.js";
import { VocabularyTokenizer, type Tokenizer } from "./vocabulary_tokenizer.js";

/**
 * The tokenizer in the metadata of a GGUF file: `tokenizer.ggml.model` "gpt2" (byte-level byte-pair encoding) or "llama"
 * (SentencePiece's). Gives the ids that llama.cpp gives.
 *
 * @throws UNSUPPORTED_MODEL (tokenizer.ggml.model, tokenizer.ggml.pre), INVALID_FILE (the key at fault)
 */
export function readGgufTokenizer(metadata: GgufMetadata): Tokenizer {
  const model = stringOf(metadata, "tokenizer.ggml.model");
  if (model === undefined) refuse("tokenizer.ggml.model", "is not there: the file has no tokenizer");
  if (model === "gpt2") return byteLevelTokenizer(metadata);
  if (model === "llama") return sentencePieceTokenizer(metadata);
  throw new RopewalkError(
    "UNSUPPORTED_MODEL",
    "tokenizer.ggml.model",
    `"${model}" is a tokenizer that this package does not have; it has "gpt2" and "llama"`,
  );
}

function byteLevelTokenizer(metadata: GgufMetadata): Tokenizer {
  const spelling: Spelling = { alphabet: "byte_level", added_space: "never" };
  const pre = preTokenizerOf(stringOf(metadata, "tokenizer.ggml.pre") ?? "default");
  const vocabulary = readVocabulary(metadata, spelling);
  const encoder = byteLevelEncoder(vocabulary, readMerges(metadata, vocabulary), pre);
  return tokenizer(metadata, vocabulary, encoder, pre.addsBegin);
}

function sentencePieceTokenizer(metadata: GgufMetadata): Tokenizer {
  const addsSpace = booleanOf(metadata, "tokenizer.ggml.add_space_prefix") ?? true;
  const spelling: Spelling = { alphabet: "metaspace", added_space: addsSpace ? "after_special" : "never" };
  const vocabulary = readVocabulary(metadata, spelling);
  const key = "tokenizer.ggml.scores";
  const scores = numbersOf(metadata, key, vocabulary.size) ?? refuse(key, "is not there");
  return tokenizer(metadata, vocabulary, sentencePieceEncoder(vocabulary, scores), true);
}

/** Merges are "left right": two tokens whose joined text is a token too. */
function readMerges(metadata: GgufMetadata, vocabulary: Vocabulary): readonly string[] {
  const key = "tokenizer.ggml.merges";
  const merges = stringsOf(metadata, key);
  merges.forEach((merge, i) => {
    const space = merge.indexOf(" ", 1);
    if (space < 0)
      refuse(key, `must be pairs of tokens with a space between them (number ${i} is ${JSON.stringify(merge)})`);
    const left = merge.slice(0, space);
    const right = merge.slice(space + 1);
    const missing = [left, right, left + right].find((piece) => vocabulary.idOf(piece) === undefined);
    if (missing !== undefined)
      refuse(key, `number ${i}, ${JSON.stringify(merge)}, names ${JSON.stringify(missing)}, which is no token`);
  });
  return merges;
}

function tokenizer(
  metadata: GgufMetadata,
  vocabulary: Vocabulary,
  encodeText: PieceEncoder,
  beginStandard: boolean,
): Tokenizer {
  const { size, spelling } = vocabulary;
  const named = (name: string) => tokenOf(metadata, `tokenizer.ggml.${name}_token_id`, size);
  // SentencePiece's own ids, which files of Llama's first years do not repeat
  const standard = (id: number) => (spelling.alphabet === "metaspace" && id < size ? id : undefined);
  const begin = named("bos") ?? standard(1);
  const end = named("eos") ?? standard(2);
  const ends = [end, named("eot"), named("eom")].filter((id) => id !== undefined);
  const addsBegin = booleanOf(metadata, "tokenizer.ggml.add_bos_token") ?? beginStandard;
  if (addsBegin && begin === undefined)
    refuse("tokenizer.ggml.bos_token_id", "is not there, though a text begins with this token");
  const addsEnd = booleanOf(metadata, "tokenizer.ggml.add_eos_token") ?? false;
  const added = new AddedTokens(vocabulary, trimmingTokens(vocabulary, stringOf(metadata, "general.name") ?? ""));
  const prefix = spelling.added_space === "after_special" ? " " : "";

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
