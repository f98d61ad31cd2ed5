import type { RopeConfig } from "./config/types.js";
import { describe, smallestBase } from "./describe.js";
import type { Description } from "./description.js";
import type { DType, ElementArray } from "./elements.js";
import type { Heap } from "./heap.js";
import { convertPairing, type ConvertPairingOptions } from "./pairing.js";
import { Rope } from "./rope.js";
import { RopeCore } from "./rope_core.js";
import { Tensor } from "./tensor.js";

/**
 * `simd`: every current engine, the same bits everywhere. `relaxed`: fused multiply-add where the processor has it, so the last bits may
 * differ. `scalar`: the reference kernels in the simd file, for comparing.
 */
export const BUILDS = ["simd", "relaxed", "scalar"] as const;
/** One of {@link BUILDS}. */
export type Build = (typeof BUILDS)[number];

/** The loaded module: everything begins here. Made by `load()`. */
export class Ropewalk {
  /** Which build is running. */
  readonly build: Build;
  readonly #heap: Heap;

  /** @internal */
  constructor(heap: Heap, build: Build) {
    this.#heap = heap;
    this.build = build;
  }

  /** Bytes of wasm memory, used or not. It grows and never shrinks; only the end of the page or worker gives it back. */
  get memoryBytes(): number {
    return this.#heap.buffer.byteLength;
  }

  /**
   * Rotary position embedding by `config`, which `ropeConfig()` makes of a model's files.
   * @throws {@link RopewalkError} INVALID_CONFIG, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, OUT_OF_MEMORY.
   */
  rope(config: RopeConfig): Rope {
    return new Rope(this.#core(config));
  }

  /**
   * A tensor of zeros in wasm memory, on which kernels work without copies.
   * @param shape - extents, the last contiguous.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_DTYPE, OUT_OF_MEMORY.
   */
  tensor(shape: readonly number[], dtype: DType = "f32"): Tensor {
    return new Tensor(this.#heap, shape, dtype);
  }

  /**
   * What `config` means at a sequence length (the trained one).
   * @throws {@link RopewalkError} as {@link Ropewalk.rope}.
   */
  describe(config: RopeConfig, seqLen?: number): Description {
    return describe(this.#core(config), seqLen);
  }

  /**
   * Moves a q or k projection (or its bias) from one pairing to the other: the rows of the rotary span of each head are permuted, and scores
   * stay the same when q and k are converted alike.
   *
   * @param weights - [heads · head_dim, columns], any element type.
   * @returns a new array of the same kind.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_ARGUMENT, INVALID_CONFIG, OUT_OF_MEMORY.
   */
  convertPairing<Weights extends ElementArray>(weights: Weights, options: ConvertPairingOptions): Weights {
    return convertPairing(this.#heap, weights, options);
  }

  /**
   * The smallest base, to 0.1 %, at which plain RoPE keeps the score of equal vectors above zero over distances up to `window`
   * (Xu et al. 2024, arXiv:2405.14591); null where none below 1e12 does.
   * @throws {@link RopewalkError} INVALID_CONFIG, INVALID_ARGUMENT.
   */
  smallestBase(rotary_dim: number, window: number): number | null {
    return smallestBase({ heap: this.#heap, geometry: { rotary_dim } }, window);
  }

  #core(config: RopeConfig): RopeCore {
    return new RopeCore(this.#heap, config, this.build === "scalar");
  }
}
