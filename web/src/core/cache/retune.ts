import { configOf, ropeOf, withRopes } from "../attention/rope_argument.js";
import { wholeNumber } from "../base/checks.js";
import { elementsOf } from "./options.js";
import { RopewalkError, type RopewalkErrorCode, fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import type { RopeConfig } from "../config/types.js";
import type { Heap } from "../memory/heap.js";
import { placePositions, type PositionInput, readPositions } from "../memory/positions.js";
import type { RopeCore } from "../rope/core.js";
import { type Rope, ropeCore } from "../rope/rope.js";
import type { KvCacheCore } from "./core.js";

/** A change of the rope, of the positions, or of both. */
export interface RetuneOptions {
  /**
   * The new rope, for all sequences. It must have the old one's head_dim and, unless keys are raw, the same rotated span, pairing and position
   * axes.
   */
  rope?: Rope | RopeConfig;
  /** Layers that get the new rope. Layers that share a rope change together. Default: all layers with RoPE, if they share one rope. */
  layers?: number | readonly number[];
  /** New positions of the cached tokens: the position of the first token, or an id for each, as in `rope.rotate()`. */
  positions?: PositionInput;
  /** Sequence that gets the positions. Required if the cache has several sequences. Default: 0. */
  sequence?: number;
}

/** What retune() gets: the new rope, as `session.retune()` does, or options, of which `rope` is one. */
export type Retuning = Rope | RopeConfig | RetuneOptions;

/** Which tokens to discard. */
export interface ShiftOptions {
  /** Number of tokens to keep at the start, from 0. Default: 0. */
  keep?: number;
  /** Number of tokens to discard after them, from 1. Later tokens move down. */
  discard: number;
  /** Which sequence. Required if the cache has several sequences. Default: 0. */
  sequence?: number;
}

/** Result of a check: whether the operation is possible and, if not, the error that it would throw. `reason` is the error's message. */
export type CheckResult =
  { possible: true } | { possible: false; code: RopewalkErrorCode; field: string; reason: string };

/** @internal */
export function shift(core: KvCacheCore, options: ShiftOptions): void {
  shiftOrCheck(core, options, false);
}

/** @internal */
export function canShift(core: KvCacheCore, options: ShiftOptions): CheckResult {
  return resultOf(() => shiftOrCheck(core, options, true));
}

/** @internal */
export function retune(core: KvCacheCore, change: Retuning, options?: RetuneOptions): void {
  retuneOrCheck(core, optionsOf(change, options), false);
}

/** @internal */
export function canRetune(core: KvCacheCore, change: Retuning, options?: RetuneOptions): CheckResult {
  return resultOf(() => retuneOrCheck(core, optionsOf(change, options), true));
}

/** Converts an error that `check` throws to a result. DISPOSED and OUT_OF_MEMORY, which say nothing of the operation, are still thrown. */
function resultOf(check: () => void): CheckResult {
  try {
    check();
    return { possible: true };
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.code === "DISPOSED" || error.code === "OUT_OF_MEMORY") throw error;
    return { possible: false, code: error.code, field: error.field, reason: error.message };
  }
}

const SHIFT_OPTIONS = optionNames<ShiftOptions>("shift()", { keep: true, discard: true, sequence: true });

function shiftOrCheck(core: KvCacheCore, options: ShiftOptions, checkOnly: boolean): void {
  const { keep: givenKeep = 0, discard: givenDiscard, sequence: givenSequence } = checkOptions(options, SHIFT_OPTIONS);
  const { heap, address, maxLength } = core;
  const sequence = core.sequence(givenSequence);
  const keep = wholeNumber(givenKeep, 0, maxLength, "keep");
  const discard = wholeNumber(givenDiscard, 1, maxLength, "discard");
  const status = heap.module.kv_shift(address, sequence, keep, discard, checkOnly);
  heap.check(status, (field) => (field === "discard" ? discard : undefined));
}

const RETUNE_OPTIONS = optionNames<RetuneOptions>("retune()", {
  rope: true,
  layers: true,
  positions: true,
  sequence: true,
});

