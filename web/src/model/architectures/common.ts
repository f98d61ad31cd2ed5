// What rows of the table of architectures have in common: a plain layer, lists of norms and biases, keys.
import type { ConfigKey } from "../config_reader.js";
import { LLAMA_NAMES, type MatrixRole, type NormRole } from "../tensor_names.js";
import type { Architecture } from "./architecture.js";

/** Norms before attention and feed-forward. @internal */
export const PRE_NORMS: readonly NormRole[] = ["attention_norm", "feed_forward_norm"];
/** Norms after attention and feed-forward. @internal */
export const POST_NORMS: readonly NormRole[] = ["attention_post_norm", "feed_forward_post_norm"];
/** Norms of queries and keys. @internal */
export const QK_NORMS: readonly NormRole[] = ["query_norm", "key_norm"];
/** @internal */
export const QKV: readonly MatrixRole[] = ["query", "key", "value"];

/** @internal */
export const HEADS: ConfigKey = [["num_attention_heads", "n_head"], "attention.head_count"];
/** @internal */
export const HIDDEN: ConfigKey = [["hidden_size", "n_embd"], "embedding_length"];
/** @internal */
export const LAYERS: ConfigKey = [["num_hidden_layers", "n_layer"], "block_count"];

/** Llama: the row that others start from. @internal */
export const llama: Architecture = {
  huggingFace: ["llama"],
  gguf: ["llama"],
  norm: "rms",
  activation: "silu",
  isGated: true,
  norms: () => PRE_NORMS,
  names: LLAMA_NAMES,
};
