// The Worker's counterpart of Ropewalk: starts the Worker and loads models in it.
import { optionalFunction, optionalSignal } from "../base/checks.js";
import { fail, RopewalkError } from "../base/errors.js";
import { checkOptions, type OptionNames, optionNames } from "../base/options.js";
import { messageOf, show } from "../base/show.js";
import { isRevoked } from "../base/typed_arrays.js";
import type { CachedModel } from "../files/cache/models.js";
import type { ModelSource } from "../files/model_files.js";
import { hasRelaxedSimd } from "../load/engine.js";
import type { LoadOptions, WasmSource } from "../load/load.js";
import type { ModelInfo } from "../model/model.js";
import { MODEL_INFO_OPTIONS, type ModelOptions, WORKER_MODEL_OPTIONS } from "../model/options.js";
import type { Kernels } from "../load/kernels.js";
import type { Build } from "../load/runtime.js";
import { asyncDisposeSymbol } from "../base/dispose.js";
import type { RuntimeState } from "./protocol.js";
import { RpcClient, type Thread } from "./rpc_client.js";
import { sourceToSend } from "./source_to_send.js";
import { WorkerModel } from "./worker_model.js";
import { WorkerTokenizer } from "./worker_tokenizer.js";

/** Options for loading a model in a Worker. */
export interface WorkerModelOptions extends ModelOptions {
  /**
   * Whether to transfer the ArrayBuffer or Uint8Array with the model to the Worker, which leaves it empty here.
   * Default: false, it's copied.
   */
  transfer?: boolean;
}

/** The module in a Worker. Loads models. Created by `load()` of `ropewalk/worker`. */
export class WorkerRopewalk implements AsyncDisposable {
  /** The build in use. */
  readonly build: Build;
  /** The kernels that were chosen for this engine and processor. */
  readonly kernels: Kernels;
  readonly #client: RpcClient;
  #threads: number;

  /** @internal */
  constructor(client: RpcClient, { build, kernels, threads }: RuntimeState) {
    this.#client = client;
    this.build = build;
    this.kernels = kernels;
    this.#threads = threads;
  }

  /** Number of threads that share the work of a call: the Worker and its helpers, after the last load() or useThreads(). */
  get threads(): number {
    return this.#threads;
  }

  /**
   * Changes the number of threads, as `Ropewalk.useThreads`. Waits until the running call pauses.
   * @throws {@link RopewalkError} as `Ropewalk.useThreads`; DISPOSED.
   */
  async useThreads(threads: number | "auto"): Promise<void> {
    this.#threads = await this.#client.send((server) => server.useThreads(threads));
  }

  /** Size of the Worker's wasm memory in bytes. It grows but never shrinks; `dispose()` frees all of it. */
  get memoryBytes(): Promise<number> {
    return this.#client.send((server) => server.memoryBytes());
  }

