// GPT-2, GPT-NeoX, GPT-J, StableLM, StarCoder2 and Nemotron: layer norms, and layers whose two halves may read the same input.
import type { Architecture } from "./parts/architecture.js";
import type { ConfigReader } from "../config/config_reader.js";
import { everyLayer, slidingWindows } from "./parts/sliding_windows.js";
import { llamaNames } from "./parts/tensor_names.js";
import { biasesIf, hiddenActivation, llama, PRE_NORMS, QK_NORMS, QKV } from "./parts/common.js";

/** GPT-2, GPT-NeoX, GPT-J, StableLM, StarCoder2 and Nemotron. @internal */
export const GPT_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["gpt2"],
    gguf: ["gpt2"],
    hasNoRope: true,
    norm: "layer",
    activation: hiddenActivation("gelu_tanh", "gelu_tanh", ["activation_function"]),
    isGated: false,
    biases: () => [...QKV, "output", "up", "down"],
    positions: (reader) => ({
      count: reader.isGguf
        ? reader.rowsOfTensor("position_embd.weight")
        : reader.integer([["n_positions", "max_position_embeddings"], ""]),
      unused: 0,
    }),
    factors: (reader) => (reader.boolean(["scale_attn_weights", ""], true) ? {} : { attention_scale: 1 }),
    check: refuseOtherGpt2,
    isTransposed: true,
    names: {
      layer: "transformer.h.{n}.",
      embedding: "transformer.wte",
      positions: "transformer.wpe",
      final_norm: "transformer.ln_f",
      head: "lm_head",
      layers: {
        attention_norm: "ln_1",
        query_key_value: "attn.c_attn",
        output: "attn.c_proj",
        feed_forward_norm: "ln_2",
        up: "mlp.c_fc",
        down: "mlp.c_proj",
      },
    },
  },
  {
    ...llama,
    huggingFace: ["gpt_neox"],
    gguf: ["gptneox"],
    norm: "layer",
    activation: hiddenActivation("gelu"),
    isGated: false,
    isParallel: (reader) => reader.boolean(["use_parallel_residual", "use_parallel_residual"], true),
    biases: (reader) =>
      reader.boolean(["attention_bias", "attention_bias"], true) ? [...QKV, "output", "up", "down"] : ["up", "down"],
    fusedBy: "head",
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
    activation: hiddenActivation("gelu_tanh", "gelu_tanh", ["activation_function"]),
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
    rotatesEvenWidths: true,
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
    huggingFace: ["starcoder2"],
    gguf: ["starcoder2"],
    norm: "layer",
    activation: hiddenActivation("gelu_tanh"),
    isGated: false,
    biases: biasesIf("use_bias", [...QKV, "output", "up", "down"], true),
    window: slidingWindows({ tokens: null, slides: everyLayer, ignoresTypes: true }),
    names: llamaNames({ up: "mlp.c_fc", down: "mlp.c_proj" }),
  },
  {
    ...llama,
    huggingFace: ["nemotron"],
    gguf: ["nemotron"],
    norm: "layer",
    normsLessOne: true,
    activation: hiddenActivation("relu2"),
    isGated: false,
  },
];

/** What the class of GPT-2 has, and no released model. */
function refuseOtherGpt2(reader: ConfigReader): void {
  for (const key of ["scale_attn_by_inverse_layer_idx", "add_cross_attention"])
    if (!reader.isGguf && reader.boolean([key, ""], false))
      reader.refuse("UNSUPPORTED_MODEL", key, `gpt2 with ${key} is not supported`);
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
