// Frequency plans, copied out of wasm memory.
import type { Pairing, QueryTemperature } from "../config/types.js";
import type { Heap } from "../memory/heap.js";
import type { PlanFields } from "../memory/call_fields.js";

/** The frequencies and factors of a config at one sequence length. Plain data, copied out of wasm memory. */
export interface FrequencyPlan {
  head_dim: number;
  rotary_dim: number;
  rotary_offset: number;
  pairing: Pairing;
  /** Whether pairs turn by the negative of position · frequency (nanochat). */
  reversed: boolean;
  /** [rotary_dim/2] frequencies in radians per position. */
  inv_freq: Float64Array;
  /** Multiplies cos and sin, and so q and k. Logits are multiplied by its square. */
  attention_factor: number;
  /** Multiplies q · k: 1/√head_dim, or the config's scale, times the factor of YaRN variants. */
  softmax_scale: number;
  /** Shortest and longest sequence length for which the config has this plan. `valid_to` is Infinity if there is no limit. */
  valid_from: number;
  valid_to: number;
  /** YaRN's correction range in pairs, or in rotations with `ramp: "rotations"`; null for other types. */
  correction_range: readonly [low: number, high: number] | null;
  /** [rotary_dim/2] position axis of each pair; all 0 without `mrope_section`. */
  axis_of_pair: Uint8Array;
  /** Number of position axes. */
  axes: number;
  /** Position-dependent factor of queries, which `rope.queryTemperature()` evaluates; null if there is none. */
  query_temperature: QueryTemperature | null;
  /** xPos: [rotary_dim/2] scales, and the number of positions per power of a scale; null without xPos. */
  xpos: { scale: Float64Array; scale_base: number; center: number } | null;
  /** Longest sequence that the system named by `compat` serves, and the number of rows of its cos/sin table; 0 if it has none. */
  max_length: number;
  table_length: number;
}

/** The parts of a plan that don't depend on the length. @internal */
export interface Geometry {
  head_dim: number;
  rotary_dim: number;
  rotary_offset: number;
  reversed: boolean;
  pairing: Pairing;
}

/** Copies a plan out of wasm memory. @internal */
export function readPlan(heap: Heap, geometry: Geometry, plan: PlanFields): FrequencyPlan {
  const { pairs } = plan;
  const doubles = (address: number): Float64Array => heap.doubles(address, pairs).slice();
  const temperature = {
    scale: plan.query_temperature_scale,
    floor_scale: plan.query_temperature_floor_scale,
    offset: plan.query_temperature_offset,
  };
  return {
    ...geometry,
    // The core has negative frequencies for a reversed config.
    inv_freq: doubles(plan.inv_freq).map((frequency) => (geometry.reversed ? -frequency : frequency)),
    attention_factor: plan.attention_factor,
    softmax_scale: plan.softmax_scale,
    valid_from: plan.valid_from,
    valid_to: plan.valid_to,
    correction_range: plan.ramp_high === 0 && plan.ramp_low === 0 ? null : [plan.ramp_low, plan.ramp_high],
    axis_of_pair: heap.bytes(plan.axis_of_pair, pairs).slice(),
    axes: plan.axes,
    query_temperature: temperature.scale === 0 ? null : temperature,
    xpos:
      plan.xpos_scale === 0
        ? null
        : { scale: doubles(plan.xpos_scale), scale_base: plan.xpos_scale_base, center: plan.xpos_center },
    max_length: plan.max_length,
    table_length: plan.table_length,
  };
}
