// The caller's side of a Worker: calls with abort signals and callbacks, which fail when the Worker fails.
import { expose, wrap } from "comlink";
import { fail, type RopewalkErrorCode } from "../base/errors.js";
import type { WasmFile } from "../load/load.js";
import type { Piece } from "../model/session/generate.js";
import { registerErrorTransfer } from "./error_transfer.js";
import {
  type Call,
  type Callback,
  CALLBACKS,
  type ClientMethods,
  type CloneableOptions,
  type Endpoint,
  type HelperMethods,
  type RemoteServer,
  type Reply,
} from "./protocol.js";

/** A started thread, in a page or in Node. @internal */
export interface Thread {
  /** Sends and receives its messages. */
  readonly endpoint: Endpoint;
  /** Sets whether a call is pending. In Node, the process stays alive while one is. */
  readonly setBusy: (isBusy: boolean) => void;
  /** Makes an address absolute, because the Worker has another base URL. */
  readonly resolve: (address: string) => string;
  /** Registers a listener for a thread that can't start or crashes. */
  readonly onFailure: (listener: (reason: string) => void) => void;
  /** The package's wasm, if the thread doesn't find it by itself. */
  readonly wasm?: (file: WasmFile) => Promise<URL | Uint8Array>;
  /** In a page: starts and ends helper threads for it. */
  readonly helpers?: HelperMethods;
  /** Another address of its script, to try if it can't start. */
  readonly elsewhere?: string;
  /** Ends the thread and its helpers at once. */
  readonly terminate: () => void;
}

/** Objects of the Worker that options name by their numbers. They mustn't be garbage-collected, and so disposed of, while they are used. @internal */
export interface ObjectsInUse {
  readonly uses?: readonly object[];
}

/** Options that can't be cloned. */
interface LocalOptions extends ObjectsInUse {
  signal?: AbortSignal;
  onProgress?: (progress: never) => void;
  onWarning?: (message: string) => void;
}

/** The callbacks of a call, and what the first of them that failed threw. */
interface LocalCallbacks extends ObjectsInUse {
  readonly callbacks: Pick<LocalOptions, Callback>;
  thrown?: { readonly error: unknown };
}

/** Sends calls to a Worker. @internal */
export class RpcClient {
  readonly thread: Thread;
  readonly #server: RemoteServer;
  readonly #callbacks = new Map<number, LocalCallbacks>();
  readonly #pending = new Set<(end: Promise<never>) => void>();
  readonly #collected: FinalizationRegistry<number>;
  #lastCall = 0;
  /** Rejects with the reason why the Worker has ended. */
  #closedBy: (() => Promise<never>) | undefined;

