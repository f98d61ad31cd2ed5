import { transfer } from "comlink";
import { RopewalkError } from "../base/errors.js";
import type { CachedModel } from "../files/cache/models.js";
import type { ModelSource } from "../files/model_files.js";
import type { LoadOptions, WasmSource } from "../load/load.js";
import type { ModelInfo, ModelOptions } from "../model/model.js";
import type { Build } from "../load/runtime.js";
import { asyncDisposeSymbol } from "./async_dispose.js";
import { Connection, type Thread } from "./connection.js";
import { WorkerModel } from "./worker_model.js";
import { WorkerTokenizer } from "./worker_tokenizer.js";

/** How a model is opened and used in a Worker. */
export interface WorkerModelOptions extends ModelOptions {
  /** Whether an ArrayBuffer or Uint8Array that the model is read from moves to the Worker, and is empty here afterwards (false: it is copied). */
  transfer?: boolean;
}

/** The module loaded in a Worker: models, with promises. Made by `load()` of `ropewalk/worker`. */
export class WorkerRopewalk implements AsyncDisposable {
  /** Which build is running. */
  readonly build: Build;
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection, build: Build) {
    this.#connection = connection;
    this.build = build;
  }

  /** Bytes of the Worker's wasm memory, used or not. It grows and never shrinks; `dispose()` gives all of it back. */
  get memoryBytes(): Promise<number> {
    return this.#connection.run((host) => host.memoryBytes());
  }

  /**
   * Loads a model as `rw.model()` does, inside the Worker: files are read and fetched there.
   * @throws {@link RopewalkError} as `Ropewalk.model`; rejects with the signal's reason.
   */
  async model(source: ModelSource, options: WorkerModelOptions = {}): Promise<WorkerModel> {
    const { transfer: isMoved = false, ...others } = options;
    const held = await this.#connection.listen(
      others,
      (host, call, rest) => host.model(call, this.#sent(source, isMoved), rest),
      (unwanted) => new WorkerModel(this.#connection, unwanted).dispose(),
    );
    return new WorkerModel(this.#connection, held);
  }

  /**
   * What a model is, from its headers alone.
   * @throws {@link RopewalkError} as `Ropewalk.model`; rejects with the signal's reason.
   */
  modelInfo(source: ModelSource, options: ModelOptions = {}): Promise<ModelInfo> {
    return this.#connection.listen(options, (host, call, rest) =>
      host.modelInfo(call, this.#sent(source, false), rest),
    );
  }

  /** What option `cache` has kept on this device, as `Ropewalk.cachedModels`. */
  cachedModels(): Promise<CachedModel[]> {
    return this.#connection.run((host) => host.cachedModels());
  }

  /**
   * Removes what is kept of a model, as `Ropewalk.deleteCachedModel`.
   * @returns whether there was any.
   * @throws {@link RopewalkError} INVALID_ARGUMENT where it is no address.
   */
  deleteCachedModel(source: string | URL): Promise<boolean> {
    return this.#connection.run((host) => host.deleteCachedModel(this.#connection.thread.resolve(String(source))));
  }

  /**
   * A tokenizer without a model, as `rw.tokenizer()`.
   * @throws {@link RopewalkError} as `Ropewalk.tokenizer`.
   */
  async tokenizer(source: object, tokenizerConfig?: object): Promise<WorkerTokenizer> {
    return new WorkerTokenizer(
      this.#connection,
      await this.#connection.run((host) => host.tokenizer(source, tokenizerConfig)),
    );
  }

  /** Ends the Worker, and gives all its memory back. What waits for it, and every later call, rejects with DISPOSED. */
  dispose(): Promise<void> {
    this.#connection.close();
    return Promise.resolve();
  }

  /** The same. */
  [asyncDisposeSymbol](): Promise<void> {
    return this.dispose();
  }

  #sent(source: ModelSource, isMoved: boolean): ModelSource {
    if (typeof source === "string" || source instanceof URL) return this.#connection.thread.resolve(String(source));
    const buffer = source instanceof Uint8Array ? source.buffer : source;
    return isMoved && buffer instanceof ArrayBuffer ? transfer(source, [buffer]) : source;
  }
}

/** Loads the module in a thread that has been started. @internal */
export async function loadIn(
  start: () => Thread,
  { signal, wasm, ...options }: LoadOptions = {},
): Promise<WorkerRopewalk> {
  signal?.throwIfAborted();
  const connection = new Connection(started(start));
  const giveUp = (): void => connection.close();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    const given = wasm === undefined ? {} : { wasm: await sentWasm(wasm, connection.thread) };
    return new WorkerRopewalk(connection, await connection.run((host) => host.load({ ...options, ...given })));
  } catch (error) {
    connection.close();
    throw signal?.aborted === true ? signal.reason : error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

function started(start: () => Thread): Thread {
  try {
    return start();
  } catch (cause) {
    throw new RopewalkError("WASM_LOAD", "worker", `the Worker could not be started: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** A response cannot be sent; its bytes can. */
async function sentWasm(wasm: WasmSource, thread: Thread): Promise<WasmSource> {
  const settled = await wasm;
  if (typeof settled === "string" || settled instanceof URL) return thread.resolve(String(settled));
  if (typeof Response !== "function" || !(settled instanceof Response)) return settled;
  if (!settled.ok)
    throw new RopewalkError("WASM_LOAD", "wasm", `the server answered ${settled.status} for ${settled.url}`);
  return settled.arrayBuffer();
}
