// Passes a config to a rope in wasm memory.
import { flattenConfig, type FlatRopeConfig } from "../config/flatten.js";
import { SCALING_KEYS } from "../config/scaling_keys.js";
import { PAIRINGS, type RopeConfig } from "../config/types.js";
import type { Heap } from "../memory/heap.js";
import type { Geometry } from "./plan.js";

// The lists of a config, in the order of ConfigLists in bindings/rope.cpp: their values are passed one after another.
const LISTS = [
  "short_factor",
  "long_factor",
  "inv_freq",
  "lengths",
  "freq_factors",
  "axes_dim",
  "mrope_section",
] as const;

// Embind needs a value for every field that isn't optional in C++.
const DEFAULTS = {
  reversed: false,
  truncate: SCALING_KEYS.truncate.default,
  finetuned: SCALING_KEYS.finetuned.default,
  mrope_layout: 0,
  axes_layout: 0,
  xpos_center: 0,
  query_temperature_floor_scale: 1,
  query_temperature_offset: 0,
};

/**
 * Passes a config to the core, which checks its values and copies its lists. If this throws, the rope is unchanged.
 * @internal
 */
export function configure(heap: Heap, rope: number, config: RopeConfig): Geometry {
  const flat = flattenConfig(config);
  const counts = Object.fromEntries(LISTS.map((name) => [name, flat[name]?.length ?? 0])) as Record<
    (typeof LISTS)[number],
    number
  >;
  const values = LISTS.flatMap((name) => flat[name] ?? []);
  const status = heap.borrow(values.length * 8, (address) => {
    heap.doubles(address, values.length).set(values);
    return heap.module.rope_configure(rope, { ...DEFAULTS, ...flat }, { values: address, ...counts });
  });
  heap.check(status, (field) => valueOf(flat, field));
  const { head_dim, rotary_dim, rotary_offset, reversed = false } = flat;
  return { head_dim, rotary_dim, rotary_offset, reversed, pairing: PAIRINGS[flat.pairing]! };
}

/** The value of a field that the core refused, for its message; the length of a long list. */
function valueOf(flat: FlatRopeConfig, field: string): unknown {
  const value = (flat as unknown as Record<string, unknown>)[field.split(".").at(-1)!];
  return Array.isArray(value) && value.length > 8 ? `${value.length} entries` : value;
}
