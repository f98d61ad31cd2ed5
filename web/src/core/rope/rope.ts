// The Rope object: one config and its operations.
import { show } from "../base/show.js";
import type { RopeConfig } from "../config/types.js";
import { type DecayOptions, decayCurve, firstNegativeDistance } from "./decay.js";
import { describe } from "./describe.js";
import type { Description } from "./description.js";
import { disposeSymbol } from "../base/dispose.js";
import type { ElementArray } from "../memory/elements.js";
import { fail } from "../base/errors.js";
import { type FrequencyPlan, readPlan } from "./plan.js";
import { checkSequenceLength, type PositionArray } from "../memory/positions.js";
import { queryTemperatures } from "./query_temperature.js";
import { rerotate, type RerotateOptions } from "./rerotate.js";
import { RopeCore } from "./core.js";
import { rotate, type RotateOptions } from "./rotate.js";
import { type CosSinTable, type TableIntoOptions, type TableOptions, writeTable } from "./table.js";
import type { Tensor } from "../memory/tensor.js";

let coreOf: (value: object) => RopeCore | undefined;

/**
 * Rotary position embedding for one config. Create one with `rw.rope()`, and free it with `dispose()` or `using`.
 *
 * A rope caches the cos and sin of the positions it used last (at most 8 MB), because all layers of a model use the same positions.
 */
export class Rope implements Disposable {
  readonly #core: RopeCore;

  // As for tensors: nothing that a caller can reach leads to the core.
  static {
    coreOf = (value) => (#core in value ? value.#core : undefined);
  }

  private constructor(core: RopeCore) {
    if (!(core instanceof RopeCore)) fail("INVALID_ARGUMENT", "", "create ropes with rw.rope()");
    this.#core = core;
  }

  /** @internal */
  static create(core: RopeCore): Rope {
    return new this(core);
  }

  /** The config that the rope was created with. */
  get config(): Readonly<RopeConfig> {
    return this.#core.config;
  }

  /** Number of position axes: 1, or the number of entries of `mrope_section`. */
  get axes(): number {
    return this.#core.axes;
  }

  /**
   * Rotates `x` in place, or into `out`, and returns the result. A Tensor is rotated without copies, in one call into wasm. Other arrays are
   * copied through wasm memory in chunks of 512 KB. All arguments are checked before anything is written.
   *
   * @param x - queries or keys, [B, T, H, D], [B, H, T, D] or [T, H, D] according to `layout`. Call it once for queries and once for keys,
   * whose numbers of heads may differ.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_DTYPE, INVALID_POSITION, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  rotate<X extends Tensor | ElementArray>(x: X, options: RotateOptions): X {
    return rotate(this.#core, x, options);
  }

  /**
   * The frequency plan for a sequence length. Default: 1, the plan for short sequences.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  plan(seqLen?: number): FrequencyPlan {
    this.#core.useLength(checkSequenceLength(seqLen) || 1);
    const { heap, geometry, address } = this.#core;
    return readPlan(heap, geometry, heap.module.rope_plan(address));
  }

  /**
   * A table of the cosines and sines of the angles, multiplied by the attention factor. Values are rounded once, from f64.
   *
   * @param lengthOrPositions - n for positions 0 … n−1, or n position ids (A·n with A position axes).
   * @returns cos and sin, [n, rotary_dim/2] each in the compact layout, else [n, rotary_dim]; f16 and bf16 as bits. With `out`, its arrays.
   * @throws {@link RopewalkError} INVALID_POSITION, INVALID_SHAPE, INVALID_DTYPE, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  table<Elements extends Tensor | ElementArray>(
    lengthOrPositions: number | PositionArray,
    options: TableIntoOptions<Elements>,
  ): CosSinTable<Elements>;
  table(lengthOrPositions: number | PositionArray, options?: TableOptions): CosSinTable;
  table(lengthOrPositions: number | PositionArray, options?: TableOptions): CosSinTable {
    return writeTable(this.#core, lengthOrPositions, options);
  }

  /**
   * Re-rotates cached keys: moves them to other positions, to another plan, or both, without the original keys. It rotates by the difference of
   * the angles, and multiplies by the ratio of the attention factors. If nothing changes, the keys keep their bits. A shift never scales.
   *
   * @param keys - rotated keys, as for {@link Rope.rotate}.
   * @throws {@link RopewalkError} the codes of {@link Rope.rotate}; INVALID_ARGUMENT also if the two ropes differ in geometry.
   */
  rerotate<X extends Tensor | ElementArray>(keys: X, options: RerotateOptions<Rope>): X {
    return rerotate(this.#core, keys, options, ropeCoreOf);
  }

  /**
   * The factor that multiplies a query at each position (Llama 4, Ministral 3); all 1 if the config has none. With several position axes,
   * pass the positions of the first axis.
   * @throws {@link RopewalkError} INVALID_POSITION, DISPOSED.
   */
  queryTemperature(positions: number | PositionArray): Float64Array {
    return queryTemperatures(this.#core, positions);
  }

  /**
   * How the score of two equal vectors decays with their distance, without the attention factor.
   * @returns one value per distance: first, first + step, …
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_POSITION, DISPOSED.
   */
  decay(options: DecayOptions): Float64Array {
    return decayCurve(this.#core, options);
  }

  /**
   * The smallest distance from 1 to `limit` at which the score of equal vectors is below zero, or null if there is none.
   * @throws {@link RopewalkError} INVALID_POSITION, DISPOSED.
   */
  firstNegativeDistance(limit: number, seqLen?: number): number | null {
    return firstNegativeDistance(this.#core, limit, seqLen);
  }

  /**
   * Describes this rope at a sequence length: pairs, ranges, decay and warnings. `String()` formats the result
   * for a terminal. Default: the trained length.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  describe(seqLen?: number): Description {
    return describe(this.#core, seqLen);
  }

  /** Frees the memory. Calling it twice is harmless. */
  dispose(): void {
    this.#core.dispose();
  }

  /** Same as {@link Rope.dispose}, for `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}

/** The core of a rope; undefined for any other value. @internal */
export function ropeCore(value: unknown): RopeCore | undefined {
  return typeof value === "object" && value !== null ? coreOf(value) : undefined;
}

/** The core of a rope argument. Errors name `field`. @internal */
export function ropeCoreOf(value: unknown, field: string): RopeCore {
  const core = ropeCore(value);
  if (core === undefined) fail("INVALID_ARGUMENT", field, `must be created by rw.rope() (got ${show(value)})`);
  return core;
}
