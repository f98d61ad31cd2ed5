// Nemotron-H, whose layers have one block each: Mamba-2, attention without RoPE, feed-forward or experts.
import type { RecurrenceConfig } from "../../../core/memory/model_fields.js";
import type { ConfigReader } from "../config/config_reader.js";
import { MAX_HEADS, MAX_WIDTH } from "../config/limits.js";
import type { Architecture, ExpertConfig, LayerShape } from "./parts/architecture.js";
import { hiddenActivation, LAYER_TYPES, llama } from "./parts/common.js";
import { groupedExperts } from "./parts/grouped_experts.js";
import { mambaNames } from "./mamba.js";
import { mamba2Sizes } from "./parts/mamba_sizes.js";
import { requireSilu, size } from "./parts/recurrence_keys.js";

type Block = "mamba" | "attention" | "mlp" | "moe";

/** Names of blocks in `layers_block_type`, and letters in `hybrid_override_pattern` of older files. */
const BLOCKS: Readonly<Record<string, Block>> = {
  linear_attention: "mamba",
  mamba: "mamba",
  full_attention: "attention",
  attention: "attention",
  mlp: "mlp",
  moe: "moe",
  M: "mamba",
  "*": "attention",
  "-": "mlp",
  E: "moe",
};
const IN_ORDER: readonly Block[] = ["mamba", "moe", "attention", "mlp"];

/** @internal */
export const NEMOTRON_H_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["nemotron_h"],
    gguf: ["nemotron_h", "nemotron_h_moe"],
    activation: hiddenActivation("relu2", "relu2", ["mlp_hidden_act"]), // Mamba has another one
    isGated: false,
    // llama.cpp takes the other epsilon if this one is left out
    ggufEpsilon: (reader) => reader.number(["", "attention.layer_norm_epsilon"], 1e-5),
    hasNoRope: true,
    norms: (reader, layer) => [isOfFeedForward(blockOf(reader)(layer)) ? "feed_forward_norm" : "attention_norm"],
    experts: nemotronExperts,
    feedForwardSize: (reader) => (reader.isGguf || hasBlock(reader, "mlp") ? undefined : 1),
    recurrence: nemotronSizes,
    layer: nemotronLayers,
    check: (reader) => {
      requireSilu("mamba_hidden_act")(reader);
      requireNoLatentExperts(reader);
    },
    names: {
      layer: "backbone.layers.{n}.",
      embedding: "backbone.embeddings",
      final_norm: "backbone.norm_f",
      head: "lm_head",
      layers: {
        attention_norm: "norm",
        feed_forward_norm: "norm",
        ...mambaNames("mixer."),
        query: "mixer.q_proj",
        key: "mixer.k_proj",
        value: "mixer.v_proj",
        output: "mixer.o_proj",
        up: "mixer.up_proj",
        down: "mixer.down_proj",
        router: "mixer.gate",
        router_bias: "mixer.gate.e_score_correction_bias",
        expert_up: "mixer.experts.{e}.up_proj",
        expert_down: "mixer.experts.{e}.down_proj",
        shared_up: "mixer.shared_experts.up_proj",
        shared_down: "mixer.shared_experts.down_proj",
      },
    },
    ggufNames: { feed_forward_norm: "attn_norm" },
  },
];

function isOfFeedForward(block: Block): boolean {
  return block === "mlp" || block === "moe";
}

/** The block of each layer. In GGUF, Mamba has neither heads of keys nor an inner size of feed-forward. */
function blockOf(reader: ConfigReader): (layer: number) => Block {
  if (reader.isGguf) {
    const heads = reader.list(["", "attention.head_count_kv"]);
    const sizes = reader.list(["", "feed_forward_length"]);
    const hasExperts = reader.integer(["", "expert_count"], 0, 0) > 0;
    return (layer) => {
      if (sizes !== undefined && sizes[layer] !== 0) return hasExperts ? "moe" : "mlp";
      return heads?.[layer] === 0 ? "mamba" : "attention";
    };
  }
  const blocks = listed(reader);
  return (layer) =>
    blocks[layer] ?? reader.refuse("INVALID_FILE", "layers_block_type", `doesn't say what layer ${layer} is`);
}

function listed(reader: ConfigReader): readonly (Block | undefined)[] {
  const types = reader.list([LAYER_TYPES, ""]);
  const { value: pattern } = reader.find(["hybrid_override_pattern", ""]);
  const letters = typeof pattern === "string" ? Array.from(pattern) : undefined;
  return (types ?? letters)?.map((type) => BLOCKS[String(type)]) ?? IN_ORDER;
}

function hasBlock(reader: ConfigReader, block: Block): boolean {
  return listed(reader).includes(block);
}

function nemotronLayers(reader: ConfigReader): (layer: number) => LayerShape {
  const block = blockOf(reader);
  return (layer) => {
    const own = block(layer);
    if (isOfFeedForward(own)) return { has_attention: false };
    return { has_feed_forward: false, ...(own === "mamba" && { recurrence: "mamba2" as const }) };
  };
}

function nemotronSizes(reader: ConfigReader): Partial<RecurrenceConfig> {
  const heads = ["mamba_num_heads", 128] as const;
  const sizes = mamba2Sizes(reader, {
    kernel: ["conv_kernel", 4],
    heads,
    groups: ["n_groups", 8],
    state: ["ssm_state_size", 128],
    inner: () => reader.integer([heads[0], ""], heads[1], 1, MAX_HEADS) * size(reader, ["mamba_head_dim", ""], 64),
  });
  if (reader.isGguf) return sizes;
  return {
    ...sizes,
    least_step: reader.number(["time_step_min", ""]),
    largest_step: Infinity,
  };
}

function nemotronExperts(reader: ConfigReader): ExpertConfig | undefined {
  const has = reader.isGguf ? reader.integer(["", "expert_count"], 0, 0) > 0 : hasBlock(reader, "moe");
  if (!has) return undefined;
  const block = blockOf(reader);
  return {
    ...groupedExperts(reader, { weight: "sigmoid", normalizes: true, gguf: { weight: "sigmoid", ignoresKey: true } }),
    shared_expert_size: reader.integer(
      ["moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length"],
      7688,
      0,
      MAX_WIDTH,
    ),
    hasExperts: (layer) => block(layer) === "moe",
  };
}

function requireNoLatentExperts(reader: ConfigReader): void {
  if (reader.isGguf && reader.integer(["", "expert_count"], 0, 0) === 0) return;
  const { value, path } = reader.find(["moe_latent_size", "moe_latent_size"]);
  if (value !== undefined && value !== 0)
    reader.refuse("UNSUPPORTED_MODEL", path, "experts of another width than the hidden size aren't supported");
}
