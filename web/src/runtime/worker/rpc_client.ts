// The caller's side of a Worker: calls with abort signals and callbacks, which fail when the Worker fails.
import * as advise from "../../core/base/advice.js";
import { expose, transfer, wrap } from "comlink";
import { changed, fail, RopewalkError } from "../../core/base/errors.js";
import type { LoadOptions, WasmFile } from "../ropewalk/load.js";
import { type Callback, CALLBACKS, type LocalOptions } from "./arguments.js";
import { registerErrorTransfer } from "./error_transfer.js";
import type { ClientMethods, Endpoint, Handle, HelperMethods, RemoteServer, Reply, Request } from "./protocol.js";

/** A request, and what of it is transferred instead of copied. @internal */
export interface Message extends Omit<Request, "call" | "callbacks"> {
  readonly transfers: Transferable[];
}

/** A started thread, in a page or in Node. @internal */
export interface Thread {
  /** Sends and receives its messages. */
  readonly endpoint: Endpoint;
  /** Sets whether a call is pending. In Node, the process stays alive while one is. */
  readonly setBusy: (isBusy: boolean) => void;
  /** Makes an address absolute, because the Worker has another base URL. */
  readonly resolve: (address: string) => string;
  /** Registers a listener for a thread that can't start or crashes; undefined: the browser doesn't say why. */
  readonly onFailure: (listener: (reason: string | undefined) => void) => void;
  /** What to check if it can't start and nothing says why. */
  readonly hint?: string;
  /** Web Locks. A thread that holds one loses it when it ends, which nothing else in a page tells. */
  readonly locks?: Pick<LockManager, "request"> | undefined;
  /** The package's wasm, if the thread doesn't find it by itself. */
  readonly wasm?: (file: WasmFile) => Promise<URL | Uint8Array>;
  /** In a page: starts and ends helper threads for it. */
  readonly helpers?: HelperMethods;
  /** Another address of its script, to try if it can't start. */
  readonly elsewhere?: string;
  /** Ends the thread and its helpers at once. */
  readonly terminate: () => void;
}

/** Browsers end a Worker that takes too much memory. */
const NO_REASON = "nothing says why, but memory may have run out";

const LOAD_AGAIN = advise.code(
  "call load() and load the model again; a session goes on from what save() or keep() has saved",
);

/** What of a call stays in the caller's thread. @internal */
export interface LocalCall extends Pick<LocalOptions, "signal" | "callbacks"> {
  /** Objects of the Worker that the call names by their numbers. They mustn't be garbage-collected, and so disposed of, while they are used. */
  readonly uses: readonly object[];
}

/** A call that runs, and what the first of its callbacks that failed threw. */
interface OpenCall {
  readonly call: number;
  readonly local: LocalCall;
  thrown?: { readonly error: unknown };
}

/** Sends calls to a Worker. @internal */
export class RpcClient {
  readonly thread: Thread;
  readonly #server: RemoteServer;
  readonly #calls = new Map<number, OpenCall>();
  readonly #pending = new Set<(end: Promise<never>) => void>();
  readonly #collected: FinalizationRegistry<number>;
  /** Resolves with the error that calls reject with, when the Worker has ended by itself. */
  readonly ended: Promise<RopewalkError>;
  #setEnded!: (error: RopewalkError) => void;
  #lastCall = 0;
  #hasStarted = false;
  /** Rejects with the reason why the Worker has ended. */
  #closedBy: (() => Promise<never>) | undefined;

