// The config that each system makes of a file, where they read its keys differently.
import { overrideRopeConfig } from "../../core/config/rope_config.js";
import type { Compat, RopeConfig } from "../../core/config/types.js";
import type { LayerGroup } from "./diagnosis.js";
import { type Facts, shown } from "./facts.js";
import { writtenScaling } from "./findings.js";

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
export function readingOf(facts: Facts, { kind, config }: LayerGroup, compat: Compat): Reading {
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
  if (compat !== "vllm" || (config.rotary_dim === width && !isProportional)) return { config };
  const part = overrideRopeConfig(config, { ...plain, partial_rotary_factor: share });
  const than = isProportional ? "This model was trained as proportional." : "Other systems rotate the whole head.";
  return { config: part, reason: `vLLM rotates the first ${width} elements of a head${where}. ${than}` };
}
