// The config that each system makes of a file, where they read its keys differently.
import { isDict } from "../../core/base/dict.js";
import { overrideRopeConfig } from "../../core/config/rope_config.js";
import type { RopeConfig } from "../../core/config/types.js";
import type { LayerGroup } from "./diagnosis.js";
import { type Facts, numberOf, shown, valueOf } from "./facts.js";
import { writtenScaling } from "./findings.js";
import type { System } from "./known_systems.js";

/** A config as a system reads it, and what it does with the keys if that isn't what the model has. */
export interface Reading {
  config: Readonly<RopeConfig>;
  reason?: string;
}

/** The share of a head that a file names beside the type `default`; undefined if it names none, or all. */
export function shareByDefault(facts: Facts, kind: string | null): number | undefined {
  const { scaling } = writtenScaling(facts, kind);
  if (facts.isGguf || (scaling["rope_type"] ?? scaling["type"] ?? "default") !== "default") return undefined;
  const share = scaling["partial_rotary_factor"] ?? facts.values["partial_rotary_factor"];
  return typeof share === "number" && share > 0 && share < 1 ? share : undefined;
}

/**
 * The config of a group of layers as a system reads it. Under the type `default`, transformers takes a
 * `partial_rotary_factor` only in the families whose class does, and vLLM takes it in all. LFM3 means `proportional`.
 */
export function readingOf(facts: Facts, { kind, config }: LayerGroup, { system, compat }: System): Reading {
  const other = system === "MLX" ? oldSpellingOf(facts, config) : undefined;
  if (other !== undefined) return other;
  const share = shareByDefault(facts, kind);
  if (share === undefined) return { config };
  const plain = { rope_scaling: { rope_type: "default", replace: true } } as const;
  const where = kind === null ? "" : ` in ${kind}`;
  const isProportional = config.rope_scaling?.rope_type === "proportional";
  if (compat === "hf" && isProportional) {
    const whole = overrideRopeConfig(config, { ...plain, partial_rotary_factor: null });
    const reason = `transformers ignores partial_rotary_factor ${shown(share)} under the type default${where}, and rotates every pair. This model was trained as proportional.`;
    return { config: whole, reason };
  }
  const width = Math.trunc(config.head_dim * share);
  if (
    !(compat === "vllm" || (system === "SGLang" && isLlamaCode(facts))) ||
    (config.rotary_dim === width && !isProportional)
  )
    return { config };
  const part = overrideRopeConfig(config, { ...plain, partial_rotary_factor: share });
  const than = isProportional ? "This model was trained as proportional." : "Other systems rotate the whole head.";
  return { config: part, reason: `${system} rotates the first ${width} elements of a head${where}. ${than}` };
}

/** Whether SGLang's code for Llama runs a file that has the share beside its other keys: it takes it under every type. */
const isLlamaCode = (facts: Facts): boolean =>
  (facts.family === "llama" || facts.family === "mistral") && numberOf(facts, "partial_rotary_factor") !== undefined;

/** The model types whose code in mlx-lm 0.32.2 reads rope_parameters. */
const READS_PARAMETERS = `exaone_moe gemma4 gemma4_text gemma4_unified glm_moe_dsa granitemoehybrid laguna lfm2 lfm2_moe mellum minimax_m3_vl
  ministral3 mistral4 muse_glimmer muse_spark olmo_hybrid qwen3 qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text spark2_5`;

/** Whether mlx-lm reads rope_parameters of a file. */
export const readsParameters = ({ family }: Facts): boolean =>
  family !== undefined && READS_PARAMETERS.split(/\s+/).includes(family);

/** What mlx-lm makes of a file whose RoPE is only in rope_parameters, if its code for the family doesn't read that key. */
function oldSpellingOf(facts: Facts, config: Readonly<RopeConfig>): Reading | undefined {
  if (readsParameters(facts) || !isDict(valueOf(facts, "rope_parameters")) || isDict(valueOf(facts, "rope_scaling")))
    return undefined;
  const base = numberOf(facts, "rope_theta");
  const reason = `MLX reads no rope_parameters for ${facts.family}: it takes rope_theta and rope_scaling of the top level${base === undefined ? `, and without rope_theta its own base, usually 10,000` : ""}`;
  return { config: overrideRopeConfig(config, { rope_theta: base ?? 10000, rope_scaling: null }), reason };
}
