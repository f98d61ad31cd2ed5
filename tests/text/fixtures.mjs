// The small vocabularies of vocabularies.json as GGUF metadata.
import { readFileSync } from "node:fs";

export const vocabularies = JSON.parse(readFileSync(new URL("vocabularies.json", import.meta.url), "utf8"));

/** GGUF metadata as a converter writes it for a byte-level tokenizer.json. */
export function byteLevelMetadata(pre, more = {}) {
  const { model, added_tokens } = vocabularies.byte_level.tokenizer_json;
  const tokens = [];
  for (const [piece, id] of Object.entries(model.vocab)) tokens[id] = piece;
  for (const { content, id } of added_tokens) tokens[id] = content;
  const special = new Map(added_tokens.map((token) => [token.id, token.special ? 3 : 4]));
  return {
    "general.architecture": "llama",
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": pre,
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.token_type": Int32Array.from(tokens, (_, id) => special.get(id) ?? 1),
    "tokenizer.ggml.merges": model.merges.map((merge) => (typeof merge === "string" ? merge : merge.join(" "))),
    "tokenizer.ggml.bos_token_id": tokens.indexOf("<|begin|>"),
    "tokenizer.ggml.eos_token_id": tokens.indexOf("<|im_end|>"),
    ...more,
  };
}

/** GGUF metadata as a converter writes it for a SentencePiece model. */
export function sentencePieceMetadata(more = {}) {
  const { tokens, scores, token_type } = vocabularies.sentence_piece;
  return {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.pre": "default",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.scores": Float32Array.from(scores),
    "tokenizer.ggml.token_type": token_type,
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2n,
    ...more,
  };
}
