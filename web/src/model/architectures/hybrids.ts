// Models with recurrent layers beside attention or instead of it: LFM2, Qwen3-Next and 3.5, Granite 4, Mamba.
import { isDict } from "../../base/dict.js";
import type { ConfigKey, ConfigReader } from "../config_reader.js";
import { MAX_HEADS, MAX_WIDTH } from "../limits.js";
import { LLAMA_NAMES, type LayerNames, llamaNames } from "../weights/tensor_names.js";
import type { Architecture, ExpertConfig, LayerShape, RecurrenceSizes } from "./architecture.js";
import { HIDDEN, hiddenActivation, llama, PRE_NORMS, QK_NORMS } from "./common.js";
import { readExperts } from "./experts.js";
import { graniteExperts, graniteFactors } from "./llama.js";
import { qwenExperts, QWEN_EXPERT_NAMES } from "./qwen.js";

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
  gatesAttention: true,
  recurrence: deltaSizes,
  layer: qwenLayers,
  ggufNames: { feed_forward_norm: "post_attention_norm" },
};

const mambaNames = (prefix: string): LayerNames => ({
  recurrent_all: `${prefix}in_proj`,
  recurrent_out: `${prefix}out_proj`,
  convolution: `${prefix}conv1d`,
  recurrent_norm: `${prefix}norm`,
  recurrent_step_offset: `${prefix}dt_bias`,
  decay_log: `${prefix}A_log`,
  skip: `${prefix}D`,
});

const pureMamba: Omit<Architecture, "huggingFace" | "gguf" | "recurrence" | "layer" | "names"> = {
  ...llama,
  norms: () => ["attention_norm"],
  hasNoAttention: true,
};
const MAMBA_NAMES = {
  layer: "backbone.layers.{n}.",
  embedding: "backbone.embeddings",
  final_norm: "backbone.norm_f",
  head: "lm_head",
};

/** @internal */
export const HYBRID_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["lfm2"],
    gguf: ["lfm2"],
    norms: () => [...PRE_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "head",
    feedForwardSize: lfm2FeedForward,
    recurrence: convolutionSizes,
    layer: layersOf("conv", "convolution", lfm2Convolves),
    names: LFM2_NAMES,
    ggufNames: LFM2_GGUF,
    ggufFinalNorm: "token_embd_norm",
  },
  {
    ...llama,
    huggingFace: ["lfm2_moe"],
    gguf: ["lfm2moe"],
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
  {
    ...llama,
    huggingFace: ["granitemoehybrid"],
    gguf: ["granitehybrid"],
    activation: hiddenActivation("silu"),
    factors: graniteFactors,
    experts: (reader) => (hasGraniteExperts(reader) ? graniteExperts(reader) : undefined),
    feedForwardSize: (reader) =>
      hasGraniteExperts(reader) ? undefined : reader.integer(["shared_intermediate_size", "feed_forward_length"], 1024),
    recurrence: graniteSizes,
    layer: layersOf("linear_attention mamba", "mamba2", () => () => true),
    names: llamaNames({
      ...mambaNames("mamba."),
      router: "block_sparse_moe.router.layer",
      expert_gate_up: "block_sparse_moe.input_linear",
      expert_down: "block_sparse_moe.output_linear",
      shared_gate_up: "shared_mlp.input_linear",
      shared_down: "shared_mlp.output_linear",
      gate_up: "shared_mlp.input_linear",
      down: "shared_mlp.output_linear",
    }),
  },
  {
    ...pureMamba,
    huggingFace: ["mamba2"],
    gguf: ["mamba2"],
    recurrence: mamba2Sizes,
    layer: () => () => ({ recurrence: "mamba2", has_feed_forward: false }),
    names: { ...MAMBA_NAMES, layers: { attention_norm: "norm", ...mambaNames("mixer.") } },
  },
  {
    ...pureMamba,
    huggingFace: ["mamba", "falcon_mamba"],
    gguf: ["mamba"],
    recurrence: mambaSizes,
    layer: () => () => ({ recurrence: "mamba", has_feed_forward: false }),
    names: {
      ...MAMBA_NAMES,
      layers: {
        attention_norm: "norm",
        ...mambaNames("mixer."),
        recurrent_select: "mixer.x_proj",
        recurrent_step: "mixer.dt_proj",
        recurrent_step_offset: "mixer.dt_proj.bias",
      },
    },
    ggufNames: { recurrent_step: "ssm_dt" },
  },
];

