// Creates tokenizers from GGUF metadata and from tokenizer.json. The entry of this folder.
import { isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";
import { NO_TOKENIZER, readGgufTokenizer } from "./gguf_tokenizer.js";
import type { GgufMetadata } from "./gguf_vocabulary.js";
import { readJsonTokenizer } from "./json_tokenizer.js";
import type { PromptPiece } from "./chat/control_tokens.js";
import type { Warn } from "./named_tokens.js";
import { readWorldTokenizer } from "./world_tokenizer.js";
import { WORLD_FILE } from "./world_vocabulary.js";
import type { Tokenizer, VocabularyTokenizer } from "./vocabulary_tokenizer.js";

export { NO_TOKENIZER };
export type { DecodeOptions, TokenStream } from "./token_stream.js";
export type { EncodedPair, EncodeOptions, Tokenizer } from "./vocabulary_tokenizer.js";

/**
 * The tokenizer of a model with a tokenizer.json: BPE, Unigram, WordPiece or WordLevel, as in Hugging Face's Rust library.
 *
 * @param tokenizerJson parsed tokenizer.json
 * @param tokenizerConfig parsed tokenizer_config.json: names the BOS and EOS tokens
 * @param generationConfig parsed generation_config.json: lists all tokens that end a generation
 * @throws INVALID_FILE (tokenizer.json or a part of it), UNSUPPORTED_MODEL (tokenizer.json decoder or model)
 */
export function tokenizerFromJson(
  tokenizerJson: object,
  tokenizerConfig: object = {},
  generationConfig: object = {},
): Promise<Tokenizer> {
  return Promise.resolve().then(() => readJsonTokenizer(tokenizerJson, tokenizerConfig, generationConfig));
}

const JSON_FILE = "tokenizer.json";

/**
 * The tokenizer in the files of a model: a parsed tokenizer.json, or an object with the text of tokenizer.json or of
 * rwkv_vocab_v20230424.txt, the vocabulary of RWKV World, under that name.
 *
 * @throws as tokenizerFromJson(); INVALID_FILE (rwkv_vocab_v20230424.txt)
 */
export function tokenizerFromFiles(
  tokenizer: object,
  tokenizerConfig: object = {},
  generationConfig: object = {},
  warn?: Warn,
): Promise<Tokenizer> {
  return Promise.resolve().then(() => {
    if (!isDict(tokenizer)) return readJsonTokenizer(tokenizer, tokenizerConfig, generationConfig, warn);
    if (WORLD_FILE in tokenizer)
      return readWorldTokenizer(tokenizer[WORLD_FILE], tokenizerConfig, generationConfig, warn);
    const json = JSON_FILE in tokenizer ? parsed(tokenizer[JSON_FILE]) : tokenizer;
    return readJsonTokenizer(json, tokenizerConfig, generationConfig, warn);
  });
}

function parsed(file: unknown): object {
  if (typeof file !== "string") return file as object;
  try {
    return JSON.parse(file) as object;
  } catch (cause) {
    return fail("INVALID_FILE", JSON_FILE, `isn't valid JSON: ${(cause as Error).message}`, { cause });
  }
}

/**
 * The tokenizer in the metadata of a GGUF file: `tokenizer.ggml.model` "gpt2" (byte-level BPE), "gemma4" (BPE of characters), "llama"
 * (SentencePiece BPE), "t5" (SentencePiece Unigram), "bert" (WordPiece) or "rwkv" (the longest token). Produces the same ids as llama.cpp,
 * and for "bert" and "rwkv" those of the model's own tokenizer.
 *
 * @param metadata by key; arrays may be typed arrays, and 64-bit integers bigints
 * @throws UNSUPPORTED_MODEL (tokenizer.ggml.model, tokenizer.ggml.pre), INVALID_FILE (the invalid key)
 */
export async function tokenizerFromGguf(metadata: GgufMetadata): Promise<Tokenizer> {
  return Promise.resolve().then(() => readGgufTokenizer(metadata));
}

/**
 * Encodes a chat that a template has rendered. The template writes the special tokens itself. A GGUF file that asks for a begin token gets
 * it also where its template doesn't write it.
 * @internal
 */
export function encodeChat(
  tokenizer: Tokenizer & Partial<Pick<VocabularyTokenizer, "encodeChat">>,
  text: string | readonly PromptPiece[],
): Int32Array {
  if (tokenizer.encodeChat !== undefined) return tokenizer.encodeChat(text);
  const whole = typeof text === "string" ? text : text.map((piece) => piece.text).join("");
  return tokenizer.encode(whole, { special: false });
}

/** The tokenizer in the files of a model or in the metadata of a GGUF file. @throws INVALID_ARGUMENT, and as the two above */
export function tokenizerFrom(source: object, tokenizerConfig?: object): Promise<Tokenizer> {
  if (!isDict(source)) {
    fail(
      "INVALID_ARGUMENT",
      "source",
      `must be a parsed tokenizer.json or the metadata of a GGUF file (got ${show(source)})`,
    );
  }
  return "tokenizer.ggml.model" in source ? tokenizerFromGguf(source) : tokenizerFromFiles(source, tokenizerConfig);
}
