// Reads the mixture of experts of a model.
import type { ConfigReader } from "../config_reader.js";
import { MAX_EXPERTS, MAX_WIDTH } from "../limits.js";
import type { ExpertConfig } from "./architecture.js";

/** What an architecture's files say about its experts, and what they leave out. @internal */
export interface ExpertKeys {
  /** Keys of config.json; in each list, the first present one counts. */
  readonly experts: readonly string[];
  readonly used: readonly string[];
  readonly size: readonly string[];
  /** Whether weights sum to 1 if no key says so: in files of transformers, and in GGUF. */
  readonly normalizes: readonly [huggingFace: boolean, gguf: boolean];
  /** Which layers have experts, by config.json. In GGUF, those that have a router. */
  readonly hasExperts?: (layer: number) => boolean;
  /** Size of the shared expert, by config.json; none by default. In GGUF its tensor shows it. */
  readonly shared?: () => number;
  readonly hasSharedExpertGate?: boolean;
}

/** @internal */
export function readExperts(reader: ConfigReader, keys: ExpertKeys): ExpertConfig {
  const { isGguf } = reader;
  const experts = reader.integer([keys.experts, "expert_count"], undefined, 1, MAX_EXPERTS);
  const width = isGguf ? reader.integer(["", "feed_forward_length"], 1, 1, MAX_WIDTH) : undefined;
  const inGguf = (layer: number): boolean => reader.hasTensor(`blk.${layer}.ffn_gate_inp.weight`);
  const shared = isGguf ? reader.rowsOf(/^blk\.\d+\.ffn_up_shexp\.weight$/) : (keys.shared?.() ?? 0);
  return {
    experts,
    experts_used: reader.integer([keys.used, "expert_used_count"], undefined, 1, experts),
    normalizes_experts: reader.boolean(["norm_topk_prob", "expert_weights_norm"], keys.normalizes[isGguf ? 1 : 0]),
    expert_size: reader.integer([keys.size, "expert_feed_forward_length"], width, 1, MAX_WIDTH),
    shared_expert_size: shared,
    hasSharedExpertGate: keys.hasSharedExpertGate ?? false,
    hasExperts: isGguf ? inGguf : (keys.hasExperts ?? ((): boolean => true)),
  };
}
