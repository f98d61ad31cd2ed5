// Passes a config to a rope in wasm memory.
import { flattenConfig, type FlatRopeConfig } from "../config/flatten.js";
import { mapFieldAt } from "../config/position_map.js";
import { PAIRINGS, type RopeConfig } from "../config/types.js";
import type { Heap } from "../memory/heap.js";
import { defaultRopeConfig, type RopeConfig as WasmRopeConfig } from "../config/rope_fields.js";
import type { Geometry } from "./plan.js";

/**
 * Passes a config to the core, which checks its values and copies its lists. If this throws, the rope is unchanged.
 * @internal
 */
export function configure(heap: Heap, rope: number, config: RopeConfig): Geometry {
  const flat = flattenConfig(config);
  const lists = Object.entries(flat).filter((entry): entry is [string, number[]] => Array.isArray(entry[1]));
  const values = lists.flatMap(([, list]) => list);
  const status = heap.borrow(values.length * 8, (address) => {
    heap.doubles(address, values.length).set(values);
    let end = address;
    const places = lists.map(([name, { length }]) => {
      const place = { values: end, size: length };
      end += length * 8;
      return [name, place];
    });
    const fields = { ...defaultRopeConfig(), ...flat, ...Object.fromEntries(places) } as WasmRopeConfig;
    return heap.module.rope_configure(rope, fields);
  });
  heap.check(status, (field) => valueOf(flat, field));
  const { head_dim, rotary_dim, rotary_offset, reversed = false } = flat;
  return { head_dim, rotary_dim, rotary_offset, reversed, pairing: PAIRINGS[flat.pairing]! };
}

/** The value of a field that the core refused, for its message; the length of a long list. */
function valueOf(flat: FlatRopeConfig, field: string): unknown {
  const name = mapFieldAt(field) ?? field.split(".").at(-1)!;
  const value = (flat as unknown as Record<string, unknown>)[name];
  return Array.isArray(value) && value.length > 8 ? `${value.length} entries` : value;
}