/** Layers that config.json names in `layer_types`. In GGUF, those without heads of keys, or those of a list. */
function layersOf(
  names: string,
  recurrence: Exclude<LayerShape["recurrence"], undefined>,
  byDefault: (reader: ConfigReader) => (layer: number) => boolean,
) {
  return (reader: ConfigReader): ((layer: number) => LayerShape) => {
    const kinds = reader.list([["layer_types", "layers_block_type"], "attention.head_count_kv"]);
    const isRecurrent =
      kinds === undefined
        ? byDefault(reader)
        : (layer: number): boolean =>
            reader.isGguf ? kinds[layer] === 0 : names.split(" ").includes(String(kinds[layer]));
    return (layer) => (isRecurrent(layer) ? { recurrence } : {});
  };
}

/** Older configs of LFM2 list the layers with attention. By default all are. */
function lfm2Convolves(reader: ConfigReader): (layer: number) => boolean {
  const attending = reader.list(["full_attn_idxs", ""]);
  return (layer) => attending !== undefined && !attending.includes(layer);
}

function qwenLayers(reader: ConfigReader): (layer: number) => LayerShape {
  const every = reader.integer(["full_attention_interval", "full_attention_interval"], 4);
  const kinds = reader.list(["layer_types", "attention.recurrent_layers"]);
  const isRecurrent = (layer: number): boolean => {
    if (kinds === undefined) return (layer + 1) % every !== 0;
    return reader.isGguf ? Boolean(kinds[layer]) : kinds[layer] === "linear_attention";
  };
  return (layer) => (isRecurrent(layer) ? { recurrence: "delta" } : {});
}

function size(reader: ConfigReader, key: ConfigKey, fallback?: number): number {
  return reader.integer(key, fallback, 1, MAX_WIDTH);
}

function convolutionSizes(reader: ConfigReader): Partial<RecurrenceSizes> {
  return {
    recurrence_kernel: size(reader, ["conv_L_cache", "shortconv.l_cache"], 3),
    recurrence_inner: size(reader, HIDDEN),
  };
}

/** LFM2 derives the size from another one, unless its config says that it is final. */
function lfm2FeedForward(reader: ConfigReader): number {
  const given = size(reader, [["block_ff_dim", "intermediate_size"], "feed_forward_length"], 12288);
  if (reader.isGguf || !reader.boolean(["block_auto_adjust_ff_dim", ""], true)) return given;
  const scaled = Math.trunc(reader.number(["block_ffn_dim_multiplier", ""], 1) * Math.trunc((2 * given) / 3));
  const multiple = size(reader, ["block_multiple_of", ""], 256);
  return multiple * Math.ceil(scaled / multiple);
}

function lfm2Experts(reader: ConfigReader): ExpertConfig {
  const dense = reader.integer(["num_dense_layers", "leading_dense_block_count"], 2, 0);
  return {
    ...readExperts(reader, {
      experts: ["num_experts"],
      used: ["num_experts_per_tok"],
      size: ["moe_intermediate_size"],
      normalizes: [true, true],
      hasExperts: (layer) => layer >= dense,
    }),
    weight: "sigmoid",
    expert_scale: reader.number(["routed_scaling_factor", "expert_weights_scale"], 1),
  };
}

function deltaSizes(reader: ConfigReader): Partial<RecurrenceSizes> {
  const heads = reader.integer(["linear_num_value_heads", "ssm.time_step_rank"], 32, 1, MAX_HEADS);
  const inner = reader.isGguf
    ? size(reader, ["", "ssm.inner_size"])
    : heads * size(reader, ["linear_value_head_dim", ""], 128);
  return {
    recurrence_kernel: size(reader, ["linear_conv_kernel_dim", "ssm.conv_kernel"], 4),
    recurrence_inner: inner,
    recurrence_heads: heads,
    recurrence_key_heads: reader.integer(["linear_num_key_heads", "ssm.group_count"], 16, 1, heads),
    recurrence_key_size: size(reader, ["linear_key_head_dim", "ssm.state_size"], 128),
    recurrence_is_tiled: reader.isGguf && reader.architecture !== "qwen3next",
  };
}

