import { flattenConfig, type FlatRopeConfig } from "../config/flatten.js";
import { PAIRINGS, type RopeConfig } from "../config/types.js";
import type { Heap } from "../memory/heap.js";
import type { Geometry } from "./plan.js";

const LISTS = ["short_factor", "long_factor", "inv_freq", "freq_factors", "mrope_section"] as const;

/**
 * Hands a config to the core, which checks its values and copies its lists. The rope is as it was where this throws.
 * @internal
 */
export function configure(heap: Heap, rope: number, config: RopeConfig): Geometry {
  const flat = flattenConfig(config);
  const { truncate = true, finetuned = false, ramp, mrope_layout = 0, xpos_center = 0 } = flat;
  const { query_temperature_floor_scale = 1, query_temperature_offset = 0 } = flat;
  const defaults = {
    truncate,
    finetuned,
    ramp,
    mrope_layout,
    xpos_center,
    query_temperature_floor_scale,
    query_temperature_offset,
  };

  const counts = Object.fromEntries(LISTS.map((name) => [name, flat[name]?.length ?? 0])) as Record<
    (typeof LISTS)[number],
    number
  >;
  const values = LISTS.flatMap((name) => flat[name] ?? []);
  const status = heap.borrow(values.length * 8, (address) => {
    heap.doubles(address, values.length).set(values);
    return heap.module.rope_configure(rope, { ...flat, ...defaults }, { values: address, ...counts });
  });
  heap.check(status, (field) => valueOf(flat, field));
  const { head_dim, rotary_dim, rotary_offset } = flat;
  return { head_dim, rotary_dim, rotary_offset, pairing: PAIRINGS[flat.pairing]! };
}

/** What stands in a field that the core found wrong; lists are told by their length. */
function valueOf(flat: FlatRopeConfig, field: string): unknown {
  const value = (flat as unknown as Record<string, unknown>)[field.split(".").at(-1)!];
  return Array.isArray(value) && value.length > 8 ? `${value.length} entries` : value;
}
