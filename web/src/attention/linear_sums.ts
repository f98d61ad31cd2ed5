import { RopewalkError } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import { Owned } from "../memory/owned.js";
import { placePositions, type Positions } from "../memory/positions.js";
import type { RopeCore } from "../rope/core.js";
import { type Layout, LAYOUTS } from "../memory/shape.js";

/**
 * What a step does with the sums: takes up keys and values and answers the queries of the same tokens, one after the other; takes up keys and
 * values alone; or answers queries alone.
 */
const MODES = ["append", "absorb", "query"] as const;

/** Where the tokens of one sequence lie, f32 in one layout; what a step does not need may be anywhere. @internal */
export interface LinearRow {
  q: number;
  k: number;
  v: number;
  out: number;
  layout: Layout;
}

/**
 * The running sums of linear attention in wasm memory, of one sequence.
 * @internal
 */
export class LinearSums {
  readonly heap: Heap;
  readonly #owned: Owned;

  /** `field` is where a caller gave the number of heads, if not as extents of q. */
  constructor(heap: Heap, heads: number, kvHeads: number, headDim: number, field?: string) {
    const { module } = heap;
    const address = module.linear_create();
    if (address === 0)
      throw new RopewalkError("OUT_OF_MEMORY", "", "memory for running sums cannot be had; dispose of tensors");
    const status = module.linear_configure(address, heads, kvHeads, headDim);
    if (status !== 0) module.linear_destroy(address);
    heap.check(status, undefined, field);
    this.heap = heap;
    this.#owned = new Owned(heap, address, "linearState", destroySums);
  }

  /** Where the sums lie in wasm memory. Throws DISPOSED. */
  get address(): number {
    return this.#owned.address;
  }

  /** One step, checked whole before anything is changed. `positions` are of one row. */
  step(
    mode: (typeof MODES)[number],
    rope: RopeCore | undefined,
    positions: Positions,
    { q, k, v, out, layout }: LinearRow,
  ): void {
    const { heap, address } = this;
    const placed = placePositions(heap, positions, heap.idBlock(positions.ids?.length ?? 0), 0);
    const codes = [MODES.indexOf(mode), q, k, v, out, LAYOUTS.indexOf(layout), positions.tokens] as const;
    heap.check(heap.module.linear_step(address, rope?.address ?? 0, placed, ...codes));
  }

  reset(): void {
    this.heap.module.linear_reset(this.address);
  }

  dispose(): void {
    this.#owned.dispose();
  }
}

function destroySums(heap: Heap, address: number): void {
  heap.module.linear_destroy(address);
}
