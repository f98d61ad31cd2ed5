// Models with Mamba layers: Mamba alone, before layers with attention (Granite 4, Bamba, Jamba), or beside attention in
// each layer (Falcon-H1). Nemotron-H is in nemotron_h.ts.
import type { RecurrenceConfig } from "../../../core/memory/model_fields.js";
import type { ConfigReader } from "../config/config_reader.js";
import { type LayerNames, llamaNames } from "./parts/tensor_names.js";
import type { Architecture, ExpertConfig, Factors, LayerShape } from "./parts/architecture.js";
import { biasesIf, HIDDEN, llama, QKV } from "./parts/common.js";
import { readExperts } from "./parts/experts.js";
import { graniteExperts, graniteFactors } from "./llama.js";
import { MAMBA_2_KEYS, mamba2Sizes, mambaSizes } from "./parts/mamba_sizes.js";
import { layersOf, requireSilu, size } from "./parts/recurrence_keys.js";

/** Names of Mamba-2 in transformers, after a prefix. @internal */
export const mambaNames = (prefix: string): LayerNames => ({
  recurrent_all: `${prefix}in_proj`,
  recurrent_out: `${prefix}out_proj`,
  convolution: `${prefix}conv1d`,
  recurrent_norm: `${prefix}norm`,
  recurrent_step_offset: `${prefix}dt_bias`,
  decay_log: `${prefix}A_log`,
  skip: `${prefix}D`,
});
/** What Mamba has that Mamba-2 doesn't. */
const selectNames = (prefix: string): LayerNames => ({
  recurrent_select: `${prefix}x_proj`,
  recurrent_step: `${prefix}dt_proj`,
  recurrent_step_offset: `${prefix}dt_proj.bias`,
});

/** Names of hybrid models with feed-forward blocks, besides those of Llama. */
const HYBRID_NAMES: LayerNames = {
  ...mambaNames("mamba."),
  feed_forward_norm: "pre_ff_layernorm",
  gate: "feed_forward.gate_proj",
  up: "feed_forward.up_proj",
  down: "feed_forward.down_proj",
};
const FINAL_NORM = { final_norm: "model.final_layernorm" };

const pureMamba: Omit<Architecture, "huggingFace" | "gguf" | "recurrence" | "layer" | "names"> = {
  ...llama,
  norms: () => ["attention_norm"],
  hasNoAttention: true,
  check: requireSilu("hidden_act"),
};
const PURE_NAMES = {
  layer: "backbone.layers.{n}.",
  embedding: "backbone.embeddings",
  final_norm: "backbone.norm_f",
  head: "lm_head",
};

/** @internal */
export const MAMBA_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["granitemoehybrid"],
    gguf: ["granitehybrid"],
    check: requireSilu("hidden_act"),
    factors: graniteFactors,
    experts: (reader) => (hasGraniteExperts(reader) ? graniteExperts(reader) : undefined),
    feedForwardSize: (reader) =>
      hasGraniteExperts(reader) ? undefined : reader.integer(["shared_intermediate_size", "feed_forward_length"], 1024),
    recurrence: (reader) => mamba2Sizes(reader, MAMBA_2_KEYS),
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
    ...llama,
    huggingFace: ["bamba"],
    gguf: [], // llama.cpp's converter writes granitehybrid
    check: requireSilu("hidden_act"),
    recurrence: (reader) => mamba2Sizes(reader, MAMBA_2_KEYS),
    layer: bambaLayers,
    names: llamaNames(HYBRID_NAMES, FINAL_NORM),
  },
  {
    ...llama,
    huggingFace: ["falcon_h1"],
    gguf: ["falcon-h1"],
    biases: biasesIf("attention_bias", [...QKV, "output"]),
    factors: falconFactors,
    recurrence: falconSizes,
    layer: () => () => ({ recurrence: "mamba2", has_attention: true }),
    check: requireSilu("hidden_act"),
    names: llamaNames(HYBRID_NAMES, FINAL_NORM),
  },
  {
    ...llama,
    huggingFace: ["jamba"],
    gguf: ["jamba"],
    check: requireSilu("hidden_act"),
    hasNoRope: true,
    experts: jambaExperts,
    recurrence: jambaSizes,
    layer: layersOf("mamba linear_attention", "mamba", jambaRecurs),
    names: llamaNames(
      {
        ...HYBRID_NAMES,
        ...selectNames("mamba."),
        recurrent_step_norm: "mamba.dt_layernorm",
        recurrent_key_norm: "mamba.b_layernorm",
        recurrent_query_norm: "mamba.c_layernorm",
        router: "feed_forward.router",
        expert_gate_up: "feed_forward.experts.gate_up_proj",
        expert_gate: "feed_forward.experts.{e}.gate_proj",
        expert_up: "feed_forward.experts.{e}.up_proj",
        expert_down: "feed_forward.experts.{e}.down_proj",
      },
      FINAL_NORM,
    ),
    ggufNames: { recurrent_step: "ssm_dt" },
  },
  {
    ...pureMamba,
    huggingFace: ["mamba2"],
    gguf: ["mamba2"],
    recurrence: (reader) =>
      mamba2Sizes(reader, {
        kernel: ["conv_kernel", 4],
        heads: ["num_heads", 128],
        groups: ["n_groups", 8],
        state: ["state_size", 128],
        inner: ["expand", 2],
      }),
    layer: () => () => ({ recurrence: "mamba2", has_feed_forward: false }),
    names: { ...PURE_NAMES, layers: { attention_norm: "norm", ...mambaNames("mixer.") } },
  },
  {
    ...pureMamba,
    huggingFace: ["mamba", "falcon_mamba"],
    gguf: ["mamba"],
    recurrence: pureMambaSizes,
    layer: () => () => ({ recurrence: "mamba", has_feed_forward: false }),
    names: {
      ...PURE_NAMES,
      layers: { attention_norm: "norm", ...mambaNames("mixer."), ...selectNames("mixer.") },
    },
    ggufNames: { recurrent_step: "ssm_dt" },
  },
];

