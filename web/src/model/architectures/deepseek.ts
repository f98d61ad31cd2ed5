// DeepSeek-V2 and V3, and others with multi-head latent attention.
import type { ConfigReader } from "../config_reader.js";
import { MAX_HEAD_DIM, MAX_WIDTH } from "../limits.js";
import { llamaNames } from "../tensor_names.js";
import type { Architecture, ExpertConfig, LatentSizes, LayerShape } from "./architecture.js";
import { HEADS, llama, PRE_NORMS } from "./common.js";
import { readExperts } from "./experts.js";

const deepseek2: Architecture = {
  ...llama,
  huggingFace: ["deepseek_v2"],
  gguf: ["deepseek2"],
  norms: (reader) => [...PRE_NORMS, "latent_norm", ...(hasQueryLatent(reader) ? (["query_latent_norm"] as const) : [])],
  latent: latentSizes,
  layer: denseLayers,
  experts: (reader) => deepseekExperts(reader),
  names: llamaNames({
    query_latent: "self_attn.q_a_proj",
    query_latent_norm: "self_attn.q_a_layernorm",
    query_up: "self_attn.q_b_proj",
    latent: "self_attn.kv_a_proj_with_mqa",
    latent_norm: "self_attn.kv_a_layernorm",
    key_value_up: "self_attn.kv_b_proj",
    router: "mlp.gate",
    router_bias: "mlp.gate.e_score_correction_bias",
    expert_gate: "mlp.experts.{e}.gate_proj",
    expert_up: "mlp.experts.{e}.up_proj",
    expert_down: "mlp.experts.{e}.down_proj",
    shared_gate: "mlp.shared_experts.gate_proj",
    shared_up: "mlp.shared_experts.up_proj",
    shared_down: "mlp.shared_experts.down_proj",
  }),
};

/** DeepSeek-V2, V3 and Kimi-K2. @internal */
export const DEEPSEEK_ROWS: readonly Architecture[] = [
  deepseek2,
  { ...deepseek2, huggingFace: ["deepseek_v3", "kimi_k2"], gguf: [] },
];

function hasQueryLatent(reader: ConfigReader): boolean {
  const { value } = reader.find(["q_lora_rank", "attention.q_lora_rank"]);
  return reader.isGguf ? reader.hasTensor("blk.0.attn_q_a.weight") : value !== undefined;
}

function latentSizes(reader: ConfigReader): LatentSizes {
  const size = (config: string, gguf: string, fallback?: number): number =>
    reader.integer([config, gguf], fallback, 1, MAX_HEAD_DIM);
  const latent_size = size("kv_lora_rank", "attention.kv_lora_rank");
  const latent_rotated = size("qk_rope_head_dim", "rope.dimension_count");
  // older GGUF files have the sizes of heads before the products were absorbed
  const key = reader.isGguf ? size("", "attention.key_length_mla", size("", "attention.key_length")) : 0;
  return {
    latent_size,
    latent_rotated,
    latent_plain: reader.isGguf ? key - latent_rotated : size("qk_nope_head_dim", ""),
    latent_value: reader.isGguf
      ? size("", "attention.value_length_mla", size("", "attention.value_length"))
      : size("v_head_dim", ""),
    latent_query: hasQueryLatent(reader) ? size("q_lora_rank", "attention.q_lora_rank") : 0,
  };
}

function denseLayers(reader: ConfigReader): (layer: number) => LayerShape {
  reader.integer(HEADS);
  return () => ({});
}

function deepseekExperts(reader: ConfigReader): ExpertConfig | undefined {
  if (!reader.isGguf && reader.find(["n_routed_experts", ""]).value === undefined) return undefined;
  const { isGguf } = reader;
  const isV3 = !isGguf && reader.architecture !== "deepseek_v2";
  const size = reader.integer(["moe_intermediate_size", "expert_feed_forward_length"], undefined, 1, MAX_WIDTH);
  const dense = reader.integer(["first_k_dense_replace", "leading_dense_block_count"], isV3 ? 3 : 0, 0);
  const experts = readExperts(reader, {
    experts: ["n_routed_experts"],
    used: ["num_experts_per_tok"],
    size: ["moe_intermediate_size"],
    normalizes: [isV3, false],
    hasExperts: (layer) => layer >= dense,
    shared: () => size * reader.integer(["n_shared_experts", ""], isV3 ? 1 : 2, 0),
  });
  const isSigmoid = isGguf ? reader.integer(["", "expert_gating_func"], 1, 0) === 2 : isV3;
  const isGrouped = isV3 || isGguf || reader.find(["topk_method", ""]).value === "group_limited_greedy";
  const groups = isGrouped ? reader.integer(["n_group", "expert_group_count"], 1, 0, experts.experts) || 1 : 1;
  return {
    ...experts,
    // V2 never normalizes, whatever its config says
    ...(!isGguf && !isV3 && { normalizes_experts: false }),
    weight: isSigmoid ? "sigmoid" : "softmax",
    expert_scale: reader.number(["routed_scaling_factor", "expert_weights_scale"], isV3 ? 2.5 : 1),
    expert_groups: groups,
    expert_groups_used: groups > 1 ? reader.integer(["topk_group", "expert_group_used_count"], 1, 1, groups) : 1,
    expert_group_best: groups > 1 && isSigmoid ? 2 : 1,
  };
}