  /**
   * Loads a model as `rw.model()` does. The Worker reads and downloads the files.
   * @throws {@link RopewalkError} as `Ropewalk.model`; rejects with the signal's reason.
   */
  async model(source: ModelSource, options?: WorkerModelOptions): Promise<WorkerModel> {
    const { transfer: isTransferred = false, ...others } = checkOptions(options, WORKER_MODEL_OPTIONS);
    checkLocal(others);
    const handle = await this.#client.call(
      others,
      (server, call, rest) => server.model(call, sourceToSend(this.#client, source, isTransferred), rest),
      (unwanted) => new WorkerModel(this.#client, unwanted).dispose(),
    );
    return new WorkerModel(this.#client, handle, others.onWarning);
  }

  /**
   * Describes a model from its headers, without loading weights.
   * @throws {@link RopewalkError} as `Ropewalk.model`; rejects with the signal's reason.
   */
  async modelInfo(source: ModelSource, options?: ModelOptions): Promise<ModelInfo> {
    const { ...given } = checkOptions(options, MODEL_INFO_OPTIONS);
    checkLocal(given);
    return this.#client.call(given, (server, call, rest) =>
      server.modelInfo(call, sourceToSend(this.#client, source, false), rest),
    );
  }

  /** Lists the models that the option `cache` has stored on this device, as `Ropewalk.cachedModels`. */
  cachedModels(): Promise<CachedModel[]> {
    return this.#client.send((server) => server.cachedModels());
  }

  /**
   * Deletes a model from the cache, as `Ropewalk.deleteCachedModel`.
   * @returns whether it was cached
   * @throws {@link RopewalkError} INVALID_ARGUMENT if `source` isn't a URL.
   */
  deleteCachedModel(source: string | URL): Promise<boolean> {
    return this.#client.send((server) => server.deleteCachedModel(sourceToSend(this.#client, source, false) as string));
  }

  /**
   * Creates a tokenizer without a model, as `rw.tokenizer()`.
   * @throws {@link RopewalkError} as `Ropewalk.tokenizer`.
   */
  async tokenizer(source: object, tokenizerConfig?: object): Promise<WorkerTokenizer> {
    return new WorkerTokenizer(
      this.#client,
      await this.#client.send((server) => server.tokenizer(source, tokenizerConfig)),
    );
  }

  /** Ends the Worker and frees all its memory. Pending and later calls reject with DISPOSED. */
  dispose(): Promise<void> {
    this.#client.close();
    return Promise.resolve();
  }

  /** Same as {@link WorkerRopewalk.dispose}. */
  [asyncDisposeSymbol](): Promise<void> {
    return this.dispose();
  }
}

/** Options of `load()` of `ropewalk/worker`. */
export interface WorkerLoadOptions extends LoadOptions {
  /**
   * In a page, the address of the Worker's script, a copy of `ropewalk/worker_thread.js`, instead of the file next to the package. It looks for the
   * wasm next to itself, in wasm/, unless `wasm` is given. It may be on another origin that allows CORS.
   */
  workerUrl?: string | URL;
}

const LOAD_OPTIONS: OptionNames = optionNames<LoadOptions>("load()", {
  build: true,
  wasm: true,
  threads: true,
  signal: true,
});

/** The options where the Worker's script is a file. @internal */
export const WORKER_LOAD_OPTIONS: OptionNames = optionNames<WorkerLoadOptions>("load()", {
  build: true,
  wasm: true,
  threads: true,
  signal: true,
  workerUrl: true,
});

/** Checks the options that stay in this thread. */
function checkLocal({ signal, onProgress, onWarning }: ModelOptions): void {
  optionalSignal(signal);
  optionalFunction(onProgress, "onProgress");
  optionalFunction(onWarning, "onWarning");
}

/** Starts a thread and loads the module in it. @internal */
export async function loadIn(
  start: (workerUrl: string | undefined) => Thread,
  given: WorkerLoadOptions | undefined,
  names = LOAD_OPTIONS,
): Promise<WorkerRopewalk> {
  const { signal: givenSignal, wasm, workerUrl, ...options } = checkOptions(given, names);
  const signal = optionalSignal(givenSignal);
  signal?.throwIfAborted();
  const thread = startThread(() => start(addressOf(workerUrl)));
  const sent = wasm === undefined ? ownWasm(thread, options) : withWasm(wasm, thread, options);
  try {
    return await loadOn(thread, sent, signal);
  } catch (error) {
    const { elsewhere } = thread;
    if (elsewhere === undefined || !(error instanceof RopewalkError && error.field === "worker")) throw error;
    return loadOn(
      startThread(() => start(elsewhere)),
      sent,
      signal,
    );
  }
}

async function loadOn(
  thread: Thread,
  sent: Promise<LoadOptions>,
  signal: AbortSignal | undefined,
): Promise<WorkerRopewalk> {
  const client = new RpcClient(thread);
  const abort = (): void => client.close();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    const options = await sent;
    return new WorkerRopewalk(client, await client.send((server) => server.load(options)));
  } catch (error) {
    client.close();
    throw signal?.aborted === true ? signal.reason : error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

function addressOf(workerUrl: unknown): string | undefined {
  if (workerUrl === undefined) return undefined;
  if (typeof workerUrl === "string" || workerUrl instanceof URL) return String(workerUrl);
  fail("INVALID_ARGUMENT", "workerUrl", `must be the address of a script (got ${show(workerUrl)})`);
}

function startThread(start: () => Thread): Thread {
  try {
    return start();
  } catch (cause) {
    if (cause instanceof RopewalkError) throw cause;
    const what =
      typeof Worker === "undefined"
        ? "there are no Workers here; load() of ropewalk computes in this thread"
        : `the Worker couldn't start: ${messageOf(cause)}`;
    fail("WASM_LOAD", "worker", what, { cause });
  }
}

/** Adds the wasm of the package for a Worker that doesn't find it by itself. */
async function ownWasm({ wasm }: Thread, options: LoadOptions): Promise<LoadOptions> {
  if (wasm === undefined) return options;
  const { build = "auto" } = options;
  const chosen = build === "auto" ? (hasRelaxedSimd() ? "relaxed" : "simd") : build;
  const source = await wasm(chosen === "relaxed" ? "relaxed" : "simd");
  return { ...options, build: chosen, wasm: source instanceof URL ? source.href : source };
}

/** Adds the given wasm. */
async function withWasm(wasm: WasmSource, thread: Thread, options: LoadOptions): Promise<LoadOptions> {
  return { ...options, wasm: await cloneableWasm(wasm, thread) };
}

/** A Response can't be cloned, but its bytes can. */
async function cloneableWasm(wasm: WasmSource, thread: Thread): Promise<WasmSource> {
  if (isRevoked(wasm)) fail("WASM_LOAD", "wasm", "must not be a revoked Proxy");
  const source = await wasm;
  if (typeof source === "string" || source instanceof URL) return thread.resolve(String(source));
  if (typeof Response !== "function" || !(source instanceof Response)) return source;
  if (!source.ok) fail("WASM_LOAD", "wasm", `the server responded with status ${source.status} for ${source.url}`);
  return source.arrayBuffer();
}
