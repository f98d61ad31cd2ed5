// Mixtures of experts as in DeepSeek: a router with groups and a bias, experts that every token uses, and dense layers first.
import type { ConfigKey, ConfigReader } from "../config_reader.js";
import { MAX_WIDTH } from "../limits.js";
import type { LayerNames } from "../weights/tensor_names.js";
import type { ExpertConfig } from "./architecture.js";
import { readExperts } from "./experts.js";

/** What a config class has for keys that a config.json omits. @internal */
export interface RoutingDefaults {
  /** How scores become weights, also in GGUF files that don't say so if it's "sigmoid" there. */
  readonly weight: "softmax" | "sigmoid";
  readonly ggufWeight?: "softmax" | "sigmoid";
  /** Whether weights sum to 1; false by default. */
  readonly normalizes?: boolean;
  readonly ggufNormalizes?: boolean;
  /** Dense layers before the first layer with experts; 0 by default. */
  readonly dense?: number;
  /** Experts that every token uses; 0 by default. */
  readonly shared?: number;
  /** Factor on weights; 1 by default. */
  readonly scale?: number;
}

/** Names of these experts in transformers. @internal */
export const GROUPED_NAMES: LayerNames = {
  router: "mlp.gate",
  router_bias: "mlp.gate.e_score_correction_bias",
  expert_gate: "mlp.experts.{e}.gate_proj",
  expert_up: "mlp.experts.{e}.up_proj",
  expert_down: "mlp.experts.{e}.down_proj",
  shared_gate: "mlp.shared_experts.gate_proj",
  shared_up: "mlp.shared_experts.up_proj",
  shared_down: "mlp.shared_experts.down_proj",
};

/** @internal */
export function groupedExperts(reader: ConfigReader, defaults: RoutingDefaults): ExpertConfig {
  const { isGguf } = reader;
  const dense = reader.integer(["first_k_dense_replace", ""], defaults.dense ?? 0, 0);
  const kinds = reader.list(["mlp_layer_types", ""]);
  const experts = readExperts(reader, {
    experts: ["n_routed_experts", "num_experts", "num_local_experts"],
    used: ["num_experts_per_tok"],
    size: ["moe_intermediate_size", "intermediate_size"],
    normalizes: [defaults.normalizes ?? false, defaults.ggufNormalizes ?? false],
    hasExperts: (layer) => (kinds === undefined ? layer >= dense : kinds[layer] === "sparse"),
    shared: () =>
      reader.integer(["moe_intermediate_size", ""], 1, 1, MAX_WIDTH) *
      reader.integer([["n_shared_experts", "num_shared_experts"], ""], defaults.shared ?? 0, 0),
  });
  const byDefault = defaults.ggufWeight === "sigmoid" ? 2 : 1;
  const isSigmoid = isGguf
    ? reader.integer(["", "expert_gating_func"], byDefault, 0) === 2
    : defaults.weight === "sigmoid";
  const groups = groupsOf(reader, experts.experts);
  return {
    ...experts,
    weight: isSigmoid ? "sigmoid" : "softmax",
    expert_scale: reader.number(
      [["routed_scaling_factor", "router_scaling_factor"], "expert_weights_scale"],
      isGguf ? 1 : (defaults.scale ?? 1),
    ),
    expert_groups: groups,
    expert_groups_used: groupsUsed(reader, groups),
    expert_group_best: groups > 1 && isSigmoid ? 2 : 1,
  };
}

/** Groups of experts, all of one size. */
function groupsOf(reader: ConfigReader, experts: number): number {
  const key: ConfigKey = ["n_group", "expert_group_count"];
  const groups = reader.integer(key, 1, 0, experts) || 1;
  if (experts % groups !== 0)
    reader.refuse("INVALID_FILE", reader.find(key).path, `must divide the ${experts} experts (got ${groups})`);
  return groups;
}

/** Without groups, transformers needs a number above 0, and llama.cpp doesn't read it. */
function groupsUsed(reader: ConfigReader, groups: number): number {
  if (reader.isGguf && groups === 1) return 1;
  const most = groups === 1 ? undefined : groups;
  return Math.min(groups, reader.integer(["topk_group", "expert_group_used_count"], groups, 1, most));
}
