// Checks ropes, configs and positions that callers pass to attention and caches.
import { withNumbers } from "../config/finished_config.js";
import type { RopeConfig } from "../config/types.js";
import type { Heap } from "../memory/heap.js";
import { checkSameHeap } from "../memory/operand.js";
import { checkPositions, lengthOf, type PositionInput, type Positions, readPositions } from "../memory/positions.js";
import { type Rope, ropeCore, ropeCoreOf } from "../rope/rope.js";
import { RopeCore } from "../rope/core.js";

/** @internal */
export function isRope(value: unknown): value is Rope {
  return ropeCore(value) !== undefined;
}

/** The core of a rope argument. Errors name `field`. Throws DISPOSED. @internal */
export function ropeOf(heap: Heap, rope: unknown, field: string): RopeCore {
  const core = ropeCoreOf(rope, field);
  checkSameHeap(heap, core, field);
  core.checkAlive();
  return core;
}

/** The config of an argument that is a rope or a config. @internal */
export function configOf(heap: Heap, rope: unknown, field: string): Readonly<RopeConfig> {
  const isConfig = typeof rope === "object" && rope !== null && ropeCore(rope) === undefined;
  return isConfig ? withNumbers(rope as RopeConfig) : ropeOf(heap, rope, field).config;
}

/** Calls `use` with a temporary rope for each config. Caches copy what they need from them. @internal */
export function withRopes<T>(heap: Heap, configs: readonly RopeConfig[], use: (ropes: RopeCore[]) => T): T {
  const ropes: RopeCore[] = [];
  try {
    for (const config of configs) ropes.push(new RopeCore(heap, config, false));
    return use(ropes);
  } finally {
    for (const rope of ropes) rope.dispose();
  }
}

/** Converts position input of a call with a rope or without, and checks its range. @internal */
export function readPositionsFor(
  rope: RopeCore | undefined,
  input: PositionInput,
  batches: number,
  tokens: number,
  field: string,
): Positions {
  const positions = readPositions(input, batches, tokens, rope?.axes ?? 1, field);
  if (positions.tokens > 0) checkPositions(positions, field);
  return positions;
}

/**
 * Makes the plan for the largest of some positions, by field, the rope's current one. Throws INVALID_POSITION if it can't be used at them.
 * @internal
 */
export function usePositions(rope: RopeCore, positions: Readonly<Record<string, Positions>>): void {
  const sequenceLength = Math.max(...Object.values(positions).map(lengthOf));
  for (const [field, given] of Object.entries(positions)) {
    if (given.tokens > 0) rope.checkPositions(given, field, sequenceLength);
  }
}
