import { fail } from "../base/errors.js";
import { isAbsent, isDict, sameValue, withoutAbsent } from "./check.js";
import { foldConfig, layoutOf, type FoldedConfig } from "./config_keys.js";
import { betaTemperature, rotaryDimOf } from "./derived.js";
import { reads, settleScaling } from "./scaling.js";
import { YARN_FAMILIES, yarnFamilyOf } from "./yarn_families.js";
import {
  COMPATS,
  MROPE_LAYOUTS,
  PAIRINGS,
  PRECISIONS,
  RAMPS,
  ROPE_TYPES,
  type RopeConfig,
  type RopeScaling,
} from "./types.js";

/** The scaling keys that reach wasm under their own names. */
type ScalingNumbers = Pick<
  RopeScaling,
  | "factor"
  | "original_max_position_embeddings"
  | "attention_factor"
  | "attn_factor"
  | "beta_fast"
  | "beta_slow"
  | "mscale"
  | "mscale_all_dim"
  | "truncate"
  | "extrapolation_factor"
  | "finetuned"
  | "low_freq_factor"
  | "high_freq_factor"
  | "alpha"
  | "mixed_b"
  | "short_mscale"
  | "long_mscale"
  | "short_factor"
  | "long_factor"
  | "inv_freq"
>;

/** A {@link RopeConfig} on one level, as wasm takes it: names as indices into the lists of `types.ts`, defaults filled in. */
export interface FlatRopeConfig extends ScalingNumbers {
  head_dim: number;
  /** Rotated elements of a head: given, ⌊head_dim · partial_rotary_factor⌋, or head_dim. */
  rotary_dim: number;
  rotary_offset: number;
  /** Index into PAIRINGS. */
  pairing: number;
  /** Index into ROPE_TYPES. */
  rope_type: number;
  /** Index into COMPATS. */
  compat: number;
  /** Index into PRECISIONS. */
  precision: number;
  /** Index into RAMPS. */
  ramp: number;
  /** Index into YARN_FAMILIES. */
  family: number;
  /** Index into MROPE_LAYOUTS; absent without sections. */
  mrope_layout?: number;
  mrope_section?: number[];
  rope_theta: number;
  max_position_embeddings?: number;
  context_length?: number;
  /** Read by the proportional type only; for the others it is in rotary_dim. */
  partial_rotary_factor?: number;
  freq_factors?: number[];
  softmax_scale?: number;
  xpos_scale_base?: number;
  xpos_center?: number;
  query_temperature_scale?: number;
  query_temperature_floor_scale?: number;
  query_temperature_offset?: number;
}

/**
 * Checks the names, types and structure of a config and brings it to one level. The values themselves (a factor below
 * 1, an odd rotary_dim, the length of a list, a length that is missing) are judged where they are used, in wasm.
 *
 * @throws UNKNOWN_KEY (not a key, or not one its rope_type reads), UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG
 */
export function flattenConfig(config: RopeConfig): FlatRopeConfig {
  if (!isDict(config)) return fail("INVALID_CONFIG", "", "a RoPE config must be an object");
  const { top, scaling: keys } = foldConfig(config, "");
  if (top.head_dim === undefined) return fail("INVALID_CONFIG", "head_dim", "is missing");
  if (top.pairing === undefined)
    return fail("INVALID_CONFIG", "pairing", `is missing; name one of ${PAIRINGS.join(", ")}`);
  const where = isAbsent(config.rope_scaling) ? "rope_parameters" : "rope_scaling";
  const { rope_type, ramp, llama_4_scaling_beta, ...scaling } = settleScaling(
    withLongropeFactor(keys ?? {}, top),
    where,
  );
  const original = top.original_max_position_embeddings;
  return withoutAbsent<FlatRopeConfig>({
    head_dim: top.head_dim,
    rotary_dim: rotaryDimOf(top.head_dim, top, rope_type),
    rotary_offset: top.rotary_offset ?? 0,
    pairing: PAIRINGS.indexOf(top.pairing),
    rope_type: ROPE_TYPES.indexOf(rope_type),
    compat: COMPATS.indexOf(top.compat ?? "hf"),
    precision: PRECISIONS.indexOf(top.precision ?? "exact"),
    ramp: RAMPS.indexOf(ramp ?? "pair_index"),
    family: YARN_FAMILIES.indexOf(yarnFamilyOf(top.model_type)),
    rope_theta: top.rope_theta ?? 10000,
    max_position_embeddings: top.max_position_embeddings,
    context_length: top.context_length,
    partial_rotary_factor: rope_type === "proportional" ? top.partial_rotary_factor : undefined,
    ...(scaling as ScalingNumbers),
    original_max_position_embeddings: reads(rope_type, "original_max_position_embeddings") ? original : undefined,
    ...sectionsOf(top, where),
    freq_factors: top.freq_factors,
    softmax_scale: top.softmax_scale,
    xpos_scale_base: top.xpos?.scale_base,
    xpos_center: top.xpos?.center,
    ...temperatureOf(top, llama_4_scaling_beta, where),
  });
}

type Top = FoldedConfig["top"];

/** llama.cpp's one factor on longrope's cos and sin, which GGUF keeps as `rope.scaling.attn_factor`. */
function withLongropeFactor(keys: RopeScaling, top: Top): RopeScaling {
  const { attn_factor, ...rest } = keys;
  if (top.compat !== "llama.cpp" || keys.rope_type !== "longrope" || attn_factor === undefined) return keys;
  return { ...rest, attention_factor: keys.attention_factor ?? attn_factor };
}

function sectionsOf(top: Top, where: string): Pick<FlatRopeConfig, "mrope_section" | "mrope_layout"> {
  const layout = layoutOf(top, `${where}.`);
  if (top.mrope_section !== undefined) {
    return { mrope_section: top.mrope_section, mrope_layout: MROPE_LAYOUTS.indexOf(layout ?? "chunked") };
  }
  if (layout !== undefined && layout !== "chunked") {
    fail("INVALID_CONFIG", `${where}.mrope_section`, `is missing, and the layout ${layout} needs it`);
  }
  return {};
}

function temperatureOf(top: Top, beta: number | undefined, where: string): Partial<FlatRopeConfig> {
  const given = top.query_temperature ?? undefined;
  const own = beta === undefined ? undefined : betaTemperature(beta, top.original_max_position_embeddings);
  if (given !== undefined && own !== undefined && !sameValue({ ...given, layers: "all" }, own)) {
    fail("INVALID_CONFIG", `${where}.llama_4_scaling_beta`, "disagrees with query_temperature");
  }
  const temperature = given ?? own;
  if (temperature === undefined) return {};
  return {
    query_temperature_scale: temperature.scale,
    query_temperature_floor_scale: temperature.floor_scale,
    query_temperature_offset: temperature.offset,
  };
}
