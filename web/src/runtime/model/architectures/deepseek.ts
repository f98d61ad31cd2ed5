// DeepSeek-V2 and V3, and others with multi-head latent attention.
import { isDict } from "../../../core/base/dict.js";
import { show } from "../../../core/base/show.js";
import type { LatentConfig } from "../../../core/memory/model_fields.js";
import type { ConfigKey, ConfigReader } from "../config/config_reader.js";
import { MAX_HEAD_DIM } from "../config/limits.js";
import { llamaNames } from "./parts/tensor_names.js";
import type { Architecture, ExpertConfig, LayerShape } from "./parts/architecture.js";
import { HEADS, HIDDEN, LAYERS, llama, PRE_NORMS } from "./parts/common.js";
import { withRouting } from "./parts/experts.js";
import { GROUPED_NAMES, groupedExperts, type RoutingDefaults } from "./parts/grouped_experts.js";
import { minicpmFactors } from "./llama.js";

const GGUF = { weight: ggufDefault };
const V2: RoutingDefaults = { weight: "softmax", gguf: GGUF, shared: 2, groups: { best: 1 } };
const V3: RoutingDefaults = {
  ...{ weight: "sigmoid", gguf: GGUF, normalizes: true, dense: 3, shared: 1, scale: 2.5 },
  groups: { best: 2, groups: 8, used: 4 },
};

const deepseek2: Architecture = {
  ...llama,
  huggingFace: ["deepseek_v2"],
  gguf: ["deepseek2"],
  norms: (reader) => [...PRE_NORMS, "latent_norm", ...(hasQueryLatent(reader) ? (["query_latent_norm"] as const) : [])],
  latent: latentSizes,
  check: refuseOtherScaling,
  layer: denseLayers,
  experts: (reader) => expertsIfAny(reader, V2),
  names: llamaNames({
    query_latent: "self_attn.q_a_proj",
    query_latent_norm: "self_attn.q_a_layernorm",
    query_up: "self_attn.q_b_proj",
    latent: "self_attn.kv_a_proj_with_mqa",
    latent_norm: "self_attn.kv_a_layernorm",
    key_value_up: "self_attn.kv_b_proj",
    ...GROUPED_NAMES,
  }),
};

const deepseek3: Architecture = {
  ...deepseek2,
  huggingFace: ["deepseek_v3", "kimi_k2"],
  gguf: [],
  experts: (reader) => expertsIfAny(reader, V3),
};

/** DeepSeek-V2, V3, Kimi-K2 and others with latent attention. @internal */
export const DEEPSEEK_ROWS: readonly Architecture[] = [
  deepseek2,
  deepseek3,
  {
    ...deepseek3,
    huggingFace: ["glm4_moe_lite"],
    check: refusePartialRotation,
    experts: (reader) => groupedExperts(reader, { ...V3, dense: 1, scale: 1.8, groups: { best: 2 } }),
  },
  {
    ...deepseek3,
    huggingFace: ["mistral4"],
    gguf: ["mistral4"],
    temperature: "all",
    experts: (reader) => groupedExperts(reader, { weight: "softmax", gguf: GGUF, normalizes: true, shared: 1 }),
    expertLayout: "rows",
    names: {
      ...deepseek2.names,
      layers: {
        ...deepseek2.names.layers,
        expert_gate_up: "mlp.experts.gate_up_proj",
        expert_down: "mlp.experts.down_proj",
      },
    },
  },
  { ...deepseek3, huggingFace: ["youtu"], experts: () => undefined },
  {
    ...deepseek3,
    huggingFace: ["minicpm3"],
    gguf: ["minicpm3"],
    experts: () => undefined,
    factors: minicpmFactors,
  },
];

/** llama.cpp knows GLM-4.7-Flash by its sizes. */
function ggufDefault(reader: ConfigReader): "softmax" | "sigmoid" {
  const isGlm = [47, 48].includes(reader.integer(LAYERS)) && reader.rowsOf(/^token_embd\.weight$/) === 154880;
  return isGlm ? "sigmoid" : "softmax";
}

