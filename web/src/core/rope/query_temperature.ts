// The position-dependent factor of queries.
import { fail } from "../base/errors.js";
import { copyIds } from "../memory/positions.js";
import type { RopeCore } from "./core.js";

/** The factor of queries at each position. @internal */
export function queryTemperatures(core: RopeCore, positions: unknown): Float64Array {
  const list = typeof positions === "number" ? Float64Array.of(positions) : copyIds(positions, "positions");
  if (!list.every(Number.isFinite)) fail("INVALID_POSITION", "positions", "must be finite numbers");
  const { heap, address: rope } = core;
  return heap.borrow(list.length * 16, (address) => {
    heap.doubles(address, list.length).set(list);
    heap.module.rope_query_temperatures(rope, address, list.length, address + list.length * 8);
    return heap.doubles(address + list.length * 8, list.length).slice();
  });
}
