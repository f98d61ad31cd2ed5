// What each architecture does, a table. Sources: the modelling code of transformers, and for GGUF llama.cpp's.
import type { Architecture, Factors } from "./architecture.js";
import type { Facts, Key } from "./facts.js";
import { LLAMA_NAMES, llamaNames, type MatrixRole, type NormRole } from "./roles.js";
import { everyLayer, slidingLayers } from "./windows.js";

const BEFORE: readonly NormRole[] = ["attention_norm", "feed_forward_norm"];
const AFTER: readonly NormRole[] = ["attention_post_norm", "feed_forward_post_norm"];
const QUERY_KEY: readonly NormRole[] = ["query_norm", "key_norm"];
const QKV: readonly MatrixRole[] = ["query", "key", "value"];

const HEADS: Key = [["num_attention_heads", "n_head"], "attention.head_count"];
const HIDDEN: Key = [["hidden_size", "n_embd"], "embedding_length"];
const LAYERS: Key = [["num_hidden_layers", "n_layer"], "block_count"];

const llama: Architecture = {
  huggingFace: ["llama"],
  gguf: ["llama"],
  norm: "rms",
  activation: "silu",
  isGated: true,
  norms: () => BEFORE,
  names: LLAMA_NAMES,
};

const gemma2: Architecture = {
  ...llama,
  huggingFace: ["gemma2"],
  gguf: ["gemma2"],
  activation: "gelu_tanh",
  norms: () => [...BEFORE, ...AFTER],
  normsLessOne: true,
  factors: gemmaFactors,
  window: slidingLayers((layer) => layer % 2 === 0),
  names: llamaNames({
    attention_post_norm: "post_attention_layernorm",
    feed_forward_norm: "pre_feedforward_layernorm",
    feed_forward_post_norm: "post_feedforward_layernorm",
  }),
};

/** Every architecture there is. @internal */
export const ARCHITECTURES: readonly Architecture[] = [
  llama,
  { ...llama, huggingFace: ["mistral"], gguf: [], window: everyLayer },
  { ...llama, huggingFace: ["smollm3"], gguf: ["smollm3"] },
  { ...llama, huggingFace: ["qwen2"], gguf: ["qwen2"], biases: () => QKV, window: slidingLayers(isPastFullLayers) },
  {
    ...llama,
    huggingFace: ["qwen3"],
    gguf: ["qwen3"],
    norms: () => [...BEFORE, ...QUERY_KEY],
    queryKeyNorm: () => "head",
  },
  {
    ...llama,
    huggingFace: ["qwen3_moe"],
    gguf: ["qwen3moe"],
    norms: () => [...BEFORE, ...QUERY_KEY],
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
    norms: () => [...BEFORE, ...AFTER, ...QUERY_KEY],
    queryKeyNorm: () => "head",
    window: slidingLayers((layer) => (layer + 1) % 6 !== 0),
    hasTwoRopes: true,
  },
  { ...llama, huggingFace: ["phi3"], gguf: ["phi3"], window: everyLayer },
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
    isParallel: (facts) => facts.flag(["use_parallel_residual", "use_parallel_residual"], true),
    biases: (facts) =>
      facts.flag(["attention_bias", "attention_bias"], true) ? [...QKV, "output", "up", "down"] : ["up", "down"],
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
    norms: (facts) => [
      ...(isParallelStableLm(facts) ? (["attention_norm"] as const) : BEFORE),
      ...(normsStableLmHeads(facts) ? QUERY_KEY : []),
    ],
    queryKeyNorm: (facts) => (normsStableLmHeads(facts) ? "each_head" : "none"),
    isParallel: isParallelStableLm,
    biases: (facts) => (facts.flag(["use_qkv_bias", "use_qkv_bias"], false) ? QKV : []),
    names: llamaNames({ query_norm: "self_attn.q_layernorm.norms.{h}", key_norm: "self_attn.k_layernorm.norms.{h}" }),
  },
  {
    ...llama,
    huggingFace: ["olmo2"],
    gguf: ["olmo2"],
    norms: () => [...AFTER, ...QUERY_KEY],
    queryKeyNorm: () => "all_heads",
    window: slidingLayers(() => false),
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
    norms: () => [...BEFORE, ...AFTER],
    biases: (facts) => (facts.flag(["attention_bias", "attention_bias"], true) ? QKV : []),
    names: llamaNames({
      attention_post_norm: "post_self_attn_layernorm",
      feed_forward_post_norm: "post_mlp_layernorm",
    }),
  },
];

