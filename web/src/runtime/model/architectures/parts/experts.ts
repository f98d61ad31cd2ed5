// Reads the mixture of experts of a model.
import type { ConfigKey, ConfigReader } from "../../config/config_reader.js";
import { MAX_EXPERTS, MAX_WIDTH } from "../../config/limits.js";
import type { ExpertConfig, ExpertRouting } from "./architecture.js";

/** What an architecture's files say about its experts, and what they leave out. @internal */
export interface ExpertKeys {
  /** Keys of config.json; in each list, the first present one counts. */
  readonly experts: readonly string[];
  readonly used: readonly string[];
  readonly size: readonly string[];
  /** Whether weights sum to 1 if no key says so: in files of transformers, and in GGUF. */
  readonly normalizes: readonly [huggingFace: boolean, gguf: boolean];
  /** Whether llama.cpp reads `expert_weights_norm` and `expert_weights_scale` of this architecture. */
  readonly readsGgufWeights?: boolean;
  /** Which layers have experts, by config.json. In GGUF, those that have a router. */
  readonly hasExperts?: (layer: number) => boolean;
  /** Size of the shared expert, by config.json; none by default. In GGUF its tensor shows it. */
  readonly shared?: () => number;
  readonly hasSharedExpertGate?: boolean;
}

/** llama.cpp divides normalized weights by at least the smallest normal f16. */
const GGUF_LEAST_SUM = 2 ** -14;

/** @internal */
export function readExperts(reader: ConfigReader, keys: ExpertKeys): ExpertConfig {
  const { isGguf } = reader;
  const experts = reader.integer([keys.experts, "expert_count"], undefined, 1, MAX_EXPERTS);
  // not every code of llama.cpp reads the key, so that the tensors say it
  const stored = isGguf ? reader.rowsOf(/^blk\.\d+\.ffn_up_exps\.weight$/) / experts : 0;
  const width = isGguf ? reader.integer(["", "feed_forward_length"], 1, 1, MAX_WIDTH) : undefined;
  const inGguf = (layer: number): boolean => reader.hasTensor(`blk.${layer}.ffn_gate_inp.weight`);
  const shared = isGguf ? reader.rowsOf(/^blk\.\d+\.ffn_up_shexp\.weight$/) : (keys.shared?.() ?? 0);
  const normalizes = keys.normalizes[isGguf ? 1 : 0];
  const isRead = !isGguf || keys.readsGgufWeights === true;
  return {
    experts,
    routing: {
      used: reader.integer([keys.used, "expert_used_count"], undefined, 1, experts),
      normalizes: isRead ? reader.boolean(["norm_topk_prob", "expert_weights_norm"], normalizes) : normalizes,
      ...(isGguf && { least_sum: GGUF_LEAST_SUM, ...expertGroups(reader, experts, { best: 2 }) }),
    },
    expert_size:
      Number.isInteger(stored) && stored > 0
        ? stored
        : reader.integer([keys.size, "expert_feed_forward_length"], width, 1, MAX_WIDTH),
    shared_expert_size: shared,
    hasSharedExpertGate: keys.hasSharedExpertGate ?? false,
    hasExperts: isGguf ? inGguf : (keys.hasExperts ?? ((): boolean => true)),
  };
}

/** Experts with other routing in some numbers. @internal */
export function withRouting(experts: ExpertConfig, changes: Partial<ExpertRouting>): ExpertConfig {
  return { ...experts, routing: { ...experts.routing, ...changes } };
}

/** How groups of experts are scored, and the numbers of the class for configs without them. @internal */
export interface GroupRule {
  /** How many of a group's weights are its score. */
  readonly best: 1 | 2;
  readonly groups?: number;
  readonly used?: number;
}

/** Groups of experts, of which a token uses some. Throws INVALID_FILE. @internal */
export function expertGroups(
  reader: ConfigReader,
  experts: number,
  { best, groups: byDefault = 1, used = 1 }: GroupRule,
): Pick<ExpertRouting, "groups" | "groups_used" | "group_best"> {
  const key: ConfigKey = ["n_group", "expert_group_count"];
  const groups = reader.integer(key, byDefault, 0, experts) || 1;
  if (groups === 1) {
    if (!reader.isGguf) reader.integer(["topk_group", ""], 1, 1); // transformers needs a number above 0
    return { groups: 1, groups_used: 1, group_best: 1 };
  }
  if (experts % groups !== 0 || experts / groups < best)
    reader.refuse(
      "INVALID_FILE",
      reader.find(key).path,
      `must divide the ${experts} experts into groups of ${best} or more (got ${groups})`,
    );
  return {
    groups,
    groups_used: reader.integer(["topk_group", "expert_group_used_count"], reader.isGguf ? undefined : used, 1, groups),
    group_best: best,
  };
}

/** Experts that a token can use: those of its groups are enough. Throws INVALID_FILE. @internal */
export function checkChosen(reader: ConfigReader, experts: ExpertConfig | undefined): ExpertConfig | undefined {
  if (experts === undefined) return undefined;
  const { used, groups = 1, groups_used = 1 } = experts.routing;
  const choice = (experts.experts / groups) * groups_used;
  if (used > choice)
    reader.refuse(
      "INVALID_FILE",
      reader.find(["num_experts_per_tok", "expert_used_count"]).path,
      `must be at most the ${choice} experts of the groups that a token uses (got ${used})`,
    );
  return experts;
}