function hasGraniteExperts(reader: ConfigReader): boolean {
  return reader.integer(["num_local_experts", "expert_count"], reader.isGguf ? 0 : 8, 0) > 0;
}

function stepLimits(reader: ConfigReader): Partial<RecurrenceSizes> {
  const { value, path } = reader.find(["time_step_limit", ""]);
  if (value === undefined) return {};
  const limits = Array.isArray(value) ? (value as unknown[]) : [];
  const [least, largest] = limits.map((limit) => (isInfinite(limit) ? Infinity : limit));
  if (typeof least !== "number" || typeof largest !== "number" || !(least >= 0 && least <= largest))
    return reader.refuse("INVALID_FILE", path, "must be two numbers, the least and the largest step");
  return { recurrence_least_step: least, recurrence_largest_step: largest };
}

/** JSON has no infinity. */
function isInfinite(limit: unknown): boolean {
  return limit === null || (isDict(limit) ? limit["__float__"] : limit) === "Infinity";
}

function mamba2Of(
  reader: ConfigReader,
  keys: Readonly<Record<"kernel" | "heads" | "groups" | "state" | "expand", readonly [string, number]>>,
): Partial<RecurrenceSizes> {
  const [heads, groups] = [keys.heads, keys.groups];
  const inner = reader.isGguf
    ? size(reader, ["", "ssm.inner_size"])
    : Math.trunc(reader.number([keys.expand[0], ""], keys.expand[1]) * size(reader, HIDDEN));
  const count = reader.integer([heads[0], "ssm.time_step_rank"], heads[1], 1, MAX_HEADS);
  const groupCount = reader.integer([groups[0], "ssm.group_count"], groups[1], 1, count);
  return {
    recurrence_kernel: size(reader, [keys.kernel[0], "ssm.conv_kernel"], keys.kernel[1]),
    recurrence_inner: inner,
    recurrence_heads: count,
    recurrence_key_heads: groupCount,
    recurrence_key_size: size(reader, [keys.state[0], "ssm.state_size"], keys.state[1]),
    recurrence_norm_groups: groupCount,
    ...stepLimits(reader),
  };
}

function graniteSizes(reader: ConfigReader): Partial<RecurrenceSizes> {
  return mamba2Of(reader, {
    kernel: ["mamba_d_conv", 4],
    heads: ["mamba_n_heads", 128],
    groups: ["mamba_n_groups", 1],
    state: ["mamba_d_state", 256],
    expand: ["mamba_expand", 2],
  });
}

function mamba2Sizes(reader: ConfigReader): Partial<RecurrenceSizes> {
  return mamba2Of(reader, {
    kernel: ["conv_kernel", 4],
    heads: ["num_heads", 128],
    groups: ["n_groups", 8],
    state: ["state_size", 128],
    expand: ["expand", 2],
  });
}

function mambaSizes(reader: ConfigReader): Partial<RecurrenceSizes> {
  const hidden = size(reader, HIDDEN);
  const { value } = reader.find(["time_step_rank", "ssm.time_step_rank"]);
  const automatic = Math.ceil(hidden / 16);
  const isFalcon = reader.isGguf
    ? reader.boolean(["", "ssm.dt_b_c_rms"], false)
    : reader.architecture === "falcon_mamba";
  const epsilon = reader.isGguf
    ? reader.number(["", "attention.layer_norm_rms_epsilon"], 1e-6)
    : reader.number(["mixer_rms_eps", ""], 1e-6);
  return {
    recurrence_kernel: size(reader, ["conv_kernel", "ssm.conv_kernel"], 4),
    recurrence_inner: reader.isGguf
      ? size(reader, ["", "ssm.inner_size"])
      : Math.trunc(reader.number(["expand", ""], 2) * hidden),
    recurrence_key_size: size(reader, ["state_size", "ssm.state_size"], 16),
    recurrence_step_rank:
      value === "auto" || value === undefined
        ? automatic
        : size(reader, ["time_step_rank", "ssm.time_step_rank"], automatic),
    recurrence_select_epsilon: isFalcon ? epsilon : 0,
  };
}
