// Mixtures of experts as in DeepSeek: a router with groups and a bias, experts that every token uses, and dense layers first.
import type { ConfigKey, ConfigReader } from "../../config/config_reader.js";
import { MAX_WIDTH } from "../../config/limits.js";
import type { LayerNames } from "./tensor_names.js";
import type { ExpertConfig, ExpertRouting } from "./architecture.js";
import { expertGroups, type GroupRule, readExperts, withRouting } from "./experts.js";

/** How scores become weights. */
type Weight = "softmax" | "sigmoid";

/** How llama.cpp's code for an architecture weighs experts. @internal */
export interface GgufRouting {
  /** The weight of a file without `expert_gating_func`; it is an error if this is left out. */
  readonly weight?: Weight | ((reader: ConfigReader) => Weight);
  /** Whether it doesn't read that key. */
  readonly ignoresKey?: boolean;
  /** Whether weights sum to 1, whatever the file says; it doesn't read the factor on weights then. By default the file decides. */
  readonly normalizes?: true;
  /** Whether weights sum to 1 in a file that doesn't say so; false by default. */
  readonly normalizesByDefault?: boolean;
}

/** What a config class has for keys that a config.json omits, and llama.cpp's code for the same architecture. @internal */
export interface RoutingDefaults {
  readonly weight: Weight;
  readonly gguf: GgufRouting;
  /** Whether weights sum to 1; false by default. */
  readonly normalizes?: boolean;
  /** Dense layers before the first layer with experts; 0 by default. */
  readonly dense?: number;
  /** Experts that every token uses; 0 by default. */
  readonly shared?: number;
  /** Factor on weights; 1 by default. */
  readonly scale?: number;
  /** A group's score is the sum of its two largest weights, and there is one group, by default. */
  readonly groups?: GroupRule;
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
  const { gguf } = defaults;
  const readsWeights = gguf.normalizes === undefined;
  const dense = reader.integer(["first_k_dense_replace", ""], defaults.dense ?? 0, 0);
  const kinds = reader.list(["mlp_layer_types", ""]);
  const experts = readExperts(reader, {
    experts: ["n_routed_experts", "num_experts", "num_local_experts"],
    used: ["num_experts_per_tok"],
    size: ["moe_intermediate_size", "intermediate_size"],
    normalizes: [defaults.normalizes ?? false, gguf.normalizes ?? gguf.normalizesByDefault ?? false],
    readsGgufWeights: readsWeights,
    hasExperts: (layer) => (kinds === undefined ? layer >= dense : kinds[layer] === "sparse"),
    shared: () =>
      reader.integer(["moe_intermediate_size", ""], 1, 1, MAX_WIDTH) *
      reader.integer([["n_shared_experts", "num_shared_experts"], ""], defaults.shared ?? 0, 0),
  });
  if (!isGguf)
    return withRouting(experts, {
      ...expertGroups(reader, experts.experts, defaults.groups ?? { best: 2 }),
      weight: defaults.weight,
      scale: reader.number([["routed_scaling_factor", "router_scaling_factor"], ""], defaults.scale ?? 1),
    });
  const scale = readsWeights ? reader.number(["", "expert_weights_scale"], 1) : 1;
  const weighted = ggufWeight(reader, gguf, experts.routing.normalizes);
  // llama.cpp takes two weights of each group, of DeepSeek-V2 too, whose own code takes the largest
  const best = weighted.weight === "softmax" ? (defaults.groups?.best ?? 2) : 2;
  return withRouting(experts, {
    ...weighted,
    ...expertGroups(reader, experts.experts, { best }),
    scale: scale === 0 ? 1 : scale, // 0 is none in llama.cpp
  });
}

/** Numbers of `expert_gating_func` (llama-hparams.h). */
const GATING = { softmax: 1, sigmoid: 2, softmaxOfChosen: 3 };

/** @internal */
export function ggufWeight(
  reader: ConfigReader,
  { weight, ignoresKey = false }: GgufRouting,
  normalizes: boolean,
): Pick<ExpertRouting, "weight" | "normalizes"> {
  const key: ConfigKey = ["", "expert_gating_func"];
  const byDefault = typeof weight === "function" ? weight(reader) : weight;
  const given = ignoresKey ? 0 : reader.integer(key, byDefault && 0, 0);
  if (given === 0 && byDefault !== undefined) return { weight: byDefault, normalizes };
  if (given === GATING.softmax) return { weight: "softmax", normalizes };
  if (given === GATING.sigmoid) return { weight: "sigmoid", normalizes };
  // a softmax of the chosen scores is that of all scores, divided by the sum of the chosen ones; a bias would be added to the scores
  const hasBias = reader.rowsOf(/^blk\.\d+\.exp_probs_b(\.bias)?$/) > 0;
  if (given === GATING.softmaxOfChosen && !hasBias) return { weight: "softmax", normalizes: true };
  return reader.refuse(
    "UNSUPPORTED_MODEL",
    reader.find(key).path,
    `must be 1 (softmax), 2 (sigmoid), or 3 (softmax of the chosen scores) without a bias of the router (got ${given})`,
  );
}
