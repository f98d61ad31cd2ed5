// Renames a finished config's keys for wasm: one level, and names as indices into the lists of types.ts.
import { type FinishedConfig, finishedConfig } from "./finished_config.js";
import {
  AXES_LAYOUTS,
  COMPATS,
  MROPE_LAYOUTS,
  PAIRINGS,
  PRECISIONS,
  RAMPS,
  ROPE_TYPES,
  type RopeConfig,
} from "./types.js";
import { withoutAbsent } from "./values.js";
import { YARN_FAMILIES, yarnFamilyOf } from "./yarn_families.js";

type Scaling = FinishedConfig["rope_scaling"];

/** The keys of a finished scaling that wasm takes by their own names. */
type ScalingFields = Omit<
  Scaling,
  | "rope_type"
  | "ramp"
  | "mrope_layout"
  | "mrope_interleaved"
  | "axes_layout"
  | "inv_freq"
  | "rope_theta"
  | "partial_rotary_factor"
  | "llama_4_scaling_beta"
>;

/** A {@link RopeConfig} as wasm takes it. The fields are those of RopeConfig in src/rope/config.h. */
export interface FlatRopeConfig extends ScalingFields {
  head_dim: number;
  /** Rotated elements of a head, never 0. */
  rotary_dim: number;
  rotary_offset: number;
  reversed?: boolean;
  /** d in the frequencies; 0 means rotary_dim. */
  frequency_dim: number;
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
  /** Index into AXES_LAYOUTS; absent for other types than axial. */
  axes_layout?: number;
  /** The lists of the custom type, one after another. */
  inv_freq?: number[];
  rope_theta: number;
  max_position_embeddings?: number;
  context_length?: number;
  /** Only the proportional type reads it; for the other types it is part of rotary_dim. */
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
 * A config as wasm takes it. A config that isn't from `ropeConfig()` is read first, which checks names, types and
 * structure of its keys. wasm checks the values (a factor below 1, an odd rotary_dim, a list of the wrong length).
 *
 * @throws UNKNOWN_KEY (not a key, or a key that its type doesn't read), UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG
 */
export function flattenConfig(config: RopeConfig): FlatRopeConfig {
  const finished = finishedConfig(config);
  const { model_type, rope_scaling, xpos, query_temperature, original_max_position_embeddings: _, ...top } = finished;
  return withoutAbsent<FlatRopeConfig>({
    ...top,
    ...rope_scaling,
    rotary_offset: top.rotary_offset ?? 0,
    frequency_dim: top.frequency_dim ?? 0,
    pairing: PAIRINGS.indexOf(top.pairing),
    rope_type: ROPE_TYPES.indexOf(rope_scaling.rope_type),
    compat: COMPATS.indexOf(top.compat ?? "hf"),
    precision: PRECISIONS.indexOf(top.precision ?? "exact"),
    ramp: RAMPS.indexOf(rope_scaling.ramp ?? "pair_index"),
    family: YARN_FAMILIES.indexOf(yarnFamilyOf(model_type)),
    mrope_layout: rope_scaling.mrope_layout && MROPE_LAYOUTS.indexOf(rope_scaling.mrope_layout),
    axes_layout: rope_scaling.axes_layout && AXES_LAYOUTS.indexOf(rope_scaling.axes_layout),
    xpos_scale_base: xpos?.scale_base,
    xpos_center: xpos?.center,
    query_temperature_scale: query_temperature?.scale,
    query_temperature_floor_scale: query_temperature?.floor_scale,
    query_temperature_offset: query_temperature?.offset,
  });
}
