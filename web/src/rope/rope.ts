import type { RopeConfig } from "../config/types.js";
import { type DecayOptions, decayCurve, firstNegativeDistance } from "./decay.js";
import { describe } from "./describe.js";
import type { Description } from "./description.js";
import { disposeSymbol } from "../base/dispose.js";
import type { ElementArray } from "../memory/elements.js";
import { RopewalkError } from "../base/errors.js";
import { type FrequencyPlan, readPlan } from "./plan.js";
import { checkIds, checkSequenceLength, type PositionArray } from "../memory/positions.js";
import { rerotate, type RerotateOptions, type Standing } from "./rerotate.js";
import type { RopeCore } from "./core.js";
import { rotate, type RotateOptions } from "./rotate.js";
import { type CosSinTable, type TableIntoOptions, type TableOptions, writeTable } from "./table.js";
import type { Tensor } from "../memory/tensor.js";

/**
 * Rotary position embedding by one config. Made by `rw.rope()`.
 *
 * Keeps the cos and sin of the positions seen last (at most 8 MB), because the layers of a model ask for the same ones.
 */
export class Rope implements Disposable {
  readonly #core: RopeCore;

  /** @internal */
  constructor(core: RopeCore) {
    this.#core = core;
  }

  /** What operations on it share. @internal */
  get core(): RopeCore {
    return this.#core;
  }

  /** The config as it was given. */
  get config(): Readonly<RopeConfig> {
    return this.#core.config;
  }

  /** Number of position axes: 1, or one for each entry of `mrope_section`. */
  get axes(): number {
    return this.#core.axes;
  }

  /**
   * Rotates `x` and returns it, or `out`. Tensors are rotated where they lie, in one call into wasm; other arrays pass through wasm memory
   * in pieces of 512 KB. All arguments are checked before anything is written.
   *
   * @param x - [B, T, H, D], [B, H, T, D] or [T, H, D] as `layout` says; queries and keys in calls of their own, with as many heads as each has.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_DTYPE, INVALID_POSITION, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  rotate<X extends Tensor | ElementArray>(x: X, options: RotateOptions): X {
    return rotate(this.#core, x, options);
  }

  /**
   * The plan for a sequence of `seqLen` positions (1, the plan of short sequences).
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  plan(seqLen?: number): FrequencyPlan {
    this.#core.useLength(checkSequenceLength(seqLen) || 1);
    const { heap, geometry, address } = this.#core;
    return readPlan(heap, geometry, heap.module.rope_plan(address));
  }

  /**
   * Cosines and sines of the angles, attention factor included, rounded once from f64.
   *
   * @param lengthOrPositions - positions 0 … n−1, or position ids ([A·n] with several axes).
   * @returns arrays of [n, rotary_dim/2] (compact) or [n, rotary_dim], f16 and bf16 as bits; or what `out` names.
   * @throws {@link RopewalkError} INVALID_POSITION, INVALID_SHAPE, INVALID_DTYPE, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  table<Elements extends Tensor | ElementArray>(
    lengthOrPositions: number | PositionArray,
    options: TableIntoOptions<Elements>,
  ): CosSinTable<Elements>;
  table(lengthOrPositions: number | PositionArray, options?: TableOptions): CosSinTable;
  table(lengthOrPositions: number | PositionArray, options: TableOptions = {}): CosSinTable {
    return writeTable(this.#core, lengthOrPositions, options);
  }

  /**
   * Moves cached keys from where they stood to where they are to stand, under another plan or at other positions, by one rotation and the
   * ratio of the attention factors. Exact where nothing changes, and a shift never scales.
   *
   * @param keys - as for {@link Rope.rotate}.
   * @throws {@link RopewalkError} as {@link Rope.rotate}; INVALID_ARGUMENT where the two ropes differ in geometry.
   */
  rerotate<X extends Tensor | ElementArray>(keys: X, options: RerotateOptions<Rope>): X {
    const coreOf = ({ rope, ...standing }: Standing<Rope>, field: string): Standing<RopeCore> => {
      if (rope !== undefined && !(rope instanceof Rope))
        throw new RopewalkError("INVALID_ARGUMENT", field, "must be made by rw.rope()");
      return rope === undefined ? standing : { ...standing, rope: rope.#core };
    };
    return rerotate(
      keys,
      { ...options, from: coreOf({ ...options.from }, "from.rope"), to: coreOf({ ...options.to }, "to.rope") },
      this.#core,
    );
  }

  /**
   * The factor by which a query is multiplied at each position (Llama 4, Ministral 3); all 1 where the config has none.
   * With several axes, positions of the first.
   * @throws {@link RopewalkError} INVALID_POSITION, DISPOSED.
   */
  queryTemperature(positions: number | PositionArray): Float64Array {
    const core = this.#core;
    const { heap } = core;
    const list = typeof positions === "number" ? [positions] : Array.from(checkIds(positions, "positions"));
    if (!list.every(Number.isFinite))
      throw new RopewalkError("INVALID_POSITION", "positions", "must be finite numbers");
    return heap.borrow(list.length * 16, (address) => {
      heap.doubles(address, list.length).set(list);
      heap.module.rope_query_temperatures(core.address, address, list.length, address + list.length * 8);
      return heap.doubles(address + list.length * 8, list.length).slice();
    });
  }

  /**
   * How the score of two equal vectors falls with their distance, without the attention factor.
   * @returns one value a distance: first, first + step, …
   * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_POSITION, DISPOSED.
   */
  decay(options: DecayOptions): Float64Array {
    return decayCurve(this.#core, options);
  }

  /**
   * The smallest distance from 1 to `limit` at which the score of equal vectors is below zero, or null.
   * @throws {@link RopewalkError} INVALID_POSITION, DISPOSED.
   */
  firstNegativeDistance(limit: number, seqLen?: number): number | null {
    return firstNegativeDistance(this.#core, limit, seqLen);
  }

  /**
   * All there is to say about this rope at a length (the trained one): pairs, ranges, decay and warnings. `String()` prints it.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, DISPOSED.
   */
  describe(seqLen?: number): Description {
    return describe(this.#core, seqLen);
  }

  /** Gives the memory back. Doing so twice is harmless. */
  dispose(): void {
    this.#core.dispose();
  }

  /** As {@link Rope.dispose}, for `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}
