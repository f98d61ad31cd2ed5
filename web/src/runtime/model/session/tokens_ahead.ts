// Tokens that a model has read before they are certain, with the logits and hidden states after each.
import type { Heap } from "../../../core/memory/heap.js";
import { Owned } from "../../../core/memory/owned.js";
import type { ModelCore } from "../run/model_core.js";

/** @internal */
export class TokensAhead {
  readonly #core: ModelCore;
  readonly #tokens: Int32Array;
  readonly #logits: Owned;
  readonly #hidden: readonly Float32Array[];
  #taken = 0;

  /** `tokens` are those of the last forward(). Throws OUT_OF_MEMORY. */
  constructor(core: ModelCore, tokens: Int32Array) {
    this.#core = core;
    this.#tokens = tokens;
    const address = core.heap.allocate(tokens.length * core.vocabularySize * 4);
    this.#logits = new Owned(core.heap, address, "session", freeLogits);
    try {
      core.writeLogits(0, address, tokens.length);
      this.#hidden = Array.from(tokens, (_, i) => core.hidden(i));
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  /** The next token to take over; undefined if none is left. */
  get next(): number | undefined {
    return this.#tokens[this.#taken];
  }

  /** Takes over the next token: writes its logits to wasm memory, and returns its hidden state. */
  take(target: number): Float32Array {
    const { heap, vocabularySize: size } = this.#core;
    heap.floats(target, size).set(heap.floats(this.#logits.address + this.#taken * size * 4, size));
    return this.#hidden[this.#taken++]!;
  }

  dispose(): void {
    this.#logits.dispose();
  }
}

/** @internal */
export function freeLogits(heap: Heap, address: number): void {
  heap.free(address);
}