/** The line of the table for a model. Unknown architectures are refused by name. @internal */
export function architectureOf(facts: Facts): Architecture {
  const namesOf = ({ gguf, huggingFace }: Architecture): readonly string[] => (facts.isGguf ? gguf : huggingFace);
  const found = ARCHITECTURES.find((architecture) => namesOf(architecture).includes(facts.architecture));
  if (found !== undefined) return found;
  const known = [...new Set(ARCHITECTURES.flatMap(namesOf))].join(", ");
  throw facts.error(
    "UNSUPPORTED_MODEL",
    facts.isGguf ? "general.architecture" : "model_type",
    `${facts.architecture} is not supported; there are ${known}`,
  );
}

/** Gemma scales by its own number, which GGUF leaves out: it is head_dim, but hidden size over heads in the largest models. */
function gemmaFactors(facts: Facts): Partial<Factors> {
  const hidden = facts.integer(HIDDEN);
  const isLargest = facts.isGguf && [46, 62].includes(facts.integer(LAYERS));
  const headDim = isLargest ? hidden / facts.integer(HEADS) : facts.integer(["head_dim", "attention.key_length"], 256);
  const scalar = facts.number(["query_pre_attn_scalar", "attention.query_pre_attn_scalar"], headDim);
  return {
    attention_scale: scalar ** -0.5,
    attention_soft_cap: facts.number(["attn_logit_softcapping", "attn_logit_softcapping"], 0),
    embedding_scale: Math.sqrt(hidden),
    logit_soft_cap: facts.number(["final_logit_softcapping", "final_logit_softcapping"], 0),
  };
}

function graniteFactors(facts: Facts): Partial<Factors> {
  return {
    attention_scale: facts.number(["attention_multiplier", "attention.scale"], NaN),
    embedding_scale: facts.number(["embedding_multiplier", "embedding_scale"], 1),
    residual_scale: facts.number(["residual_multiplier", "residual_scale"], 1),
    logit_scale: 1 / facts.number(["logits_scaling", "logit_scale"], 1),
  };
}

function qwenExperts(facts: Facts): ReturnType<NonNullable<Architecture["experts"]>> {
  const step = facts.integer(["decoder_sparse_step", "decoder_sparse_step"], 1);
  const dense = facts.list(["mlp_only_layers", "mlp_only_layers"]) ?? [];
  return {
    experts: facts.integer([["num_experts", "num_local_experts"], "expert_count"]),
    experts_used: facts.integer(["num_experts_per_tok", "expert_used_count"]),
    normalizes_experts: facts.flag(["norm_topk_prob", "norm_topk_prob"], facts.isGguf),
    feed_forward_size: facts.integer(["moe_intermediate_size", "expert_feed_forward_length"]),
    isIn: (layer) => !dense.includes(layer) && (layer + 1) % step === 0,
  };
}

/** GGUF tells neither of these in a key; which tensors there are does. */
function isParallelStableLm(facts: Facts): boolean {
  return facts.isGguf ? !facts.hasTensor("blk.0.ffn_norm.weight") : facts.flag(["use_parallel_residual", ""], false);
}

function normsStableLmHeads(facts: Facts): boolean {
  return facts.isGguf ? facts.hasTensor("blk.0.attn_q_norm.weight") : facts.flag(["qk_layernorm", ""], false);
}

/** Qwen2 lets layers from max_window_layers on slide, where its config says so at all. */
function isPastFullLayers(layer: number, facts: Facts): boolean {
  return (
    facts.flag(["use_sliding_window", "use_sliding_window"], false) &&
    layer >= facts.integer(["max_window_layers", "max_window_layers"], 2 ** 30, 0)
  );
}
