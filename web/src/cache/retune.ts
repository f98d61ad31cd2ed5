import { wholeNumber } from "../base/checks.js";
import type { RopeConfig } from "../config/types.js";
import { RopewalkError, type RopewalkErrorCode } from "../base/errors.js";
import { configOf, withRopes } from "../attention/given_rope.js";
import type { KvCacheCore } from "./core.js";
import {
  checkPositions,
  placePositions,
  type PositionInput,
  type Positions,
  reachOf,
  readPositions,
} from "../memory/positions.js";
import type { Rope } from "../rope/rope.js";
import type { RopeCore } from "../rope/core.js";

/** How what a cache holds is to change: by another rope, at other positions, or both. */
export interface RetuneOptions {
  /** What turns keys from now on, in all sequences; it agrees with the old one in head_dim, and unless keys are raw, in span and pairing. */
  rope?: Rope | RopeConfig;
  /** The layers that it is for (all with RoPE, where one rope turns them). Those that one rope turned are retuned together. */
  layers?: number | readonly number[];
  /** Where the tokens held stand from now on: the position of the first, or an id for each as for `rope.rotate()`. */
  positions?: PositionInput;
  /** The sequence that the positions are for (0; to be named in a cache of several). */
  sequence?: number;
}

/** What a shift takes out. */
export interface ShiftOptions {
  /** First tokens that stay, from 0 (0). */
  keep?: number;
  /** Tokens after them that go, from 1; those behind move into their place. */
  discard: number;
  /** Which sequence (0; to be named in a cache of several). */
  sequence?: number;
}

/** Whether something could be done, and if not, what it would throw. */
export type Possibility =
  { possible: true } | { possible: false; code: RopewalkErrorCode; field: string; reason: string };

/** Whether `check` passes; only what has been disposed of throws. @internal */
export function possibility(check: () => void): Possibility {
  try {
    check();
    return { possible: true };
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.code === "DISPOSED") throw error;
    return { possible: false, code: error.code, field: error.field, reason: error.message };
  }
}

/** Shifts, or with `act` false checks whether that would do. @internal */
export function shift(core: KvCacheCore, options: ShiftOptions, act: boolean): void {
  const { heap, address, maxLength } = core;
  const sequence = core.sequence(options.sequence);
  const keep = wholeNumber(options.keep ?? 0, 0, maxLength, "keep");
  const discard = wholeNumber(options.discard, 1, maxLength, "discard");
  const name = act ? "kv_shift" : "kv_can_shift";
  heap.check(heap.module[name](address, sequence, keep, discard));
}

/** Retunes, or with `act` false checks whether that would do. @internal */
export function retune(core: KvCacheCore, options: RetuneOptions, act: boolean): void {
  const { heap, address } = core;
  const { module } = heap;
  const { rope, positions: input } = options;
  if (rope === undefined && input === undefined)
    throw new RopewalkError("INVALID_ARGUMENT", "rope", "or positions must be given");
  const config = rope === undefined ? undefined : configOf(heap, rope, "rope");
  const changed = config === undefined ? [] : groupsOf(core, options.layers);
  const sequence = input === undefined ? 0 : core.sequence(options.sequence);
  const positions =
    input === undefined ? undefined : readPositions(input, 1, core.tokens(sequence), core.axes, "positions");

  const configs = core.groups.map((group) => group.config);
  withRopes(heap, config === undefined ? configs : [...configs, config], (ropes) => {
    const tuned = ropes.at(-1)!; // of the new config, where there is one
    for (const group of changed) checkRope(core, module.kv_can_retune(address, group, tuned.address));
    if (positions !== undefined) {
      checkMoved(positions, ropes);
      const placed = placePositions(heap, positions, heap.idBlock(positions.ids?.length ?? 0), 0);
      heap.check(module[act ? "kv_move" : "kv_can_move"](address, sequence, placed));
    }
    if (!act) return;
    for (const group of changed) {
      checkRope(core, module.kv_retune(address, group, tuned.address));
      core.groups[group]!.config = tuned.config;
    }
  });
}

/** Whether held tokens may stand at new positions: none is too far for any rope, old or new. */
function checkMoved(positions: Positions, ropes: readonly RopeCore[]): void {
  checkPositions(positions, "positions");
  if (positions.tokens > 0) for (const rope of ropes) rope.checkPositions(reachOf(positions));
}

/** The rope groups that layers are in, each with all of its layers. */
function groupsOf(core: KvCacheCore, given: unknown): number[] {
  const wrong = (message: string): RopewalkError => new RopewalkError("INVALID_ARGUMENT", "layers", message);
  if (given === undefined) {
    if (core.groups.length !== 1)
      throw wrong(
        core.groups.length === 0 ? "have no RoPE" : "must be named: several ropes turn the layers of this cache",
      );
    return [0];
  }
  const layers = (Array.isArray(given) ? (given as unknown[]) : [given]).map((layer) =>
    wholeNumber(layer, 0, core.layers.length - 1, "layers"),
  );
  if (layers.length === 0) throw wrong("must name at least one layer");
  const groups = [...new Set(layers.map((layer) => core.layers[layer]!.group))];
  for (const group of groups) {
    const together = core.groups[group]?.layers;
    if (together === undefined) throw wrong("must have RoPE");
    if (!together.every((layer) => layers.includes(layer)))
      throw wrong(`must be all that one rope turns: ${together.join(", ")}`);
  }
  return groups;
}

/** Raises what the core finds wrong with a new rope, where the caller gave it. */
function checkRope({ heap }: KvCacheCore, status: number): void {
  const { field } = heap.module.status_fields(status);
  heap.check(status, undefined, field === "to" || field === "shape" ? "rope" : undefined);
}
