// What rows of the table of architectures have in common: a plain layer, lists of norms and biases, keys.
import { named } from "../../../files/errors.js";
import type { ConfigKey, ConfigReader } from "../../config/config_reader.js";
import { LLAMA_NAMES, type MatrixRole, type NormRole } from "./tensor_names.js";
import type { ActivationName, Architecture } from "./architecture.js";

/** Norms before attention and feed-forward. @internal */
export const PRE_NORMS: readonly NormRole[] = ["attention_norm", "feed_forward_norm"];
/** Norms after attention and feed-forward. @internal */
export const POST_NORMS: readonly NormRole[] = ["attention_post_norm", "feed_forward_post_norm"];
/** Norms of queries and keys. @internal */
export const QK_NORMS: readonly NormRole[] = ["query_norm", "key_norm"];
/** @internal */
export const QKV: readonly MatrixRole[] = ["query", "key", "value"];

/** @internal */
export const HEADS: ConfigKey = [["num_attention_heads", "n_head", "n_heads"], "attention.head_count"];
/** @internal */
export const HIDDEN: ConfigKey = [["hidden_size", "n_embd", "dim"], "embedding_length"];
/** @internal */
export const LAYERS: ConfigKey = [["num_hidden_layers", "n_layer", "n_layers", "num_layers"], "block_count"];
/** Kinds of layers, in config.json. @internal */
export const LAYER_TYPES: readonly string[] = ["layer_types", "layers_block_type"];

/** The biases of some projections, if the config has them; those of other projections are used if the file has them. @internal */
export function biasesIf(key: string, roles: readonly MatrixRole[], byDefault = false) {
  // GGUF has no such keys; there, the tensors show which biases there are
  return (reader: ConfigReader): readonly MatrixRole[] =>
    !reader.isGguf && reader.boolean([key, ""], byDefault) ? roles : [];
}

/** Names in transformers. */
const ACTIVATION_NAMES: Readonly<Record<string, ActivationName>> = {
  silu: "silu",
  swish: "silu",
  gelu: "gelu",
  gelu_python: "gelu",
  gelu_new: "gelu_tanh",
  gelu_fast: "gelu_tanh",
  gelu_pytorch_tanh: "gelu_tanh",
  relu2: "relu2",
  relu: "relu",
  tanh: "tanh",
};

/** The activation that config.json names, and that of GGUF files, which don't name it. @internal */
export function hiddenActivation(
  huggingFace: ActivationName,
  gguf: ActivationName = huggingFace,
  keys: readonly string[] = ["hidden_act", "hidden_activation"],
) {
  return (reader: ConfigReader): ActivationName => {
    if (reader.isGguf) return gguf;
    const { value, path } = reader.find([keys, ""]);
    const found = value === undefined || value === huggingFace ? huggingFace : ACTIVATION_NAMES[String(value)];
    return found ?? reader.refuse("UNSUPPORTED_MODEL", path, `activation ${named(String(value))} is not supported`);
  };
}

/** Llama: the row that others start from. @internal */
export const llama: Architecture = {
  huggingFace: ["llama"],
  gguf: ["llama"],
  norm: "rms",
  activation: hiddenActivation("silu"),
  isGated: true,
  norms: () => PRE_NORMS,
  names: LLAMA_NAMES,
};
