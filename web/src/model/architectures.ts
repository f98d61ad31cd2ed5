// The table of supported architectures. Sources: the modeling code of transformers and, for GGUF, of llama.cpp.
import { named } from "../files/errors.js";
import type { Architecture, Factors } from "./architecture.js";
import type { ConfigReader, ConfigKey } from "./config_reader.js";
import { MAX_EXPERTS, MAX_WIDTH } from "./limits.js";
import { LLAMA_NAMES, llamaNames, type MatrixRole, type NormRole } from "./tensor_names.js";
import { sameWindow, slidingWindows } from "./sliding_windows.js";

/** Norms before attention and feed-forward. */
const PRE_NORMS: readonly NormRole[] = ["attention_norm", "feed_forward_norm"];
/** Norms after attention and feed-forward. */
const POST_NORMS: readonly NormRole[] = ["attention_post_norm", "feed_forward_post_norm"];
const QK_NORMS: readonly NormRole[] = ["query_norm", "key_norm"];
const QKV: readonly MatrixRole[] = ["query", "key", "value"];

const HEADS: ConfigKey = [["num_attention_heads", "n_head"], "attention.head_count"];
const HIDDEN: ConfigKey = [["hidden_size", "n_embd"], "embedding_length"];
const LAYERS: ConfigKey = [["num_hidden_layers", "n_layer"], "block_count"];

const llama: Architecture = {
  huggingFace: ["llama"],
  gguf: ["llama"],
  norm: "rms",
  activation: "silu",
  isGated: true,
  norms: () => PRE_NORMS,
  names: LLAMA_NAMES,
};

const gemma2: Architecture = {
  ...llama,
  huggingFace: ["gemma2"],
  gguf: ["gemma2"],
  activation: "gelu_tanh",
  norms: () => [...PRE_NORMS, ...POST_NORMS],
  normsLessOne: true,
  factors: gemmaFactors,
  window: slidingWindows((layer) => layer % 2 === 0),
  names: llamaNames({
    attention_post_norm: "post_attention_layernorm",
    feed_forward_norm: "pre_feedforward_layernorm",
    feed_forward_post_norm: "post_feedforward_layernorm",
  }),
};