  constructor(thread: Thread) {
    registerErrorTransfer();
    this.thread = thread;
    this.#server = wrap<RemoteServer>(thread.endpoint);
    this.#collected = new FinalizationRegistry(
      (id) => void this.send((server) => server.dispose(id)).catch(() => undefined),
    );
    const callback: ClientMethods["callback"] = (call, name, value) => this.#runCallback(call, name, value);
    expose({ callback, ...thread.helpers } satisfies Partial<ClientMethods>, thread.endpoint);
    thread.onFailure((reason) =>
      this.#close(() => rejected("WASM_LOAD", "worker", `the Worker couldn't start, or crashed: ${reason}`)),
    );
  }

  /** Sends a call without a signal or callbacks. */
  send<T>(request: (server: RemoteServer) => Promise<T>): Promise<T> {
    if (this.#closedBy !== undefined) return this.#closedBy();
    return new Promise<T>((resolve, reject) => {
      this.#pending.add(resolve);
      this.thread.setBusy(true);
      const settle = (): void => {
        this.#pending.delete(resolve);
        this.thread.setBusy(this.#pending.size > 0);
      };
      sendTo(this.#server, request).then(resolve, reject).finally(settle);
    });
  }

  /**
   * Sends a call with a signal and callbacks. `request` gets the options without them.
   * @param undo - disposes of a result that was ready before the abort reached the Worker
   */
  async call<Options extends object, T>(
    options: Options & LocalOptions,
    request: (server: RemoteServer, call: Call, options: CloneableOptions<Options>) => Promise<T>,
    undo?: (result: T) => Promise<void>,
  ): Promise<T> {
    const { signal } = options;
    signal?.throwIfAborted();
    const { call, rest, local, close } = this.#open(options);
    try {
      const result = await this.send((server) => request(server, call, rest));
      if (signal?.aborted === true || local.thrown !== undefined) await undo?.(result);
      signal?.throwIfAborted();
      if (local.thrown !== undefined) throw local.thrown.error;
      return result;
    } catch (error) {
      throw local.thrown === undefined ? abortReason(error, signal) : local.thrown.error;
    } finally {
      close();
    }
  }

  /**
   * Generates piece by piece. The Worker computes a piece only when it's asked for one, so it never runs ahead.
   * @param onReply - called after each piece, for example to store the state of the session
   */
  async *stream<Options extends object>(
    options: Options & LocalOptions,
    start: (server: RemoteServer, call: Call, options: CloneableOptions<Options>) => Promise<void>,
    onReply: (reply: Reply) => void,
  ): AsyncGenerator<Piece, void, void> {
    const { signal } = options;
    const { call, rest, close } = this.#open(options);
    try {
      await this.send((server) => start(server, call, rest));
      for (;;) {
        signal?.throwIfAborted();
        const next = await this.send((server) => server.nextPiece(call.id));
        onReply(next);
        if (next.piece === undefined) return;
        yield next.piece;
      }
    } catch (error) {
      throw abortReason(error, signal);
    } finally {
      close();
      // fails only if the Worker itself has failed
      await this.send((server) => server.endGeneration(call.id)).then(onReply, () => undefined);
    }
  }

  /** Disposes of the Worker's object `id` when its local counterpart is garbage-collected. */
  watch(object: object, id: number): void {
    this.#collected.register(object, id, object);
  }

  /** Disposes of the Worker's object `id`. A Worker that ends disposes of everything. */
  async release(object: object, id: number): Promise<void> {
    this.#collected.unregister(object);
    if (this.#closedBy !== undefined) return;
    await this.send((server) => server.dispose(id)).catch((error: unknown) => {
      if (this.#closedBy === undefined) throw error;
    });
  }

  /** Ends the Worker. Pending calls fail with DISPOSED. */
  close(): void {
    this.#close(() => rejected("DISPOSED", "worker", "has been disposed"));
  }

  #close(reason: () => Promise<never>): void {
    if (this.#closedBy !== undefined) return;
    this.#closedBy = reason;
    this.thread.terminate();
    const ended = reason();
    ended.catch(() => undefined); // no call may be pending
    for (const end of this.#pending) end(ended);
  }

  /** Runs a caller's callback. If it throws, its call is aborted and rejects with what it threw, as in this thread. */
  #runCallback(call: number, name: Callback, value: unknown): void {
    const local = this.#callbacks.get(call);
    const run = local?.callbacks[name] as ((value: unknown) => void) | undefined;
    try {
      run?.(value);
    } catch (error) {
      local!.thrown ??= { error };
      this.#abort(call);
    }
  }

  #abort(call: number): void {
    void this.send((server) => server.abort(call)).catch(() => undefined); // no Worker, no call
  }

  #open<Options extends object>(
    options: Options & LocalOptions,
  ): { call: Call; rest: CloneableOptions<Options>; local: LocalCallbacks; close: () => void } {
    const { signal, onProgress, onWarning, uses = [], ...rest } = options;
    const id = ++this.#lastCall;
    const callbacksGiven = { ...(onProgress && { onProgress }), ...(onWarning && { onWarning }) };
    const local: LocalCallbacks = { callbacks: callbacksGiven, uses };
    const callbacks = CALLBACKS.filter((name): name is Callback => local.callbacks[name] !== undefined);
    const abort = (): void => this.#abort(id);
    this.#callbacks.set(id, local);
    signal?.addEventListener("abort", abort, { once: true });
    const close = (): void => {
      this.#callbacks.delete(id);
      signal?.removeEventListener("abort", abort);
    };
    return { call: { id, callbacks }, rest, local, close };
  }
}

/** The caller's abort reason, if the Worker was aborted for it. */
function abortReason(error: unknown, signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true && (error as Error | null)?.name === "AbortError" ? signal.reason : error;
}

/** Rejects with an error of this package. */
function rejected(code: RopewalkErrorCode, field: string, message: string): Promise<never> {
  return Promise.resolve().then(() => fail(code, field, message));
}

/** Sends a request. Throws INVALID_ARGUMENT if it has a value that can't be sent. */
async function sendTo<T>(server: RemoteServer, request: (server: RemoteServer) => Promise<T>): Promise<T> {
  let reply: Promise<T>;
  try {
    // comlink looks into arguments before it sends them, so it throws what a caller's Proxy throws
    reply = request(server);
  } catch (cause) {
    if (cause instanceof TypeError) failToSend(cause); // a revoked Proxy
    throw cause;
  }
  try {
    return await reply;
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "DataCloneError") failToSend(cause);
    throw cause;
  }
}

function failToSend(cause: unknown): never {
  const message = "contain a value that can't be sent to a Worker; pass only plain values, arrays, Files and Blobs";
  fail("INVALID_ARGUMENT", "options", message, { cause });
}
