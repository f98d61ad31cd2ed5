import { checkBytes, wholeNumber } from "../base/checks.js";
import type { RopeConfig } from "../config/types.js";
import { disposeSymbol } from "../base/dispose.js";
import { RopewalkError } from "../base/errors.js";
import { configOf, readPositionsFor } from "./given_rope.js";
import type { Heap } from "../memory/heap.js";
import { lend, toRead } from "../memory/lend.js";
import { LinearSums } from "./linear_sums.js";
import { floatsOf, openOperand, type Opened } from "../memory/operand.js";
import type { PositionInput } from "../memory/positions.js";
import { answer } from "./qkv.js";
import type { Rope } from "../rope/rope.js";
import { RopeCore } from "../rope/core.js";
import { checkLayout, type Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** What linear attention is to run over. */
export interface LinearStateOptions {
  /** Query heads, a multiple of kvHeads; 1 to 65536. */
  heads: number;
  /** Key and value heads (heads). */
  kvHeads?: number;
  /** Elements of a head, 1 to 8192 (the rope's `head_dim`). */
  headDim?: number;
  /** What turns φ(q) and φ(k) above the line (nothing); its frequencies are the same at every length. */
  rope?: Rope | RopeConfig;
}

/** How to go on. T tokens, as many as the length of q says. */
export interface LinearAppendOptions<Out = Tensor | Float32Array> {
  /** Order of the dimensions (`thd`); a batch has one row. */
  layout?: Layout;
  /** Where the tokens stand (after as many tokens as have been taken up: `tokens`). */
  positions?: PositionInput;
  /** Where to write: as many f32 elements as q, or q itself (something new of q's kind; a Tensor is then the caller's to dispose of). */
  out?: Out;
}

/** Causal linear attention of one sequence, continued token by token at a cost that does not grow. Made by `rw.linearState()`. */
export class LinearState implements Disposable {
  /** Query heads. */
  readonly heads: number;
  /** Key and value heads. */
  readonly kvHeads: number;
  /** Elements of a head. */
  readonly headDim: number;
  readonly #rope: RopeCore | undefined;
  readonly #sums: LinearSums;

  /** @internal */
  constructor(heap: Heap, { heads, kvHeads = heads, headDim, rope }: LinearStateOptions, useScalarKernels: boolean) {
    const config = rope === undefined ? undefined : configOf(heap, rope, "rope");
    this.heads = wholeNumber(heads, 1, 65536, "heads");
    this.kvHeads = wholeNumber(kvHeads, 1, 65536, "kvHeads");
    this.headDim = wholeNumber(headDim ?? config?.head_dim, 1, 8192, "headDim");
    if (this.headDim !== (config?.head_dim ?? this.headDim)) {
      throw new RopewalkError(
        "INVALID_ARGUMENT",
        "headDim",
        `must be the rope's head_dim ${config?.head_dim} (got ${headDim})`,
      );
    }
    this.#rope = config && new RopeCore(heap, config, useScalarKernels);
    try {
      this.#sums = new LinearSums(heap, this.heads, this.kvHeads, this.headDim, "heads");
    } catch (error) {
      this.#rope?.dispose();
      throw error;
    }
  }

  /** Tokens taken up so far. */
  get tokens(): number {
    const { heap, address } = this.#sums;
    return heap.module.linear_tokens(address);
  }

  /**
   * Takes up tokens one after the other, and answers their queries from what has been taken up, their own keys included.
   *
   * @param q - f32, T tokens of `heads` heads.
   * @param k - f32, T tokens of `kvHeads` heads, finite, as v.
   * @returns `out`, or something new of q's kind and shape.
   * @throws {@link RopewalkError} INVALID_SHAPE, INVALID_DTYPE, INVALID_POSITION, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY.
   */
  append<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
    q: Q,
    k: Tensor | Float32Array,
    v: Tensor | Float32Array,
    options: LinearAppendOptions<Out> = {},
  ): Out {
    const { heap } = this.#sums;
    const layout = checkLayout(options.layout ?? "thd");
    const tokens = Math.max(1, Math.floor(floatsOf(heap, q, "q").length / (this.heads * this.headDim)));
    const open = (value: Tensor | Float32Array, heads: number, name: string): Opened => {
      floatsOf(heap, value, name);
      const shape = Array.from(layout, (dimension) => ({ b: 1, t: tokens, h: heads, d: this.headDim })[dimension]!);
      return openOperand(heap, value, { layout, shape }, this.headDim, name, { shape: name, dtype: name });
    };
    const queries = open(q, this.heads, "q");
    const keys = open(k, this.kvHeads, "k");
    const values = open(v, this.kvHeads, "v");
    const positions = readPositionsFor(this.#rope, options.positions ?? this.tokens, 1, tokens, "positions");
    return answer(heap, q, queries, options.out, [keys, values], ({ q: asked, out }) => {
      const [kLoan, vLoan] = [toRead(keys), toRead(values)];
      lend(heap, [asked, out, kLoan, vLoan], () => {
        this.#sums.step("append", this.#rope, positions, {
          q: asked.at,
          k: kLoan.at,
          v: vLoan.at,
          out: out.at,
          layout,
        });
      });
    });
  }

  /**
   * Forgets all tokens.
   * @throws {@link RopewalkError} DISPOSED.
   */
  reset(): void {
    this.#sums.reset();
  }

  /**
   * The state as bytes, the same for the same tokens on every machine.
   * @throws {@link RopewalkError} DISPOSED, OUT_OF_MEMORY.
   */
  save(): Uint8Array {
    const { heap, address } = this.#sums;
    const bytes = heap.module.linear_image_bytes(address);
    return heap.borrow(bytes, (at) => {
      heap.module.linear_save(address, at);
      return heap.bytes(at, bytes).slice();
    });
  }

  /**
   * Goes on from a saved state of the same heads and head_dim.
   * @throws {@link RopewalkError} INVALID_BYTES, INVALID_ARGUMENT, DISPOSED, OUT_OF_MEMORY; the state is then as it was.
   */
  restore(bytes: Uint8Array): void {
    const { heap, address } = this.#sums;
    checkBytes(bytes);
    heap.borrow(bytes.length, (at) => {
      heap.bytes(at, bytes.length).set(bytes);
      heap.check(heap.module.linear_restore(address, at, bytes.length));
    });
  }

  /** Gives the memory back. Doing so twice is harmless. */
  dispose(): void {
    this.#sums.dispose();
    this.#rope?.dispose();
  }

  /** As {@link LinearState.dispose}, for `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}
