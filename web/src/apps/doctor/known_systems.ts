// The systems that the Doctor knows, and how those that `compat` doesn't have read a config. Their rules are those of their released code.
import { mscaleOf } from "../../core/config/gguf.js";
import { SYSTEM_TYPES } from "../../core/config/rope_fields.js";
import { overrideRopeConfig } from "../../core/config/rope_config.js";
import type { RopeConfig, RopeScaling, RopeType } from "../../core/config/types.js";
import { yarnFamilyOf } from "../../core/config/yarn_families.js";
import type { Ropewalk } from "../../runtime/ropewalk/ropewalk.js";
import type { FrequencyPlan } from "../../core/rope/plan.js";
import type { SystemReport } from "./diagnosis.js";
import { planIn } from "./plans.js";

type Config = Readonly<RopeConfig>;

/** A system, and how it reads a config. */
export interface System extends Pick<SystemReport, "system" | "version" | "compat"> {
  readonly types: readonly RopeType[];
  /** Families that it has no code for, of those that the systems read differently. */
  readonly lacks?: readonly string[];
  /** The config that `base` reads as this system reads its own. */
  readonly reading?: (config: Config, scaling: RopeScaling) => Config;
  /** What this system does with some keys that others don't. */
  readonly reasons?: (scaling: RopeScaling) => (string | false)[];
  /** Longest sequence that it serves, if no `compat` says so; null if it sets no limit. */
  readonly maxLength?: (config: Config, scaling: RopeScaling) => number | null;
}

/** Types of mlx-lm's initialize_rope and SGLang's get_rope; ntk_alpha is HunYuan's `dynamic` with alpha. */
const SHARED: readonly RopeType[] = [
  "default",
  "linear",
  "dynamic",
  "yarn",
  "longrope",
  "llama3",
  "proportional",
  "ntk_alpha",
];

/** The versions whose rules the package follows. */
export const SYSTEMS: readonly System[] = [
  { system: "transformers", version: "5.24", compat: "hf", types: SYSTEM_TYPES.hf },
  { system: "llama.cpp", version: "August 2026", compat: "llama.cpp", types: SYSTEM_TYPES["llama.cpp"] },
  { system: "vLLM", version: "0.33.0", compat: "vllm", types: SYSTEM_TYPES.vllm },
  {
    system: "SGLang",
    version: "0.5.23",
    compat: null,
    types: SHARED,
    lacks: ["lfm3"],
    reading: sglangReading,
    reasons: ({ rope_type, attention_factor, original_max_position_embeddings: original }) => [
      rope_type === "yarn" &&
        attention_factor !== undefined &&
        "SGLang doesn't read attention_factor. It multiplies YaRN's own factor by attn_factor",
      rope_type === "dynamic" && "SGLang scales for factor times the length, at every length",
      rope_type === "longrope" &&
        `SGLang takes long_factor for all texts that it reads together when one of them passes ${original} tokens`,
    ],
    maxLength: sglangLength,
  },
  {
    system: "MLX",
    version: "0.32.2",
    compat: null,
    types: SHARED,
    lacks: ["lfm3"],
    reading: mlxReading,
    reasons: ({ rope_type, attention_factor, truncate }) => [
      rope_type === "yarn" && truncate === false && "MLX always rounds the correction range, so truncate has no effect",
      rope_type === "yarn" &&
        attention_factor !== undefined &&
        "MLX doesn't read attention_factor. It has YaRN's own factor, or that of mscale and mscale_all_dim",
      rope_type === "longrope" && "MLX takes long_factor at every length",
    ],
    maxLength: () => null,
  },
];

/** The plan of a config at a length in a system that was started for this length. @throws RopewalkError */
export function planBy(rw: Ropewalk, system: System, config: Config, length: number): FrequencyPlan {
  return planIn(rw, readingBy(system, config), system.compat ?? "hf", length);
}

function readingBy({ reading }: System, config: Config): Config {
  return reading?.(config, config.rope_scaling ?? {}) ?? config;
}

/** The factor of LongRoPE that both systems compute from the two lengths. */
function lengthFactor(
  { max_position_embeddings: max }: Config,
  { original_max_position_embeddings }: RopeScaling,
): number {
  const original = original_max_position_embeddings ?? 1;
  const factor = (max ?? original) / original;
  return factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original));
}

const factorOf = ({ max_position_embeddings: max }: Config, scaling: RopeScaling): number =>
  scaling.factor ?? (max ?? 1) / (scaling.original_max_position_embeddings ?? 1);

/** mlx_lm/models/rope_utils.py of mlx-lm 0.32.2, 16 October 2026. */
function mlxReading(config: Config, scaling: RopeScaling): Config {
  const { rope_type, mscale = 1, mscale_all_dim = 0, long_factor } = scaling;
  if (rope_type === "yarn") {
    const factor = factorOf(config, scaling);
    const attention_factor = mscaleOf(factor, mscale) / mscaleOf(factor, mscale_all_dim);
    const own = { attention_factor, truncate: null, extrapolation_factor: null };
    return overrideRopeConfig(config, { rope_scaling: own });
  }
  if (rope_type !== "longrope" || long_factor === undefined) return config;
  const attention_factor = lengthFactor(config, scaling);
  const own = { short_factor: long_factor, attention_factor, short_mscale: null, long_mscale: null };
  return overrideRopeConfig(config, { rope_scaling: own });
}

/** sglang/srt/layers/rotary_embedding/ of SGLang 0.5.23, 30 October 2026. */
function sglangReading(config: Config, scaling: RopeScaling): Config {
  const { rope_type, mscale, mscale_all_dim, attn_factor = 1 } = scaling;
  const factor = factorOf(config, scaling);
  if (rope_type === "yarn") {
    const isDeepseek = yarnFamilyOf(config.model_type) === "deepseek";
    const isRatio = isDeepseek || (mscale !== undefined && mscale_all_dim !== undefined);
    const own = isRatio ? mscaleOf(factor, mscale ?? 1) / mscaleOf(factor, mscale_all_dim ?? 0) : mscaleOf(factor, 1);
    const rest = { attention_factor: own * attn_factor, ...(isDeepseek && { truncate: null }) };
    return overrideRopeConfig(config, { rope_scaling: rest });
  }
  if (rope_type === "longrope")
    return overrideRopeConfig(config, { rope_scaling: { attention_factor: lengthFactor(config, scaling) } });
  if (rope_type === "proportional") return overrideRopeConfig(config, { rope_scaling: { factor: null } });
  if (rope_type !== "dynamic") return config;
  const width = config.rotary_dim ?? config.head_dim;
  const rope_theta = (config.rope_theta ?? 10000) * (factor * factor - factor + 1) ** (width / (width - 2));
  return overrideRopeConfig(config, { rope_theta, rope_scaling: { rope_type: "default", replace: true } });
}

/** get_context_length in sglang/srt/utils/hf_transformers/common.py. */
function sglangLength({ max_position_embeddings: max }: Config, scaling: RopeScaling): number | null {
  const { rope_type, factor = 1, original_max_position_embeddings: original } = scaling;
  const isMultiplied = original === undefined && rope_type !== "llama3";
  return max === undefined ? null : Math.trunc(max * (isMultiplied ? factor : 1));
}

/** The system of this name. */
export const systemNamed = (name: string): System | undefined => SYSTEMS.find(({ system }) => system === name);
