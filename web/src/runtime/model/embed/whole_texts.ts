// Texts that a model reads whole, in wasm memory: their lengths and token types, and the ropes of the layers.
import * as advise from "../../../core/base/advice.js";
import { withRopes } from "../../../core/attention/rope_argument.js";
import { placeLayers } from "../../../core/cache/core.js";
import { readLayers } from "../../../core/cache/options.js";
import { fail } from "../../../core/base/errors.js";
import { Owned } from "../../../core/memory/owned.js";
import { cacheOptions } from "../plan/cache_layers.js";
import type { AdaptersInUse } from "../run/adapters_in_use.js";
import type { ModelCore } from "../run/model_core.js";
import { type Pooling, POOLINGS } from "../plan/embedding_plan.js";

/** A text as token ids. @internal */
export interface TextTokens {
  readonly tokens: Int32Array;
  /** The type of each token; absent if all are 0. */
  readonly types?: Int32Array;
  /** Tokens of the text at least, if these are only the first ones. */
  readonly least?: number;
}

/** The core's WholeTexts for the layers of a model. @internal */
export class WholeTextsCore {
  readonly #core: ModelCore;
  readonly #owned: Owned;

  constructor(core: ModelCore) {
    const { heap, plan, useScalarKernels } = core;
    const { module } = heap;
    const { layers, groups } = readLayers(
      heap,
      {
        layers: cacheOptions(plan, plan.layers),
        rope: undefined,
        kvHeads: undefined,
        headDim: undefined,
        hasValues: undefined,
      },
      0,
    );
    const address = withRopes(
      heap,
      groups.map(({ config }) => config),
      (ropes) =>
        placeLayers(heap, layers, ropes, (at, ropesAt) => {
          const texts = module.texts_create(useScalarKernels);
          if (texts === 0)
            fail("OUT_OF_MEMORY", "", "out of memory for texts", advise.dispose({ of: ["tensors", "models"] }));
          const status = module.texts_configure(texts, at, layers.length, ropesAt, ropes.length);
          if (status !== 0) module.texts_destroy(texts);
          heap.check(status);
          return texts;
        }),
    );
    this.#core = core;
    this.#owned = new Owned(heap, address, "texts", (own, at) => own.module.texts_destroy(at));
  }

  /**
   * Runs texts through the layers, and returns a vector of `size` elements for each, one after the other.
   * @param usesDense - whether the layers after pooling are used
   */
  vectors(
    texts: readonly TextTokens[],
    pooling: Pooling,
    usesDense: boolean,
    size: number,
    adapters: AdaptersInUse,
  ): Float32Array {
    this.read(texts, adapters);
    return this.pooled(this, texts.length, pooling, usesDense, size);
  }

  /**
   * Runs texts through the layers.
   * @param rows - address of hidden states that are added to the embeddings of all tokens; 0 for none
   */
  read(texts: readonly TextTokens[], adapters: AdaptersInUse, rows = 0): void {
    const { heap } = this.#core;
    const { module } = heap;
    const total = texts.reduce((sum, { tokens }) => sum + tokens.length, 0);
    const hasTypes = texts.some(({ types }) => types !== undefined);
    const words = new Int32Array(texts.length + (hasTypes ? 2 : 1) * total);
    words.set(texts.map(({ tokens }) => tokens.length));
    let at = texts.length;
    for (const { tokens, types } of texts) {
      words.set(tokens, at);
      if (types !== undefined) words.set(types, at + total);
      at += tokens.length;
    }
    heap.borrow(words.byteLength, (lengths) => {
      heap.bytes(lengths, words.byteLength).set(new Uint8Array(words.buffer));
      const tokens = lengths + 4 * texts.length;
      const own = this.#owned.address;
      heap.check(module.texts_begin(own, lengths, texts.length, hasTypes ? tokens + 4 * total : 0), undefined, "texts");
      heap.check(this.#core.readTexts(own, tokens, adapters, rows), undefined, "texts");
    });
  }

  /** Divides the rows of a run into parts by their numbers of tokens, without running them. */
  divide(lengths: readonly number[]): void {
    const { heap } = this.#core;
    heap.borrow(4 * lengths.length, (at) => {
      new Int32Array(heap.buffer, at, lengths.length).set(lengths);
      heap.check(heap.module.texts_begin(this.#owned.address, at, lengths.length, 0), undefined, "texts");
    });
  }

  /** A vector of `size` elements for each of `count` parts of the rows of the last read(), as `parts` divides them. */
  pooled(parts: WholeTextsCore, count: number, pooling: Pooling, usesDense: boolean, size: number): Float32Array {
    const { heap, address } = this.#core;
    const texts = parts.#owned.address;
    return heap.borrow(4 * count * size, (out) => {
      heap.check(heap.module.model_write_vectors(address, texts, POOLINGS.indexOf(pooling), usesDense, out));
      return heap.floats(out, count * size).slice();
    });
  }

  dispose(): void {
    this.#owned.dispose();
  }
}
