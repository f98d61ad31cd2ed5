// Renames a finished config's keys for wasm: one level, and names as indices into the lists of types.ts.
import { finishedConfig } from "./finished_config.js";
import { mapFields } from "./position_map.js";
import type { List, RopeConfig as RopeFields } from "./rope_fields.js";
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

/** The fields of the core's config, with lists of numbers in place of their addresses. */
type Fields = { [Key in keyof RopeFields]: RopeFields[Key] extends List ? number[] : RopeFields[Key] };

type Always =
  | "head_dim"
  | "rotary_dim"
  | "rotary_offset"
  | "frequency_dim"
  | "pairing"
  | "rope_type"
  | "compat"
  | "precision"
  | "ramp"
  | "family"
  | "rope_theta";

/** A {@link RopeConfig} as wasm takes it, without the keys that have the core's default. */
export type FlatRopeConfig = Pick<Fields, Always> & Partial<Omit<Fields, Always>>;

/**
 * A config as wasm takes it. A config that isn't from `ropeConfig()` is read first, which checks names, types and
 * structure of its keys. wasm checks the values (a factor below 1, an odd rotary_dim, a list of the wrong length).
 *
 * @throws UNKNOWN_KEY (not a key, or a key that its type doesn't read), UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG
 */
export function flattenConfig(config: RopeConfig): FlatRopeConfig {
  const finished = finishedConfig(config);
  const {
    model_type,
    rope_scaling,
    xpos,
    query_temperature,
    position_map,
    logn,
    original_max_position_embeddings: _,
    ...top
  } = finished;
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
    logn_length: logn?.length,
    logn_scale: logn?.scale,
    logn_power: logn?.power,
    ...mapFields(position_map),
  });
}
