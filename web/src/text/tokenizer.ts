import { readGgufTokenizer } from "./gguf_tokenizer.js";
import type { GgufMetadata } from "./gguf_vocabulary.js";
import { readJsonTokenizer } from "./json_tokenizer.js";
import type { Tokenizer } from "./vocabulary_tokenizer.js";

export type { DecodeOptions, TokenStream } from "./token_stream.js";
export type { EncodeOptions, Tokenizer } from "./vocabulary_tokenizer.js";

/**
 * The tokenizer of a model that comes with a tokenizer.json. Needs the package `@huggingface/tokenizers`, which is imported here.
 *
 * @param tokenizerJson parsed tokenizer.json
 * @param tokenizerConfig parsed tokenizer_config.json: names the begin and the end token
 * @param generationConfig parsed generation_config.json: names all tokens that end a generation
 * @throws INVALID_FILE (tokenizer.json and what lies below), UNSUPPORTED_MODEL (tokenizer.json decoder or model)
 */
export function tokenizerFromJson(
  tokenizerJson: object,
  tokenizerConfig: object = {},
  generationConfig: object = {},
): Promise<Tokenizer> {
  return readJsonTokenizer(tokenizerJson, tokenizerConfig, generationConfig);
}

/**
 * The tokenizer in the metadata of a GGUF file: `tokenizer.ggml.model` "gpt2" (byte-level byte-pair encoding) or "llama"
 * (SentencePiece's). Gives the ids that llama.cpp gives.
 *
 * @param metadata by key; arrays may be typed ones, integers of 64 bits bigint
 * @throws UNSUPPORTED_MODEL (tokenizer.ggml.model, tokenizer.ggml.pre), INVALID_FILE (the key at fault)
 */
export async function tokenizerFromGguf(metadata: GgufMetadata): Promise<Tokenizer> {
  return Promise.resolve().then(() => readGgufTokenizer(metadata));
}
