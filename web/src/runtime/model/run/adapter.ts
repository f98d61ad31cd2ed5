// The public Adapter class: a LoRA adapter in wasm memory, which sessions of its model can use.
import { disposeSymbol } from "../../../core/base/dispose.js";
import type { HubChoice } from "../../files/model_files.js";
import type { Owned } from "../../../core/memory/owned.js";

/** The model of an adapter. @internal */
export interface AdapterModel {
  /** Called before the memory of an adapter is freed. */
  forgetAdapter(address: number): void;
}

/** Description of an adapter. */
export interface AdapterInfo {
  /** Name of its file. */
  name: string;
  /** What was chosen, if it was opened by its name on the Hub. */
  hub?: HubChoice;
  /** `gguf` or `safetensors`. */
  kind: "gguf" | "safetensors";
  /** The largest rank of its matrices. */
  rank: number;
  /** Names of the weights that it changes, as in the model's files. */
  targets: readonly string[];
  /** Number of its weights. */
  parameters: number;
  /** Bytes of wasm memory that it uses. Its weights are stored as f32. */
  bytes: number;
}

/** A LoRA adapter in wasm memory. Created by `model.loadAdapter()`. */
export class Adapter implements Disposable {
  /** Description of the adapter. */
  readonly info: AdapterInfo;
  /** 8 hexadecimal digits that tell its weights from others. @internal */
  readonly fingerprint: string;
  readonly #model: AdapterModel;
  readonly #owned: Owned;
  #onDispose: (() => void) | undefined;

  /** @internal */
  constructor(model: AdapterModel, owned: Owned, fingerprint: string, info: AdapterInfo, onDispose: () => void) {
    this.#model = model;
    this.fingerprint = fingerprint;
    this.info = info;
    this.#owned = owned;
    this.#onDispose = onDispose;
  }

  /** @internal */
  get model(): AdapterModel {
    return this.#model;
  }

  /** Throws DISPOSED. @internal */
  checkAlive(): void {
    this.#owned.check();
  }

  /** Throws DISPOSED. @internal */
  get address(): number {
    return this.#owned.address;
  }

  /**
   * Frees the memory. Calling it twice is harmless. Sessions that use the adapter can read no more tokens: they throw
   * DISPOSED.
   */
  dispose(): void {
    if (this.#owned.isAlive) this.#model.forgetAdapter(this.#owned.address);
    this.#owned.dispose();
    this.#onDispose?.();
    this.#onDispose = undefined;
  }

  /** Same as {@link Adapter.dispose}. */
  [disposeSymbol](): void {
    this.dispose();
  }
}