function hasGraniteExperts(reader: ConfigReader): boolean {
  return reader.integer(["num_local_experts", "expert_count"], reader.isGguf ? 0 : 8, 0) > 0;
}

/** Its config lists the layers with attention. */
function bambaLayers(reader: ConfigReader): (layer: number) => LayerShape {
  const attending = reader.list(["attn_layer_indices", ""]) ?? [];
  return (layer) => (attending.includes(layer) ? {} : { recurrence: "mamba2" });
}

function falconSizes(reader: ConfigReader): Partial<RecurrenceConfig> {
  const { value } = reader.find(["mamba_d_ssm", ""]);
  const isGiven = value !== undefined && !reader.isGguf;
  const inner = isGiven ? (): number => size(reader, ["mamba_d_ssm", ""]) : MAMBA_2_KEYS.inner;
  return {
    ...mamba2Sizes(reader, { ...MAMBA_2_KEYS, inner }),
    has_norm: reader.isGguf ? reader.hasTensor("blk.0.ssm_norm.weight") : reader.boolean(["mamba_rms_norm", ""], false),
    norms_before_gate: !reader.isGguf && reader.boolean(["mamba_norm_before_gate", ""], true),
  };
}

/** Multipliers, which weights in GGUF contain already. */
function falconFactors(reader: ConfigReader): Partial<Factors> {
  if (reader.isGguf) return {};
  const factor = (key: string): number => reader.number([key, ""], 1);
  const [gate, down] = factorsOf(reader, "mlp_multipliers", 2);
  const [opened, value, key, query, step] = factorsOf(reader, "ssm_multipliers", 5);
  return {
    embedding_scale: factor("embedding_multiplier"),
    logit_scale: factor("lm_head_multiplier"),
    multipliers: {
      attention_in: factor("attention_in_multiplier"),
      key: factor("key_multiplier"),
      attention_out: factor("attention_out_multiplier"),
      gate: gate!,
      down: down!,
      recurrent_in: factor("ssm_in_multiplier"),
      recurrent_gate: opened!,
      recurrent_value: value!,
      recurrent_key: key!,
      recurrent_query: query!,
      recurrent_step: step!,
      recurrent_out: factor("ssm_out_multiplier"),
    },
  };
}

function factorsOf(reader: ConfigReader, key: string, count: number): number[] {
  const { value, path } = reader.find([key, ""]);
  const factors: unknown[] = value === undefined ? Array.from({ length: count }, () => 1) : [value].flat();
  if (factors.length !== count || !factors.every(Number.isFinite))
    reader.refuse("INVALID_FILE", path, `must be a list of ${count} numbers`);
  return factors as number[];
}

/** Every n-th layer has attention. */
function jambaRecurs(reader: ConfigReader): (layer: number) => boolean {
  const period = reader.integer(["attn_layer_period", ""], 8);
  const offset = reader.integer(["attn_layer_offset", ""], 4, 0);
  return (layer) => layer % period !== offset;
}

/** Every n-th layer has experts, of the size of feed-forward blocks. Models with one expert have none. */
function jambaExperts(reader: ConfigReader): ExpertConfig | undefined {
  if (reader.integer(["num_experts", "expert_count"], reader.isGguf ? 0 : 16, 0) <= 1) return undefined;
  const period = reader.integer(["expert_layer_period", ""], 2);
  const offset = reader.integer(["expert_layer_offset", ""], 1, 0);
  return readExperts(reader, {
    experts: ["num_experts"],
    used: ["num_experts_per_tok"],
    size: ["intermediate_size"],
    normalizes: [false, false],
    hasExperts: (layer) => layer % period === offset,
  });
}

function jambaSizes(reader: ConfigReader): Partial<RecurrenceConfig> {
  return {
    ...mambaSizes(reader, {
      kernel: ["mamba_d_conv", 4],
      state: ["mamba_d_state", 16],
      inner: ["mamba_expand", 2],
      rank: "mamba_dt_rank",
    }),
    select_norm_epsilon: reader.number(["rms_norm_eps", "attention.layer_norm_rms_epsilon"], 1e-6),
  };
}

/** transformers computes the size from `expand` only if the config doesn't give it. */
function pureMambaInner(reader: ConfigReader): number {
  const { value } = reader.find(["intermediate_size", ""]);
  if (value !== undefined) return size(reader, ["intermediate_size", ""]);
  return Math.trunc(reader.number(["expand", ""], 2) * size(reader, HIDDEN));
}

function pureMambaSizes(reader: ConfigReader): Partial<RecurrenceConfig> {
  const isFalcon = reader.isGguf
    ? reader.boolean(["", "ssm.dt_b_c_rms"], false)
    : reader.architecture === "falcon_mamba";
  return {
    ...mambaSizes(reader, {
      kernel: ["conv_kernel", 4],
      state: ["state_size", 16],
      inner: pureMambaInner,
      rank: "time_step_rank",
    }),
    select_norm_epsilon: isFalcon ? reader.number(["mixer_rms_eps", "attention.layer_norm_rms_epsilon"], 1e-6) : 0,
  };
}
