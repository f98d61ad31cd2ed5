import type { RopeConfig } from "../config/types.js";
import { RopewalkError } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import { checkPositions, type PositionInput, type Positions, readPositions } from "../memory/positions.js";
import { Rope } from "../rope/rope.js";
import { RopeCore } from "../rope/core.js";

/** The core of a rope that a caller gave in `field`. Throws DISPOSED. @internal */
export function ropeOf(heap: Heap, rope: unknown, field: string): RopeCore {
  if (!(rope instanceof Rope))
    throw new RopewalkError("INVALID_ARGUMENT", field, `must be made by rw.rope() (got ${String(rope)})`);
  if (rope.core.heap !== heap)
    throw new RopewalkError("INVALID_ARGUMENT", field, "belongs to another load() of the module");
  rope.core.checkAlive();
  return rope.core;
}

/** The config of a rope, or one by itself. @internal */
export function configOf(heap: Heap, rope: unknown, field: string): Readonly<RopeConfig> {
  const isConfig = typeof rope === "object" && rope !== null && !(rope instanceof Rope);
  return isConfig ? (rope as RopeConfig) : ropeOf(heap, rope, field).config;
}

/** Runs `use` with configured ropes, and disposes of them whatever happens: caches copy what ropes say. @internal */
export function withRopes<T>(heap: Heap, configs: readonly RopeConfig[], use: (ropes: RopeCore[]) => T): T {
  const ropes: RopeCore[] = [];
  try {
    for (const config of configs) ropes.push(new RopeCore(heap, config, false));
    return use(ropes);
  } finally {
    for (const rope of ropes) rope.dispose();
  }
}

/** Reads positions, and refuses those that the rope, or where there is none any other way of telling them, cannot take. @internal */
export function readPositionsFor(
  rope: RopeCore | undefined,
  input: PositionInput,
  batches: number,
  tokens: number,
  field: string,
): Positions {
  const positions = readPositions(input, batches, tokens, rope?.axes ?? 1, field);
  if (rope === undefined) checkPositions(positions, field);
  else rope.checkPositions(positions, field);
  return positions;
}
