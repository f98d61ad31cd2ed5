// Configs and GGUF metadata for the tests of diagnose().
import { load } from "ropewalk";
import { diagnose } from "ropewalk/doctor";

export const rw = await load({ threads: 1 });

/** Qwen2.5-7B, as released. */
export const qwen = {
  model_type: "qwen2",
  hidden_size: 3584,
  num_attention_heads: 28,
  num_key_value_heads: 4,
  num_hidden_layers: 28,
  max_position_embeddings: 32768,
  rope_theta: 1e6,
};

/** The scaling that Qwen's documentation adds. */
export const qwenYarn = { type: "yarn", factor: 4, original_max_position_embeddings: 32768 };

/** Llama 3.1 8B, as released. */
export const llama31 = {
  model_type: "llama",
  hidden_size: 4096,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  num_hidden_layers: 32,
  max_position_embeddings: 131072,
  rope_theta: 5e5,
  rope_scaling: {
    rope_type: "llama3",
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  },
};

/** Metadata of a GGUF file of Llama 3.1 8B. */
export const llama31Gguf = {
  "general.architecture": "llama",
  "llama.block_count": 32,
  "llama.context_length": 131072,
  "llama.embedding_length": 4096,
  "llama.attention.head_count": 32,
  "llama.attention.head_count_kv": 8,
  "llama.rope.freq_base": 500000,
  "llama.rope.dimension_count": 128,
};

/** Metadata of a GGUF file of Qwen2.5-7B. */
export const qwenGguf = {
  "general.architecture": "qwen2",
  "qwen2.block_count": 28,
  "qwen2.context_length": 32768,
  "qwen2.embedding_length": 3584,
  "qwen2.attention.head_count": 28,
  "qwen2.attention.head_count_kv": 4,
  "qwen2.rope.freq_base": 1000000,
};

export const diagnosed = (source, length, options) =>
  diagnose(rw, source, { ...(length !== undefined && { length }), ...options });

/** The findings of a file by their codes. */
export async function codesOf(source, length) {
  const { findings } = await diagnosed(source, length);
  return Object.fromEntries(findings.map((finding) => [finding.code, finding]));
}
