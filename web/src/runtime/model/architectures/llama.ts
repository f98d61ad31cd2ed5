// Llama and the architectures that differ from it by a number or two.
import * as advise from "../../../core/base/advice.js";
import type { ConfigKey, ConfigReader } from "../config/config_reader.js";
import { ropeLayers } from "../../../core/config/rope_layers.js";
import { allButFirstOf, everyLayer, type Slides, slidingWindows } from "./parts/sliding_windows.js";
import { llamaNames } from "./parts/tensor_names.js";
import type { Architecture, ExpertConfig, Factors } from "./parts/architecture.js";
import {
  biasesIf,
  HIDDEN,
  hiddenActivation,
  LAYERS,
  llama,
  POST_NORMS,
  PRE_NORMS,
  QK_NORMS,
  QKV,
} from "./parts/common.js";
import { readExperts, withRouting } from "./parts/experts.js";

const ALL = [...QKV, "output", "gate", "up", "down"] as const;

/** SmolLM3 with `use_sliding_window`. */
const layersWithoutRope: Slides = (reader, hasWindow) => {
  const isOn = hasWindow && reader.boolean(["use_sliding_window", ""], false);
  const hasRope = isOn ? ropeLayers(reader.source) : [];
  return (layer) => isOn && !hasRope[layer];
};

