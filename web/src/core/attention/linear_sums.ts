import * as advise from "../base/advice.js";
import { fail } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import { Owned } from "../memory/owned.js";
import { placePositions, type Positions } from "../memory/positions.js";
import type { RopeCore } from "../rope/core.js";
import { type Layout, LAYOUTS } from "../memory/shape.js";

/**
 * What a step does: `append` adds each token's key and value to the sums and then evaluates its query, `absorb` only adds keys and values, and
 * `query` only evaluates queries.
 */
const MODES = ["append", "absorb", "query"] as const;

/** Addresses of the f32 tokens of one sequence, in one layout. Addresses that a step doesn't use are ignored. @internal */
export interface LinearRow {
  q: number;
  k: number;
  v: number;
  out: number;
  layout: Layout;
}

/**
 * The running sums of linear attention of one sequence, in wasm memory.
 * @internal
 */
export class LinearSums {
  readonly heap: Heap;
  readonly #owned: Owned;

  /** `field` is the option that gives the number of heads, if they don't come from the shape of q. */
  constructor(heap: Heap, heads: number, kvHeads: number, headDim: number, field?: string) {
    const { module } = heap;
    const address = module.linear_create();
    if (address === 0) fail("OUT_OF_MEMORY", "", "out of memory for running sums", advise.dispose({ of: ["tensors"] }));
    const status = module.linear_configure(address, heads, kvHeads, headDim);
    if (status !== 0) module.linear_destroy(address);
    heap.check(status, undefined, field);
    this.heap = heap;
    this.#owned = new Owned(heap, address, "linearState", destroySums);
  }

  /** Address in wasm memory. Throws DISPOSED. */
  get address(): number {
    return this.#owned.address;
  }

  /** Makes one step. Everything is checked before anything changes. `positions` must be of one row. */
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