/** Some models have none: V2's own code builds dense layers without the number of experts. */
function expertsIfAny(reader: ConfigReader, defaults: RoutingDefaults): ExpertConfig | undefined {
  if (reader.integer(["n_routed_experts", "expert_count"], 0, 0) === 0) return undefined;
  const experts = groupedExperts(reader, defaults);
  if (reader.isGguf || reader.architecture !== "deepseek_v2") return experts;
  const isGrouped = reader.find(["topk_method", ""]).value === "group_limited_greedy";
  // V2 never normalizes, whatever its config says
  return withRouting(experts, { normalizes: false, ...(!isGrouped && { groups: 1, groups_used: 1 }) });
}

function hasQueryLatent(reader: ConfigReader): boolean {
  const { value } = reader.find(["q_lora_rank", "attention.q_lora_rank"]);
  return reader.isGguf ? reader.hasTensor("blk.0.attn_q_a.weight") : value !== undefined;
}

function latentSizes(reader: ConfigReader): LatentConfig {
  if (reader.boolean(["attention_bias", ""], false)) {
    const message = "is true: this package doesn't support biases of the latents' projections";
    reader.refuse("UNSUPPORTED_MODEL", "attention_bias", message);
  }
  const size = (config: string, gguf: string, fallback?: number): number =>
    reader.integer([config, gguf], fallback, 1, MAX_HEAD_DIM);
  const latent = size("kv_lora_rank", "attention.kv_lora_rank");
  const rotated = size("qk_rope_head_dim", "rope.dimension_count");
  const equalValues = Math.floor(reader.integer(HIDDEN) / reader.integer(HEADS));
  // older GGUF files have the sizes of heads before the products were absorbed
  // llama.cpp's code for MiniCPM 3 reads these alone
  const isOlder = reader.architecture === "minicpm3";
  const sizeGguf = (key: string, fallback?: number): number =>
    isOlder ? size("", key, fallback) : size("", `${key}_mla`, size("", key, fallback));
  const key = reader.isGguf ? sizeGguf("attention.key_length") : 0;
  return {
    latent,
    rotated,
    plain: reader.isGguf ? key - rotated : size("qk_nope_head_dim", ""),
    value: reader.isGguf ? sizeGguf("attention.value_length", equalValues) : size("v_head_dim", "", equalValues),
    query: hasQueryLatent(reader) ? size("q_lora_rank", "attention.q_lora_rank") : 0,
  };
}

function denseLayers(reader: ConfigReader): (layer: number) => LayerShape {
  reader.integer(HEADS);
  return () => ({});
}

/**
 * llama.cpp puts the factor on cos and sin into the scale of scores too, a factor that other scalings have in its code alone.
 * With YaRN's log multiplier it is 1.
 */
function refuseOtherScaling(reader: ConfigReader): void {
  if (!reader.isGguf || reader.architecture === "minicpm3") return;
  const scaling = (key: string): ConfigKey => ["", `rope.scaling.${key}`];
  const refuse = (key: string, message: string): never =>
    reader.refuse("UNSUPPORTED_MODEL", reader.find(scaling(key)).path, message);
  const attn = reader.number(scaling("attn_factor"), 1);
  if (attn !== 1) refuse("attn_factor", `must be 1 in a model with latent attention (got ${attn})`);
  const factor = reader.number(scaling("factor"), reader.number(["", "rope.scale_linear"], 0)) || 1;
  const { value: type = "linear" } = reader.find(scaling("type"));
  if (factor === 1 || type === "none") return;
  if (type !== "yarn")
    refuse("type", `must be yarn in a model with latent attention and a rope.scaling.factor or rope.scale_linear`);
  const multiplier = reader.number(scaling("yarn_log_multiplier"), 0);
  const isOne = Math.fround(multiplier) === Math.fround(0.1); // files have a tenth of it
  if (multiplier === 0 || (reader.architecture !== "deepseek2" && !isOne))
    refuse(
      "yarn_log_multiplier",
      `must be ${reader.architecture === "deepseek2" ? "above 0" : "0.1"} (got ${multiplier})`,
    );
}

/** The class rotates a part of the part of a head that others of this kind rotate whole. */
function refusePartialRotation(reader: ConfigReader): void {
  const { value: ropes } = reader.find(["rope_parameters", ""]);
  const share = isDict(ropes) ? ropes["partial_rotary_factor"] : undefined;
  const { value = share } = reader.find(["partial_rotary_factor", ""]);
  if (value !== undefined && value !== null && value !== 1)
    reader.refuse("UNSUPPORTED_MODEL", "partial_rotary_factor", `must be 1 (got ${show(value)})`);
}
