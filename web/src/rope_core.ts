import type { RopeConfig } from "./config/types.js";
import { RopewalkError } from "./errors.js";
import type { Heap } from "./heap.js";
import type { Geometry } from "./plan.js";
import { placePositions, type Positions } from "./positions.js";
import { configure } from "./wasm_config.js";

/** Queries and keys differ only under xPos. */
export const ROLES = ["query", "key"] as const;
/** One of {@link ROLES}. */
export type Role = (typeof ROLES)[number];

/** @internal */
export function codeOfRole(role: unknown): number {
  const code = ROLES.indexOf(role as Role);
  if (code < 0) throw new RopewalkError("INVALID_ARGUMENT", "role", `must be one of ${ROLES.join(", ")} (got ${String(role)})`);
  return code;
}

/** A net for ropes that were never disposed of; nobody may rely on it. */
const forgotten = new FinalizationRegistry<{ heap: Heap; address: number }>(({ heap, address }) => heap.module.rope_destroy(address));

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
  #address: number;

  constructor(heap: Heap, config: RopeConfig, useScalarKernels: boolean) {
    this.heap = heap;
    const { module } = heap;
    const address = module.rope_create();
    if (address === 0) throw new RopewalkError("OUT_OF_MEMORY", "", "memory for a rope cannot be had; dispose of tensors or ropes");
    try {
      this.geometry = configure(heap, address, config);
    } catch (error) {
      module.rope_destroy(address);
      throw error;
    }
    if (useScalarKernels) module.rope_use_scalar_kernels(address);
    this.axes = module.rope_plan(address).axes;
    this.config = Object.freeze(structuredClone(config));
    this.#address = address;
    forgotten.register(this, { heap, address }, this);
  }

  /** Where the rope lies in wasm memory. Throws DISPOSED. */
  get address(): number {
    if (this.#address === 0) throw new RopewalkError("DISPOSED", "rope", "has been disposed of; make a new one with rw.rope()");
    return this.#address;
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
    if (this.#address === 0) return;
    forgotten.unregister(this);
    this.heap.module.rope_destroy(this.#address);
    this.#address = 0;
  }
}