  constructor(thread: Thread) {
    registerErrorTransfer();
    this.thread = thread;
    this.#server = wrap<RemoteServer>(thread.endpoint);
    this.#collected = new FinalizationRegistry(
      (id) => void this.send((server) => server.dispose(id)).catch(() => undefined),
    );
    const callback: ClientMethods["callback"] = (call, name, values) => this.#runCallback(call, name, values);
    expose({ callback, ...thread.helpers } satisfies Partial<ClientMethods>, thread.endpoint);
    this.ended = new Promise((resolve) => (this.#setEnded = resolve));
    thread.onFailure((reason) => this.#fail(reason));
    if (thread.locks !== undefined) this.#watchLock(thread.locks).catch(() => undefined); // not in every place
  }

  /** Loads the module. */
  async load(options: Omit<LoadOptions, "signal">): Promise<Handle> {
    const handle = await this.send((server) => server.load(options));
    this.#hasStarted = true;
    return handle;
  }

  /** Notices the end of a Worker that sends no event: it closed itself, or the browser ended it. */
  async #watchLock(locks: NonNullable<Thread["locks"]>): Promise<void> {
    const name = `ropewalk-worker/${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;
    await this.send((server) => server.hold(name));
    await locks.request(name, () => this.#fail(undefined));
  }

  #fail(reason: string | undefined): void {
    if (this.#closedBy !== undefined) return;
    const error = this.#hasStarted
      ? new RopewalkError("THREAD_LOST", "worker", `the Worker has ended: ${reason ?? NO_REASON}`, LOAD_AGAIN)
      : new RopewalkError("WASM_LOAD", "worker", `the Worker couldn't start, or crashed: ${reason ?? this.thread.hint ?? NO_REASON}`); // prettier-ignore
    this.#close(() => rejected(error));
    if (this.#hasStarted) this.#setEnded(error);
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
   * Sends a call of a method, or the reading of a property.
   * @param receive - gets the reply before the signal, or a callback that threw, rejects the call
   */
  async call<T>(message: Message, local: LocalCall, receive: (reply: Reply) => T): Promise<T> {
    local.signal?.throwIfAborted();
    const { open, close } = this.#open(local);
    try {
      const reply = await this.send((server) => server.invoke(requestOf(open, message)));
      const result = receive(reply);
      checkOpen(open);
      return result;
    } catch (error) {
      throw reasonOf(error, open);
    } finally {
      close();
    }
  }

  /**
   * Reads a stream step by step. The Worker computes a step only when it's asked for one, so it never runs ahead.
   * @param receive - gets the reply of each step
   */
  async *stream<Step>(
    message: Message,
    local: LocalCall,
    receive: (reply: Reply) => void,
  ): AsyncGenerator<Step, void, void> {
    const { open, close } = this.#open(local);
    const { call } = open;
    try {
      await this.send((server) => server.begin(requestOf(open, message)));
      for (;;) {
        checkOpen(open);
        const reply = await this.send((server) => server.next(call));
        receive(reply);
        if (open.thrown !== undefined) throw open.thrown.error;
        if (reply.value === undefined) return;
        yield reply.value as Step;
      }
    } catch (error) {
      throw reasonOf(error, open);
    } finally {
      close();
      // fails only if the Worker itself has failed
      await this.send((server) => server.end(call)).then(receive, () => undefined);
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
    this.#close(() => rejected(new RopewalkError("DISPOSED", "worker", "has been disposed")));
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
  #runCallback(call: number, name: Callback, values: readonly unknown[]): void {
    const open = this.#calls.get(call);
    try {
      open?.local.callbacks[name]?.(...(values as never[]));
    } catch (error) {
      open!.thrown ??= { error };
      this.#abort(call);
    }
  }

  #abort(call: number): void {
    void this.send((server) => server.abort(call)).catch(() => undefined); // no Worker, no call
  }

  #open(local: LocalCall): { open: OpenCall; close: () => void } {
    const call = ++this.#lastCall;
    const open: OpenCall = { call, local };
    const abort = (): void => this.#abort(call);
    this.#calls.set(call, open);
    local.signal?.addEventListener("abort", abort, { once: true });
    const close = (): void => {
      this.#calls.delete(call);
      local.signal?.removeEventListener("abort", abort);
    };
    return { open, close };
  }
}

function requestOf({ call, local }: OpenCall, { transfers, ...message }: Message): Request {
  const callbacks = CALLBACKS.filter((name) => local.callbacks[name] !== undefined);
  return transfer({ ...message, call, callbacks }, transfers);
}

/** Throws the signal's reason, or what a callback threw. */
function checkOpen({ local: { signal }, thrown }: OpenCall): void {
  signal?.throwIfAborted();
  if (thrown !== undefined) throw thrown.error;
}

/** What a callback threw, or the caller's abort reason, if the Worker was aborted for it. */
function reasonOf(error: unknown, { local: { signal }, thrown }: OpenCall): unknown {
  if (thrown !== undefined) return thrown.error;
  return signal?.aborted === true && (error as Error | null)?.name === "AbortError" ? signal.reason : error;
}

/** Rejects with an error of its own for each call. */
function rejected(error: RopewalkError): Promise<never> {
  return Promise.resolve().then(() => {
    throw changed(error, {});
  });
}

/** Sends a request. Throws INVALID_ARGUMENT if it has a value that can't be sent. */
async function sendTo<T>(server: RemoteServer, request: (server: RemoteServer) => Promise<T>): Promise<T> {
  try {
    return await request(server);
  } catch (cause) {
    if (!(cause instanceof DOMException && cause.name === "DataCloneError")) throw cause;
    const advised = advise.code("pass only plain values, arrays, Files and Blobs");
    return fail("INVALID_ARGUMENT", "options", "contain a value that can't be sent to a Worker", { ...advised, cause });
  }
}
