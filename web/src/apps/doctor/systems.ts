// What each system does with a model's keys, found by computing their frequencies.
import { isDict } from "../../core/base/dict.js";
import { RopewalkError } from "../../core/base/errors.js";
import { overrideRopeConfig } from "../../core/config/rope_config.js";
import type { Compat, RopeConfig } from "../../core/config/types.js";
import type { Ropewalk } from "../../runtime/ropewalk/ropewalk.js";
import type { FrequencyPlan } from "../../core/rope/plan.js";
import type { LayerGroup, SystemReport } from "./diagnosis.js";
import type { Facts } from "./facts.js";
import { planBy, type System, SYSTEMS } from "./known_systems.js";
import { compare, planIn } from "./plans.js";
import { readingOf } from "./readings.js";

/** The reports of all systems; `main` is the group whose keys are tried. */
export function systemReports(
  rw: Ropewalk,
  facts: Facts,
  groups: readonly LayerGroup[],
  main: LayerGroup,
  length: number,
): SystemReport[] {
  return systemsOf(facts).map((one): SystemReport => {
    const { system, version, compat } = one;
    const known = { system, version, compat };
    const missing = whatIsMissing(one, facts, main);
    if (missing !== undefined) {
      const reasons = [`${system} has no ${missing}`];
      return { ...known, same: false, layers: [], reads: [], ignores: [], reasons, maxLength: null };
    }
    try {
      const readings = groups.map((group) => readingOf(facts, group, one));
      const layers = groups.map(({ kind, config }, i) => {
        const plan = planBy(rw, one, readings[i]!.config, length);
        const { same, largest } = compare(plan, planIn(rw, config, "hf", length));
        const { attention_factor, softmax_scale } = plan;
        return { kind, same, attention_factor, softmax_scale, largestDifference: largest };
      });
      return {
        ...known,
        same: layers.every(({ same }) => same),
        layers,
        ...keysOf(rw, main.config, one, length),
        reasons: [...readings.flatMap(({ reason }) => reason ?? []), ...reasonsOf(rw, main.config, one, length)],
        maxLength: maxLengthOf(rw, main.config, one, length),
      };
    } catch (error) {
      if (!(error instanceof RopewalkError)) throw error;
      return { ...known, same: false, layers: [], reads: [], ignores: [], reasons: [error.message], maxLength: null };
    }
  });
}

function whatIsMissing({ types, lacks }: System, { family }: Facts, { rope_type }: LayerGroup): string | undefined {
  if (family !== undefined && lacks?.includes(family)) return `code for ${family}`;
  const isKnown = types.some((type) => type === rope_type);
  return isKnown ? undefined : `rope_type ${rope_type}: it refuses the file or doesn't scale`;
}

/** MLX runs folders of the Hub only. */
function systemsOf({ isGguf }: Facts): readonly System[] {
  return SYSTEMS.filter(({ system }) => !isGguf || system !== "MLX");
}

/** Warnings that a system has and transformers hasn't. */
function reasonsOf(rw: Ropewalk, config: Readonly<RopeConfig>, system: System, length: number): string[] {
  const { compat, reasons } = system;
  if (compat === null) return reasons?.(config.rope_scaling ?? {}).filter((reason) => typeof reason === "string") ?? [];
  const warnings = (compat: Compat): readonly string[] =>
    rw.describe(overrideRopeConfig(config, { compat, context_length: length }), length).warnings;
  const common = warnings("hf");
  if (compat === "hf") return [];
  const own = warnings(compat).filter((warning) => !common.includes(warning));
  return own.map((warning) => warning.replace(/\bvllm\b/g, "vLLM"));
}

function maxLengthOf(
  rw: Ropewalk,
  config: Readonly<RopeConfig>,
  { compat, maxLength }: System,
  length: number,
): number | null {
  if (compat === null) return maxLength?.(config, config.rope_scaling ?? {}) ?? null;
  if (compat === "hf") return null; // transformers generates past any length
  // vLLM takes Gemma 3's length for the extended one (vllm/config/model.py)
  if (compat === "vllm" && config.model_type?.includes("gemma3")) return config.max_position_embeddings ?? null;
  const { max_length } = planIn(rw, config, compat, length);
  return max_length > 0 ? max_length : null;
}

/** Which keys of a config change the numbers of a system. Each is changed in turn. */
function keysOf(
  rw: Ropewalk,
  config: Readonly<RopeConfig>,
  system: System,
  length: number,
): { reads: string[]; ignores: string[] } {
  // Some keys are only read at short lengths, or past the trained one.
  const plans = [...new Set([length, 1, Math.min(2 * length, 2 ** 30)])].map((length) => ({
    length,
    plan: planBy(rw, system, config, length),
  }));
  const { rope_type: _, ...scaling } = config.rope_scaling ?? {};
  const keys = [
    ...Object.entries(scaling).map(([key, value]) => ({
      key,
      changed: (other: unknown) => ({ rope_scaling: { [key]: other } }),
      value,
    })),
    { key: "rope_theta", changed: (other: unknown) => ({ rope_theta: other }), value: config.rope_theta },
  ].filter(({ key }) => !key.startsWith("mrope_") && key !== "llama_4_scaling_beta");
  const isRead = ({ changed, value }: (typeof keys)[number]): boolean =>
    othersOf(value).some((other) =>
      plans.some(({ plan, length }) => changesPlan(rw, plan, config, changed(other), system, length)),
    );
  return {
    reads: keys.filter(isRead).map(({ key }) => key),
    ignores: keys.filter((key) => !isRead(key)).map(({ key }) => key),
  };
}

/** Values to try in place of a key's value. */
function othersOf(value: unknown): unknown[] {
  if (typeof value === "boolean") return [!value];
  if (typeof value === "number") return [value * 2, value / 2, value * 4, value + 1].filter((other) => other > 0);
  return Array.isArray(value) ? [value.map((item: unknown) => (typeof item === "number" ? item * 1.5 : item))] : [];
}

function changesPlan(
  rw: Ropewalk,
  plan: FrequencyPlan,
  config: Readonly<RopeConfig>,
  overrides: object,
  system: System,
  length: number,
): boolean {
  if (!isDict(overrides)) return false;
  try {
    return !compare(planBy(rw, system, overrideRopeConfig(config, overrides), length), plan).same;
  } catch (error) {
    if (error instanceof RopewalkError) return false; // the value isn't possible with the others
    throw error;
  }
}
