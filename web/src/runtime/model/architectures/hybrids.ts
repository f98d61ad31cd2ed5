// Models with recurrent layers beside those with attention: LFM2 and 3, Qwen3-Next and 3.5. Those with Mamba are in mamba.ts.
import { ggufRecurrentLayers } from "../../../core/config/rope_layers.js";
import type { RecurrenceConfig } from "../../../core/memory/model_fields.js";
import type { ConfigReader } from "../config/config_reader.js";
import { MAX_HEADS } from "../config/limits.js";
import { slidingWindows } from "./parts/sliding_windows.js";
import { LLAMA_NAMES, type LayerNames, llamaNames } from "./parts/tensor_names.js";
import type { Architecture, ExpertConfig, LayerShape } from "./parts/architecture.js";
import { biasesIf, HIDDEN, LAYERS, llama, POST_NORMS, PRE_NORMS, QK_NORMS, QKV } from "./parts/common.js";
import { readExperts, withRouting } from "./parts/experts.js";
import { ggufWeight } from "./parts/grouped_experts.js";
import { qwenExperts, QWEN_EXPERT_NAMES } from "./qwen.js";
import { layersOf, requireSilu, size } from "./parts/recurrence_keys.js";

const HALVES = { gate: "feed_forward.w1", up: "feed_forward.w3", down: "feed_forward.w2" };
const LFM2_NAMES = {
  ...LLAMA_NAMES,
  final_norm: "model.embedding_norm",
  layers: {
    attention_norm: "operator_norm",
    query: "self_attn.q_proj",
    key: "self_attn.k_proj",
    value: "self_attn.v_proj",
    output: "self_attn.out_proj",
    query_norm: "self_attn.q_layernorm",
    key_norm: "self_attn.k_layernorm",
    feed_forward_norm: "ffn_norm",
    recurrent_in: "conv.in_proj",
    recurrent_out: "conv.out_proj",
    convolution: "conv.conv",
    ...HALVES,
  },
};
const LFM2_GGUF: LayerNames = {
  recurrent_in: "shortconv.in_proj",
  recurrent_out: "shortconv.out_proj",
  convolution: "shortconv.conv",
};

const LFM3_NAMES = {
  ...LFM2_NAMES,
  layers: {
    ...LFM2_NAMES.layers,
    output: "self_attn.o_proj",
    query_norm: "self_attn.q_norm",
    key_norm: "self_attn.k_norm",
    attention_gate: "self_attn.gate_proj",
    attention_post_norm: "post_operator_norm",
    feed_forward_post_norm: "post_ffn_norm",
  },
};

/** The names of a gated delta network, after the prefix of the layer. */
const DELTA_NAMES: LayerNames = {
  convolution: "linear_attn.conv1d",
  recurrent_norm: "linear_attn.norm",
  recurrent_out: "linear_attn.out_proj",
  recurrent_step_offset: "linear_attn.dt_bias",
  decay_log: "linear_attn.A_log",
  query_norm: "self_attn.q_norm",
  key_norm: "self_attn.k_norm",
};
/** Qwen3-Next: two fused projections, ordered by key head. */
const FUSED_DELTA_NAMES: LayerNames = {
  ...DELTA_NAMES,
  recurrent_all: "linear_attn.in_proj_qkvz",
  recurrent_strength_step: "linear_attn.in_proj_ba",
};
const APART_DELTA_NAMES: LayerNames = {
  ...DELTA_NAMES,
  recurrent_in: "linear_attn.in_proj_qkv",
  recurrent_gate: "linear_attn.in_proj_z",
  recurrent_step: "linear_attn.in_proj_a",
  recurrent_strength: "linear_attn.in_proj_b",
};
/** Files of Qwen3.5 may stack the experts, with gate and up in one tensor. */
const STACKED_EXPERT_NAMES: LayerNames = { ...QWEN_EXPERT_NAMES, expert_gate_up: "mlp.experts.gate_up_proj" };

const qwenHybrid: Omit<Architecture, "huggingFace" | "gguf" | "names"> = {
  ...llama,
  norms: () => [...PRE_NORMS, ...QK_NORMS],
  normsLessOne: true,
  queryKeyNorm: () => "head",
  attentionGate: () => "elements",
  recurrence: deltaSizes,
  layer: qwenLayers,
  check: requireSilu("hidden_act"),
  ggufNames: { feed_forward_norm: "post_attention_norm" },
};