/** Llama, Mistral, Mixtral, Granite and others. @internal */
export const LLAMA_ROWS: readonly Architecture[] = [
  { ...llama, experts: mixtralExperts },
  {
    ...llama,
    huggingFace: ["mistral"],
    gguf: [],
    window: slidingWindows({ tokens: 4096, slides: everyLayer }), // with layer_types, transformers takes it for Ministral
  },
  { ...llama, huggingFace: ["ministral"], gguf: [], window: slidingWindows({ tokens: 4096, slides: everyLayer }) },
  {
    ...llama,
    huggingFace: ["ministral3"],
    gguf: ["mistral3"],
    window: slidingWindows({ tokens: null, slides: everyLayer, ignoresTypes: true }),
    temperature: "all",
  },
  {
    ...llama,
    huggingFace: ["mixtral"],
    gguf: [],
    window: slidingWindows({ tokens: null, slides: everyLayer, ignoresTypes: true }),
    experts: mixtralExperts,
    names: llamaNames({
      router: "block_sparse_moe.gate",
      expert_gate: "block_sparse_moe.experts.{e}.w1",
      expert_up: "block_sparse_moe.experts.{e}.w3",
      expert_down: "block_sparse_moe.experts.{e}.w2",
    }),
  },
  {
    ...llama,
    huggingFace: ["smollm3"],
    gguf: ["smollm3"],
    window: slidingWindows({ tokens: null, slides: layersWithoutRope }),
  },
  { ...llama, huggingFace: ["xverse"], gguf: ["xverse"] },
  { ...llama, huggingFace: ["helium"], gguf: [] },
  { ...llama, huggingFace: ["cwm"], gguf: [], window: slidingWindows({ tokens: 8192, slides: allButFirstOf(4) }) },
  {
    ...llama,
    huggingFace: ["internlm3"],
    gguf: [],
    biases: (reader) => [...biasesIf("qkv_bias", QKV)(reader), ...biasesIf("bias", ["gate", "up", "down"])(reader)],
  },
  { ...llama, huggingFace: ["orion"], gguf: ["orion"], norm: "layer" },
  {
    ...llama,
    huggingFace: ["jais2"],
    gguf: ["jais2"],
    norm: "layer",
    activation: hiddenActivation("relu2"),
    isGated: false,
    biases: (reader) => [
      ...biasesIf("attention_bias", [...QKV, "output"], true)(reader),
      ...biasesIf("mlp_bias", ["up", "down"], true)(reader),
    ],
  },
  {
    ...llama,
    huggingFace: ["hyperclovax"],
    gguf: [],
    factors: (reader) => ({ ...graniteFactors(reader), logit_scale: reader.number(["logits_scaling", ""]) }),
    norms: (reader) => [...PRE_NORMS, ...(reader.boolean(["use_post_norm", ""], true) ? POST_NORMS : [])],
    names: llamaNames({ attention_post_norm: "post_norm1", feed_forward_post_norm: "post_norm2" }),
  },
  { ...llama, huggingFace: ["granite"], gguf: ["granite"], factors: graniteFactors },
  {
    ...llama,
    huggingFace: ["granitemoe", "granitemoeshared"],
    gguf: ["granitemoe"],
    factors: graniteFactors,
    experts: graniteExperts,
    names: llamaNames({
      router: "block_sparse_moe.router.layer",
      expert_gate_up: "block_sparse_moe.input_linear",
      expert_down: "block_sparse_moe.output_linear",
      shared_gate_up: "shared_mlp.input_linear",
      shared_down: "shared_mlp.output_linear",
    }),
  },
  {
    ...llama,
    huggingFace: ["seed_oss"],
    gguf: ["seed_oss"],
    biases: seedBiases,
    ggufNames: { feed_forward_norm: "post_attention_norm" },
  },
  { ...llama, huggingFace: ["arcee"], gguf: ["arcee"], activation: hiddenActivation("relu2"), isGated: false },
  { ...llama, huggingFace: ["ernie4_5"], gguf: ["ernie4_5"], biases: biasesIf("use_bias", ALL) },
  {
    ...llama,
    huggingFace: ["ernie4_5_moe"],
    gguf: ["ernie4_5-moe"],
    biases: biasesIf("use_bias", [...QKV, "output"]),
    experts: ernieExperts,
    names: llamaNames({
      router: "mlp.gate",
      router_bias: "mlp.moe_statics.e_score_correction_bias",
      expert_gate: "mlp.experts.{e}.gate_proj",
      expert_up: "mlp.experts.{e}.up_proj",
      expert_down: "mlp.experts.{e}.down_proj",
      shared_gate: "mlp.shared_experts.gate_proj",
      shared_up: "mlp.shared_experts.up_proj",
      shared_down: "mlp.shared_experts.down_proj",
    }),
  },
  { ...llama, huggingFace: ["minicpm"], gguf: ["minicpm"], factors: minicpmFactors },
  {
    ...llama,
    huggingFace: ["internlm2"],
    gguf: ["internlm2"],
    biases: biasesIf("bias", [...QKV, "output"]),
    fusedBy: "group",
    names: {
      layer: "model.layers.{n}.",
      embedding: "model.tok_embeddings",
      final_norm: "model.norm",
      head: "output",
      layers: {
        attention_norm: "attention_norm",
        query_key_value: "attention.wqkv",
        output: "attention.wo",
        feed_forward_norm: "ffn_norm",
        gate: "feed_forward.w1",
        up: "feed_forward.w3",
        down: "feed_forward.w2",
      },
    },
  },
  {
    ...llama,
    huggingFace: ["apertus"],
    gguf: ["apertus"],
    activation: hiddenActivation("xielu"),
    isGated: false,
    norms: () => [...PRE_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "head",
    ggufNames: { xielu: "" },
    names: llamaNames({
      attention_norm: "attention_layernorm",
      feed_forward_norm: "feedforward_layernorm",
      xielu: "mlp.act_fn",
    }),
  },
  {
    ...llama,
    huggingFace: ["bitnet"],
    gguf: ["bitnet"],
    activation: hiddenActivation("relu2", "silu"),
    check: refuseQuantization,
    norms: () => [...PRE_NORMS, "attention_sub_norm", "feed_forward_sub_norm"],
    names: llamaNames({ attention_sub_norm: "self_attn.attn_sub_norm", feed_forward_sub_norm: "mlp.ffn_sub_norm" }),
  },
];

/** Weights to be rounded to three values as they are loaded, or packed ones, and inputs of products in 8 bits. */
function refuseQuantization(reader: ConfigReader): void {
  const { value, path } = reader.find(["quantization_config", ""]);
  if (value !== undefined)
    reader.refuse(
      "UNSUPPORTED_MODEL",
      path,
      "weights that are quantized as they are loaded are not supported",
      advise.other("use a GGUF file"),
    );
}

function mixtralExperts(reader: ConfigReader): ExpertConfig | undefined {
  if (reader.isGguf ? reader.integer(["", "expert_count"], 0, 0) === 0 : reader.architecture === "llama")
    return undefined;
  return readExperts(reader, {
    experts: ["num_local_experts"],
    used: ["num_experts_per_tok"],
    size: ["intermediate_size"],
    normalizes: [true, true],
  });
}

/** @internal */
export function graniteExperts(reader: ConfigReader): ExpertConfig {
  return readExperts(reader, {
    experts: ["num_local_experts"],
    used: ["num_experts_per_tok"],
    size: ["intermediate_size"],
    normalizes: [true, true],
    shared: () => reader.integer(["shared_intermediate_size", ""], 0, 0),
  });
}

/** Layers from the first to the last with experts, one in each interval. The config says -1 for the last layer. */
function ernieExperts(reader: ConfigReader): ExpertConfig {
  const [first, interval] = [
    ["moe_layer_start_index", 1, 0],
    ["moe_layer_interval", 1, 1],
  ].map(([key, value, least]) => reader.integer([key as string, ""], value as number, least as number)) as [
    number,
    number,
  ];
  const last = reader.integer(["moe_layer_end_index", ""], -1, -1);
  const experts = readExperts(reader, {
    experts: ["moe_num_experts", "num_experts"],
    used: ["moe_k", "num_experts_per_tok"],
    size: ["moe_intermediate_size"],
    normalizes: [true, true],
    hasExperts: (layer) => (layer + 1) % interval === 0 && layer >= first && (last === -1 || layer <= last),
    shared: () => reader.integer(["moe_intermediate_size", ""]) * reader.integer(["moe_num_shared_experts", ""], 2, 0),
  });
  if (reader.isGguf) return experts;
  return withRouting(experts, { least_sum: Math.max(1e-20, reader.number(["moe_norm_min", ""], 1e-12)) });
}

function seedBiases(reader: ConfigReader) {
  return [
    ...biasesIf("attention_bias", QKV, true)(reader),
    ...biasesIf("attention_out_bias", ["output"])(reader),
    ...biasesIf("mlp_bias", ["gate", "up", "down"])(reader),
  ];
}

/** @internal */
export function graniteFactors(reader: ConfigReader): Partial<Factors> {
  return {
    attention_scale: reader.number(["attention_multiplier", "attention.scale"], NaN),
    embedding_scale: reader.number(["embedding_multiplier", "embedding_scale"], 1),
    residual_scale: reader.number(["residual_multiplier", "residual_scale"], 1),
    logit_scale: 1 / reader.number(["logits_scaling", "logit_scale"], 1),
  };
}

/** Old GGUF files leave the factors out; the defaults are llama.cpp's. @internal */
export function minicpmFactors(reader: ConfigReader): Partial<Factors> {
  const [layers, hidden] = [reader.integer(LAYERS), reader.integer(HIDDEN)];
  // the code for MiniCPM 3 has them as constants
  if (reader.isGguf && reader.architecture === "minicpm3")
    return { embedding_scale: 12, residual_scale: 1.4 / Math.sqrt(layers), logit_scale: 256 / hidden };
  if (reader.isGguf)
    return {
      embedding_scale: reader.number(["", "embedding_scale"], 12),
      residual_scale: reader.number(["", "residual_scale"], 1.4 / Math.sqrt(layers)),
      logit_scale: 1 / reader.number(["", "logit_scale"], hidden / 256),
    };
  // transformers' class of MiniCPM 3 reads null as no scale
  const scale = (key: ConfigKey, factor: number): number => (reader.isNull(key) ? 1 : reader.number(key, 1) * factor);
  return {
    embedding_scale: reader.number(["scale_emb", ""], 1),
    residual_scale: scale(["scale_depth", ""], 1 / Math.sqrt(layers)),
    logit_scale: scale(["dim_model_base", ""], 1 / hidden),
  };
}
