// A configured rope in wasm memory, which all rope operations use.
import * as advise from "../base/advice.js";
import { codeIn } from "../base/checks.js";
import { frozenConfig, withNumbers } from "../config/finished_config.js";
import type { RopeConfig } from "../config/types.js";
import { fail } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import { Owned } from "../memory/owned.js";
import type { Geometry } from "./plan.js";
import { placePositions, type Positions } from "../memory/positions.js";
import { configure } from "./wasm_config.js";

/** What is rotated. Queries and keys are rotated differently only with xPos. */
export const ROLES = ["query", "key"] as const;
/** One of {@link ROLES}. */
export type Role = (typeof ROLES)[number];

/** @internal */
export function codeOfRole(role: unknown): number {
  return codeIn(ROLES, role, "role");
}

/**
 * A configured rope in wasm memory.
 * @internal
 */
export class RopeCore {
  readonly heap: Heap;
  readonly config: Readonly<RopeConfig>;
  readonly geometry: Geometry;
  /** Number of position axes. */
  readonly axes: number;
  readonly #owned: Owned;

  constructor(heap: Heap, given: RopeConfig, useScalarKernels: boolean) {
    const config = withNumbers(given);
    this.heap = heap;
    const { module } = heap;
    const address = module.rope_create();
    if (address === 0)
      fail("OUT_OF_MEMORY", "", "out of memory for a rope", advise.dispose({ of: ["tensors", "ropes"] }));
    try {
      this.geometry = configure(heap, address, config);
      this.config = frozenConfig(config);
    } catch (error) {
      module.rope_destroy(address);
      throw error;
    }
    if (useScalarKernels) module.rope_use_scalar_kernels(address);
    this.axes = module.rope_plan(address).axes;
    this.#owned = new Owned(heap, address, "rope", destroyRope);
  }

  /** Throws DISPOSED. */
  checkAlive(): void {
    this.#owned.check();
  }

  /** Address in wasm memory. Throws DISPOSED. */
  get address(): number {
    return this.#owned.address;
  }

  /** Makes the plan for a sequence length the current one. */
  useLength(sequenceLength: number): void {
    this.heap.check(this.heap.module.rope_use_length(this.address, sequenceLength));
  }

  /**
   * Throws INVALID_POSITION, naming `field`, if the plan for `sequenceLength` can't be used at these positions. 0 means the largest position + 1. The
   * plan is then the current one.
   */
  checkPositions(positions: Positions, field = "positions", sequenceLength = 0): void {
    if (positions.tokens === 0) return;
    const count = positions.ids?.length ?? 0;
    const placed = placePositions(this.heap, positions, count === 0 ? 0 : this.heap.idBlock(count), sequenceLength);
    this.heap.check(this.heap.module.rope_use_positions(this.address, placed), undefined, field);
  }

  dispose(): void {
    this.#owned.dispose();
  }
}

function destroyRope(heap: Heap, address: number): void {
  heap.module.rope_destroy(address);
}