/** @internal */
export const HYBRID_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["lfm2"],
    gguf: ["lfm2"],
    activation: "silu", // not a key of its config
    norms: () => [...PRE_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "head",
    feedForwardSize: lfm2FeedForward,
    recurrence: convolutionSizes,
    window: slidingWindows(null, { slides: attendingLayers }), // only LFM2.5's audio tokenizer has one
    layer: layersOf("conv", "convolution", lfm2Convolves),
    names: LFM2_NAMES,
    ggufNames: LFM2_GGUF,
    ggufFinalNorm: "token_embd_norm",
  },
  {
    ...llama,
    huggingFace: ["lfm3"],
    gguf: ["lfm3"],
    activation: "silu", // not a key of its config
    norms: (reader) => [...PRE_NORMS, ...(hasSandwichNorms(reader) ? POST_NORMS : []), ...QK_NORMS],
    queryKeyNorm: () => "head",
    biases: biasesIf("attention_bias", [...QKV, "output"]),
    attentionGate: (reader) => (reader.boolean(["use_attention_gate", ""], true) ? "heads" : "none"),
    recurrence: convolutionSizes,
    window: slidingWindows(
      { tokens: 256, slides: () => (layer) => layer % 4 === 0 && layer > 0, others: "conv" },
      { slides: () => () => false },
    ),
    hasTwoRopes: true,
    layer: layersOf("conv", "convolution", () => (layer) => layer % 4 !== 2 && (layer % 4 !== 0 || layer === 0)),
    names: LFM3_NAMES,
    ggufNames: { ...LFM2_GGUF, attention_gate: "attn_gate" },
  },
  {
    ...llama,
    huggingFace: ["lfm2_moe"],
    gguf: ["lfm2moe"],
    activation: "silu",
    norms: () => [...PRE_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "head",
    recurrence: convolutionSizes,
    layer: layersOf("conv", "convolution", lfm2Convolves),
    experts: lfm2Experts,
    names: {
      ...LFM2_NAMES,
      layers: {
        ...LFM2_NAMES.layers,
        router: "feed_forward.gate",
        router_bias: "feed_forward.expert_bias",
        expert_gate_up: "feed_forward.experts.gate_up_proj",
        expert_gate: "feed_forward.experts.{e}.w1",
        expert_up: "feed_forward.experts.{e}.w3",
        expert_down: "feed_forward.experts.{e}.w2",
      },
    },
    ggufNames: LFM2_GGUF,
    ggufFinalNorm: "token_embd_norm",
  },
  {
    ...qwenHybrid,
    huggingFace: ["qwen3_next"],
    gguf: ["qwen3next"],
    experts: qwenExperts,
    names: llamaNames({ ...QWEN_EXPERT_NAMES, ...FUSED_DELTA_NAMES }),
  },
  {
    ...qwenHybrid,
    huggingFace: ["qwen3_5", "qwen3_5_text"],
    gguf: ["qwen35"],
    names: llamaNames(APART_DELTA_NAMES),
  },
  {
    ...qwenHybrid,
    huggingFace: ["qwen3_5_moe", "qwen3_5_moe_text"],
    gguf: ["qwen35moe"],
    experts: qwenExperts,
    names: llamaNames({ ...STACKED_EXPERT_NAMES, ...APART_DELTA_NAMES }),
  },
];

function attendingLayers(reader: ConfigReader): (layer: number) => boolean {
  const heads = reader.list(["", "attention.head_count_kv"]);
  return (layer) => heads?.[layer] !== 0;
}

function hasSandwichNorms(reader: ConfigReader): boolean {
  return reader.isGguf
    ? reader.hasTensor("blk.0.post_attention_norm.weight")
    : reader.boolean(["use_sandwich_norm", ""], true);
}

/** Older configs of LFM2 list the layers with attention. By default all are. */
function lfm2Convolves(reader: ConfigReader): (layer: number) => boolean {
  const attending = reader.list(["full_attn_idxs", ""]);
  return (layer) => attending !== undefined && !attending.includes(layer);
}

function qwenLayers(reader: ConfigReader): (layer: number) => LayerShape {
  if (reader.isGguf) {
    const isRecurrent = ggufRecurrentLayers(reader.source, reader.integer(LAYERS));
    return (layer) => (isRecurrent[layer] === true ? { recurrence: "delta" } : {});
  }
  const every = reader.integer(["full_attention_interval", ""], 4);
  const kinds = reader.list(["layer_types", ""]);
  const isRecurrent = (layer: number): boolean =>
    kinds === undefined ? (layer + 1) % every !== 0 : kinds[layer] === "linear_attention";
  return (layer) => (isRecurrent(layer) ? { recurrence: "delta" } : {});
}

function convolutionSizes(reader: ConfigReader): Partial<RecurrenceConfig> {
  return {
    kernel: size(reader, ["conv_L_cache", "shortconv.l_cache"], 3),
    inner: size(reader, HIDDEN),
  };
}

/** LFM2 derives the size from another one, unless its config says that it is final. */
function lfm2FeedForward(reader: ConfigReader): number {
  const given = size(reader, [["block_ff_dim", "intermediate_size"], "feed_forward_length"], 12288);
  if (reader.isGguf || !reader.boolean(["block_auto_adjust_ff_dim", ""], true)) return given;
  const scaled = Math.trunc(reader.number(["block_ffn_dim_multiplier", ""]) * Math.trunc((2 * given) / 3));
  const multiple = size(reader, ["block_multiple_of", ""]);
  return multiple * Math.ceil(scaled / multiple);
}

function lfm2Experts(reader: ConfigReader): ExpertConfig {
  const dense = reader.integer(["num_dense_layers", "leading_dense_block_count"], 2, 0);
  const experts = readExperts(reader, {
    experts: ["num_experts"],
    used: ["num_experts_per_tok"],
    size: ["moe_intermediate_size"],
    normalizes: [true, true],
    hasExperts: (layer) => layer >= dense,
  });
  if (reader.isGguf) return withRouting(experts, ggufWeight(reader, {}, true));
  return withRouting(experts, { weight: "sigmoid", scale: reader.number(["routed_scaling_factor", ""], 1) });
}

function deltaSizes(reader: ConfigReader): Partial<RecurrenceConfig> {
  const heads = reader.integer(["linear_num_value_heads", "ssm.time_step_rank"], 32, 1, MAX_HEADS);
  const inner = reader.isGguf
    ? size(reader, ["", "ssm.inner_size"])
    : heads * size(reader, ["linear_value_head_dim", ""], 128);
  return {
    kernel: size(reader, ["linear_conv_kernel_dim", "ssm.conv_kernel"], 4),
    inner,
    heads,
    key_heads: reader.integer(["linear_num_key_heads", "ssm.group_count"], 16, 1, heads),
    key_size: size(reader, ["linear_key_head_dim", "ssm.state_size"], 128),
    is_tiled: reader.isGguf && reader.architecture !== "qwen3next",
  };
}
