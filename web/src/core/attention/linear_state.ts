// Causal linear attention of a sequence that grows.
import { savedBytes, wholeNumber } from "../base/checks.js";
import type { RopeConfig } from "../config/types.js";
import { disposeSymbol } from "../base/dispose.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { configOf, readPositionsFor, usePositions } from "./rope_argument.js";
import type { Heap } from "../memory/heap.js";
import { stagedInput, withStaged } from "../memory/staging.js";
import { LinearSums } from "./linear_sums.js";
import { floatsOf, openOperand, type ShapedOperand } from "../memory/operand.js";
import type { PositionInput } from "../memory/positions.js";
import { withOutput } from "./qkv.js";
import type { Rope } from "../rope/rope.js";
import { RopeCore } from "../rope/core.js";
import { checkLayout, type Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** Size and rope of the running sums. */
export interface LinearStateOptions {
  /** Number of query heads, a multiple of kvHeads; 1 to 65536. */
  heads: number;
  /** Number of key and value heads (heads). */
  kvHeads?: number;
  /** Elements per head, 1 to 8192 (the rope's `head_dim`). */
  headDim?: number;
  /** Rotates φ(q) and φ(k) in the numerator (none). Its frequencies must not depend on the length. */
  rope?: Rope | RopeConfig;
}

/** Options of {@link LinearState.append}. The length of q determines the number of tokens. */
export interface LinearAppendOptions<Out = Tensor | Float32Array> {
  /** Order of the dimensions. A batch dimension must be 1. Default: `"thd"`. */
  layout?: Layout;
  /** Positions of the tokens. Default: they continue after the `tokens` appended so far. */
  positions?: PositionInput;
  /** Where to write: an f32 array or Tensor with as many elements as q, or q itself. Default: a new one of q's type; you dispose of a new Tensor. */
  out?: Out;
}

const OPTIONS = optionNames<LinearStateOptions>("linearState()", {
  heads: true,
  kvHeads: true,
  headDim: true,
  rope: true,
});
const APPEND_OPTIONS = optionNames<LinearAppendOptions>("append()", { layout: true, positions: true, out: true });

/** Causal linear attention of one growing sequence, at a constant cost per token. Create one with `rw.linearState()`. */
export class LinearState implements Disposable {
  /** Number of query heads. */
  readonly heads: number;
  /** Number of key and value heads. */
  readonly kvHeads: number;
  /** Elements per head. */
  readonly headDim: number;
  readonly #rope: RopeCore | undefined;
  readonly #sums: LinearSums;

  private constructor(heap: Heap, options: LinearStateOptions, useScalarKernels: boolean) {
    const { heads, kvHeads = heads, headDim, rope } = checkOptions(options, OPTIONS);
    const config = rope === undefined ? undefined : configOf(heap, rope, "rope");
    this.heads = wholeNumber(heads, 1, 65536, "heads");
    this.kvHeads = wholeNumber(kvHeads, 1, 65536, "kvHeads");
    this.headDim = wholeNumber(headDim ?? config?.head_dim, 1, 8192, "headDim");
    if (this.headDim !== (config?.head_dim ?? this.headDim)) {
      fail("INVALID_ARGUMENT", "headDim", `must be the rope's head_dim ${config?.head_dim} (got ${headDim})`);
    }
    this.#rope = config && new RopeCore(heap, config, useScalarKernels);
    try {
      this.#sums = new LinearSums(heap, this.heads, this.kvHeads, this.headDim, "heads");
    } catch (error) {
      this.#rope?.dispose();
      throw error;
    }
  }

  /** @internal */
  static create(heap: Heap, options: LinearStateOptions, useScalarKernels: boolean): LinearState {
    return new this(heap, options, useScalarKernels);
  }

  /** Number of tokens appended so far. */
  get tokens(): number {
    const { heap, address } = this.#sums;
    return heap.module.linear_tokens(address);
  }

  /**
   * Appends tokens one by one, and returns the attention of each token's query over all tokens so far, its own included. Without tokens it does nothing.
   *
   * @param q - f32, T tokens of `heads` heads.
   * @param k - f32, T tokens of `kvHeads` heads. All values must be finite.
   * @param v - same shape and limits as k.
   * @returns `out`, or a new array or Tensor of q's type and shape.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_DTYPE, INVALID_POSITION, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  append<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
    q: Q,
    k: Tensor | Float32Array,
    v: Tensor | Float32Array,
    options?: LinearAppendOptions<Out>,
  ): Out {
    const {
      layout: givenLayout = "thd",
      positions: givenPositions,
      out: givenOut,
    } = checkOptions(options, APPEND_OPTIONS);
    const { heap } = this.#sums;
    const layout = checkLayout(givenLayout);
    const { length } = floatsOf(heap, q, "q");
    const isEmpty = length === 0 && floatsOf(heap, k, "k").length === 0;
    const tokens = isEmpty ? 0 : Math.max(1, Math.floor(length / (this.heads * this.headDim)));
    const open = (value: Tensor | Float32Array, heads: number, name: string): ShapedOperand => {
      floatsOf(heap, value, name);
      const shape = Array.from(layout, (dimension) => ({ b: 1, t: tokens, h: heads, d: this.headDim })[dimension]!);
      return openOperand(heap, value, { layout, shape }, this.headDim, name, { shape: name, dtype: name });
    };
    const queries = open(q, this.heads, "q");
    const keys = open(k, this.kvHeads, "k");
    const values = open(v, this.kvHeads, "v");
    const positions = readPositionsFor(this.#rope, givenPositions ?? this.tokens, 1, tokens, "positions");
    return withOutput(heap, q, queries, givenOut, [keys, values], ({ q: query, out }) => {
      if (tokens === 0) return;
      if (this.#rope !== undefined) usePositions(this.#rope, { positions });
      const [key, value] = [stagedInput(keys), stagedInput(values)];
      withStaged(heap, [query, out, key, value], () => {
        const addresses = { q: query.at, k: key.at, v: value.at, out: out.at };
        this.#sums.step("append", this.#rope, positions, { ...addresses, layout });
      });
    });
  }

  /**
   * Removes all tokens.
   * @throws {@link RopewalkError} DISPOSED.
   */
  reset(): void {
    this.#sums.reset();
  }

  /**
   * The state as bytes. The same tokens give the same bytes on every machine.
   * @throws {@link RopewalkError} DISPOSED, OUT_OF_MEMORY.
   */
  save(): Uint8Array {
    const { heap, address } = this.#sums;
    const bytes = heap.module.linear_image_bytes(address);
    return heap.borrow(bytes, (at) => {
      heap.module.linear_save(address, this.#rope?.address ?? 0, at);
      return heap.bytes(at, bytes).slice();
    });
  }

  /**
   * Replaces the state by a saved one with the same heads, head_dim and rope. If it throws, the state is unchanged.
   * @throws {@link RopewalkError} INVALID_BYTES, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  restore(bytes: Uint8Array): void {
    const image = savedBytes(bytes);
    const { heap, address } = this.#sums;
    heap.borrow(image.length, (at) => {
      heap.bytes(at, image.length).set(image);
      heap.check(heap.module.linear_restore(address, this.#rope?.address ?? 0, at, image.length));
    });
  }

  /** Frees the memory. Calling it twice is harmless. */
  dispose(): void {
    this.#sums.dispose();
    this.#rope?.dispose();
  }

  /** Same as {@link LinearState.dispose}, for `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}
