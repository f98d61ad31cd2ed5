import { codeIn } from "../base/checks.js";
import { frozenConfig } from "../config/finished_config.js";
import type { RopeConfig } from "../config/types.js";
import { RopewalkError } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import { Owned } from "../memory/owned.js";
import type { Geometry } from "./plan.js";
import { placePositions, type Positions } from "../memory/positions.js";
import { configure } from "./wasm_config.js";

/** Queries and keys differ only under xPos. */
export const ROLES = ["query", "key"] as const;
/** One of {@link ROLES}. */
export type Role = (typeof ROLES)[number];

/** @internal */
export function codeOfRole(role: unknown): number {
  return codeIn(ROLES, role, "role");
}

/**
 * A configured rope in wasm memory: what the operations on it share.
 * @internal
 */
export class RopeCore {
  readonly heap: Heap;
  readonly config: Readonly<RopeConfig>;
  readonly geometry: Geometry;
  /** Number of position axes. */
  readonly axes: number;
  readonly #owned: Owned;

  constructor(heap: Heap, config: RopeConfig, useScalarKernels: boolean) {
    this.heap = heap;
    const { module } = heap;
    const address = module.rope_create();
    if (address === 0)
      throw new RopewalkError("OUT_OF_MEMORY", "", "memory for a rope cannot be had; dispose of tensors or ropes");
    try {
      this.geometry = configure(heap, address, config);
    } catch (error) {
      module.rope_destroy(address);
      throw error;
    }
    if (useScalarKernels) module.rope_use_scalar_kernels(address);
    this.axes = module.rope_plan(address).axes;
    this.config = frozenConfig(config);
    this.#owned = new Owned(heap, address, "rope", destroyRope);
  }

  /** Throws DISPOSED. */
  checkAlive(): void {
    this.#owned.check();
  }

  /** Where the rope lies in wasm memory. Throws DISPOSED. */
  get address(): number {
    return this.#owned.address;
  }

  /** Makes the plan for a length the current one. */
  useLength(sequenceLength: number): void {
    this.heap.check(this.heap.module.rope_use_length(this.address, sequenceLength));
  }

  /** Refuses positions before anything is written; `field` is where the caller gave them. */
  checkPositions(positions: Positions, field = "positions"): void {
    const count = positions.ids?.length ?? 0;
    const placed = placePositions(this.heap, positions, count === 0 ? 0 : this.heap.idBlock(count), 0);
    this.heap.check(this.heap.module.rope_check_positions(this.address, placed), undefined, field);
  }

  dispose(): void {
    this.#owned.dispose();
  }
}

function destroyRope(heap: Heap, address: number): void {
  heap.module.rope_destroy(address);
}