/** A rope has a core, and a config has `head_dim`, which options lack. */
function optionsOf(change: Retuning, options: RetuneOptions | undefined): RetuneOptions {
  const isObject = typeof change === "object" && (change as unknown) !== null;
  const isRope = isObject && (ropeCore(change) !== undefined || "head_dim" in change);
  if (isRope) return { ...checkOptions(options, RETUNE_OPTIONS), rope: change as Rope | RopeConfig };
  if (options !== undefined) fail("INVALID_ARGUMENT", "rope", "must be a rope or a config if options follow it");
  return change as RetuneOptions;
}

function retuneOrCheck(core: KvCacheCore, options: RetuneOptions, checkOnly: boolean): void {
  const { rope, layers, positions: input, sequence: givenSequence } = checkOptions(options, RETUNE_OPTIONS);
  const { heap } = core;
  if (rope === undefined && input === undefined)
    fail("INVALID_ARGUMENT", "rope", "or positions is required (got neither)");
  if (rope !== undefined) configOf(heap, rope, "rope");
  const groups = Int32Array.from(rope === undefined ? [] : groupsOf(core, layers));
  const sequence = input === undefined ? 0 : core.sequence(givenSequence);
  const tokens = input === undefined ? 0 : core.tokens(sequence);
  const positions = readPositions(input ?? 0, 1, tokens, core.axes, "positions");

  withRope(heap, rope, (newRope) => {
    heap.borrow(groups.byteLength, (groupsAddress) => {
      const idsAddress = heap.idBlock(positions.ids?.length ?? 0);
      const wasmPositions = placePositions(heap, positions, idsAddress, 0);
      heap.bytes(groupsAddress, groups.byteLength).set(new Uint8Array(groups.buffer));
      const status = heap.module.kv_retune(
        core.address, // only now, because reading the options and a config may have run code that disposes of the cache
        groupsAddress,
        groups.length,
        newRope?.address ?? 0,
        sequence,
        input !== undefined,
        wasmPositions,
        checkOnly,
      );
      checkStatus(heap, status);
    });
    if (newRope === undefined || checkOnly) return;
    for (const group of groups) core.groups[group]!.config = newRope.config;
  });
}

/** Calls `use` with a configured rope: the caller's own, or for a config one that exists during the call. */
function withRope(heap: Heap, rope: Rope | RopeConfig | undefined, use: (rope: RopeCore | undefined) => void): void {
  if (rope === undefined) use(undefined);
  else if (ropeCore(rope) !== undefined) use(ropeOf(heap, rope, "rope"));
  else withRopes(heap, [rope as RopeConfig], ([made]) => use(made));
}

/** The rope groups of some layers. A group changes as a whole. */
function groupsOf(core: KvCacheCore, given: unknown): number[] {
  const refuse = (message: string): never => fail("INVALID_ARGUMENT", "layers", message);
  if (given === undefined) {
    if (core.groups.length === 0) return refuse("have no RoPE, so there is no rope to change");
    if (core.groups.length > 1) return refuse("is required: the layers of this cache use several ropes");
    return [0];
  }
  const layers = (elementsOf(given, "layers") ?? [given]).map((layer) =>
    wholeNumber(layer, 0, core.layers.length - 1, "layers"),
  );
  if (layers.length === 0) return refuse("must name at least one layer (got an empty list)");
  const groups = [...new Set(layers.map((layer) => core.layers[layer]!.group))];
  for (const group of groups) {
    const sharing = core.groups[group]?.layers;
    if (sharing === undefined) return refuse("must be layers with RoPE");
    if (!sharing.every((layer) => layers.includes(layer)))
      return refuse(`must include all layers that share a rope: ${sharing.join(", ")} (got ${layers.join(", ")})`);
  }
  return groups;
}

/** Throws what a status means. Statuses about the new rope's geometry name other fields in the core: here the field is `rope`. */
function checkStatus(heap: Heap, status: number): void {
  if (status === 0) return;
  const field = heap.fieldOf(status);
  heap.check(status, undefined, field === "to" || field === "shape" ? "rope" : undefined);
}