/** All supported architectures. @internal */
export const ARCHITECTURES: readonly Architecture[] = [
  llama,
  { ...llama, huggingFace: ["mistral"], gguf: [], window: sameWindow },
  { ...llama, huggingFace: ["smollm3"], gguf: ["smollm3"] },
  { ...llama, huggingFace: ["qwen2"], gguf: ["qwen2"], biases: () => QKV, window: slidingWindows(isQwen2Sliding) },
  {
    ...llama,
    huggingFace: ["qwen3"],
    gguf: ["qwen3"],
    norms: () => [...PRE_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "head",
  },
  {
    ...llama,
    huggingFace: ["qwen3_moe"],
    gguf: ["qwen3moe"],
    norms: () => [...PRE_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "head",
    experts: qwenExperts,
    names: llamaNames({
      router: "mlp.gate",
      expert_gate: "mlp.experts.{e}.gate_proj",
      expert_up: "mlp.experts.{e}.up_proj",
      expert_down: "mlp.experts.{e}.down_proj",
    }),
  },
  gemma2,
  {
    ...gemma2,
    huggingFace: ["gemma3_text", "gemma3"],
    gguf: ["gemma3"],
    norms: () => [...PRE_NORMS, ...POST_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "head",
    window: slidingWindows((layer) => (layer + 1) % 6 !== 0),
    hasTwoRopes: true,
  },
  { ...llama, huggingFace: ["phi3"], gguf: ["phi3"], window: sameWindow },
  {
    ...llama,
    huggingFace: ["phi"],
    gguf: ["phi2"],
    norm: "layer",
    activation: "gelu_tanh",
    isGated: false,
    norms: () => ["attention_norm"],
    isParallel: () => true,
    biases: () => [...QKV, "output", "up", "down"],
    names: llamaNames(
      { output: "self_attn.dense", up: "mlp.fc1", down: "mlp.fc2" },
      { final_norm: "model.final_layernorm" },
    ),
  },
  {
    ...llama,
    huggingFace: ["gpt_neox"],
    gguf: ["gptneox"],
    norm: "layer",
    activation: "gelu",
    isGated: false,
    isParallel: (reader) => reader.boolean(["use_parallel_residual", "use_parallel_residual"], true),
    biases: (reader) =>
      reader.boolean(["attention_bias", "attention_bias"], true) ? [...QKV, "output", "up", "down"] : ["up", "down"],
    fusedByHead: true,
    names: {
      layer: "gpt_neox.layers.{n}.",
      embedding: "gpt_neox.embed_in",
      final_norm: "gpt_neox.final_layer_norm",
      head: "embed_out",
      layers: {
        attention_norm: "input_layernorm",
        query_key_value: "attention.query_key_value",
        output: "attention.dense",
        feed_forward_norm: "post_attention_layernorm",
        up: "mlp.dense_h_to_4h",
        down: "mlp.dense_4h_to_h",
      },
    },
  },
  {
    ...llama,
    huggingFace: ["gptj"],
    gguf: ["gptj"],
    norm: "layer",
    activation: "gelu_tanh",
    isGated: false,
    norms: () => ["attention_norm"],
    isParallel: () => true,
    biases: () => ["up", "down"],
    names: {
      layer: "transformer.h.{n}.",
      embedding: "transformer.wte",
      final_norm: "transformer.ln_f",
      head: "lm_head",
      layers: {
        attention_norm: "ln_1",
        query: "attn.q_proj",
        key: "attn.k_proj",
        value: "attn.v_proj",
        output: "attn.out_proj",
        up: "mlp.fc_in",
        down: "mlp.fc_out",
      },
    },
  },
  {
    ...llama,
    huggingFace: ["stablelm"],
    gguf: ["stablelm"],
    norm: "layer",
    norms: (reader) => [
      ...(isParallelStableLm(reader) ? (["attention_norm"] as const) : PRE_NORMS),
      ...(hasStableLmQueryKeyNorm(reader) ? QK_NORMS : []),
    ],
    queryKeyNorm: (reader) => (hasStableLmQueryKeyNorm(reader) ? "each_head" : "none"),
    isParallel: isParallelStableLm,
    biases: (reader) => (reader.boolean(["use_qkv_bias", "use_qkv_bias"], false) ? QKV : []),
    names: llamaNames({ query_norm: "self_attn.q_layernorm.norms.{h}", key_norm: "self_attn.k_layernorm.norms.{h}" }),
  },
  {
    ...llama,
    huggingFace: ["olmo2"],
    gguf: ["olmo2"],
    norms: () => [...POST_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "all_heads",
    window: slidingWindows(() => false),
    names: llamaNames({
      attention_post_norm: "post_attention_layernorm",
      feed_forward_post_norm: "post_feedforward_layernorm",
    }),
  },
  { ...llama, huggingFace: ["granite"], gguf: ["granite"], factors: graniteFactors },
  {
    ...llama,
    huggingFace: ["glm4"],
    gguf: ["glm4"],
    norms: () => [...PRE_NORMS, ...POST_NORMS],
    biases: (reader) => (reader.boolean(["attention_bias", "attention_bias"], true) ? QKV : []),
    names: llamaNames({
      attention_post_norm: "post_self_attn_layernorm",
      feed_forward_post_norm: "post_mlp_layernorm",
    }),
  },
];

/** The row of the table for a model. Throws UNSUPPORTED_MODEL for an unknown architecture. @internal */
export function architectureOf(reader: ConfigReader): Architecture {
  const namesOf = ({ gguf, huggingFace }: Architecture): readonly string[] => (reader.isGguf ? gguf : huggingFace);
  const found = ARCHITECTURES.find((architecture) => namesOf(architecture).includes(reader.architecture));
  if (found !== undefined) return found;
  const known = [...new Set(ARCHITECTURES.flatMap(namesOf))].join(", ");
  return reader.refuse(
    "UNSUPPORTED_MODEL",
    reader.isGguf ? "general.architecture" : "model_type",
    `architecture ${named(reader.architecture)} is not supported; supported are ${known}`,
  );
}

/**
 * Gemma scales attention by query_pre_attn_scalar, which GGUF omits. It is head_dim, except in the largest models (46
 * and 62 layers), where it is hidden_size / heads.
 */
function gemmaFactors(reader: ConfigReader): Partial<Factors> {
  const hidden = reader.integer(HIDDEN);
  const isLargest = reader.isGguf && [46, 62].includes(reader.integer(LAYERS));
  const headDim = isLargest
    ? hidden / reader.integer(HEADS)
    : reader.integer(["head_dim", "attention.key_length"], 256);
  const scalar = reader.number(["query_pre_attn_scalar", "attention.query_pre_attn_scalar"], headDim);
  return {
    attention_scale: scalar ** -0.5,
    attention_soft_cap: reader.number(["attn_logit_softcapping", "attn_logit_softcapping"], 0),
    embedding_scale: Math.sqrt(hidden),
    logit_soft_cap: reader.number(["final_logit_softcapping", "final_logit_softcapping"], 0),
  };
}

function graniteFactors(reader: ConfigReader): Partial<Factors> {
  return {
    attention_scale: reader.number(["attention_multiplier", "attention.scale"], NaN),
    embedding_scale: reader.number(["embedding_multiplier", "embedding_scale"], 1),
    residual_scale: reader.number(["residual_multiplier", "residual_scale"], 1),
    logit_scale: 1 / reader.number(["logits_scaling", "logit_scale"], 1),
  };
}

function qwenExperts(reader: ConfigReader): ReturnType<NonNullable<Architecture["experts"]>> {
  const step = reader.integer(["decoder_sparse_step", "decoder_sparse_step"], 1);
  const dense = reader.list(["mlp_only_layers", "mlp_only_layers"]) ?? [];
  const experts = reader.integer([["num_experts", "num_local_experts"], "expert_count"], undefined, 1, MAX_EXPERTS);
  return {
    experts,
    experts_used: reader.integer(["num_experts_per_tok", "expert_used_count"], undefined, 1, experts),
    normalizes_experts: reader.boolean(["norm_topk_prob", "norm_topk_prob"], reader.isGguf),
    feed_forward_size: reader.integer(["moe_intermediate_size", "expert_feed_forward_length"], undefined, 1, MAX_WIDTH),
    hasExperts: (layer) => !dense.includes(layer) && (layer + 1) % step === 0,
  };
}

// GGUF has no key for these two; the tensors in the file show them.

function isParallelStableLm(reader: ConfigReader): boolean {
  return reader.isGguf
    ? !reader.hasTensor("blk.0.ffn_norm.weight")
    : reader.boolean(["use_parallel_residual", ""], false);
}

function hasStableLmQueryKeyNorm(reader: ConfigReader): boolean {
  return reader.isGguf ? reader.hasTensor("blk.0.attn_q_norm.weight") : reader.boolean(["qk_layernorm", ""], false);
}

/** Qwen2: layers from max_window_layers on have a sliding window, if use_sliding_window is set. */
function isQwen2Sliding(layer: number, reader: ConfigReader): boolean {
  return (
    reader.boolean(["use_sliding_window", "use_sliding_window"], false) &&
    layer >= reader.integer(["max_window_layers", "max_window_layers"], 2 ** 30, 0)
  );
}
