import { expose, wrap } from "comlink";
import { RopewalkError } from "../base/errors.js";
import type { Piece } from "../model/generate.js";
import {
  type Answer,
  type Call,
  type Caller,
  type Endpoint,
  type Listener,
  LISTENERS,
  type Plain,
  type RemoteHost,
} from "./protocol.js";
import { passErrors } from "./thrown.js";

/** A thread that has been started, in a page or in Node. @internal */
export interface Thread {
  /** Where messages go, and come from. */
  readonly endpoint: Endpoint;
  /** Says whether a call is under way, for which the process stays alive. */
  readonly setBusy: (isBusy: boolean) => void;
  /** An address as the caller means it, for the Worker, which stands elsewhere. */
  readonly resolve: (address: string) => string;
  /** Calls back when the thread cannot be started, or breaks. */
  readonly onFailure: (hear: (why: string) => void) => void;
  /** Ends it at once. */
  readonly terminate: () => void;
}

/** Options that cannot be cloned. */
interface Listening {
  signal?: AbortSignal;
  onProgress?: (progress: never) => void;
  onWarning?: (message: string) => void;
}

/** The caller's side: calls that can be aborted, that are heard of, and that fail when the Worker does. @internal */
export class Connection {
  readonly thread: Thread;
  readonly #host: RemoteHost;
  readonly #listeners = new Map<number, Listening>();
  readonly #waiting = new Set<(error: Error) => void>();
  readonly #forgotten: FinalizationRegistry<number>;
  #lastCall = 0;
  #end: RopewalkError | undefined;

  constructor(thread: Thread) {
    passErrors();
    this.thread = thread;
    this.#host = wrap<RemoteHost>(thread.endpoint);
    this.#forgotten = new FinalizationRegistry(
      (id) => void this.run((host) => host.dispose(id)).catch(() => undefined),
    );
    const hear: Caller["hear"] = (call, listener, value) => {
      const listening = this.#listeners.get(call)?.[listener] as ((value: unknown) => void) | undefined;
      listening?.(value);
    };
    expose({ hear } satisfies Caller, thread.endpoint);
    thread.onFailure((why) =>
      this.#finish(new RopewalkError("WASM_LOAD", "worker", `the Worker could not be started, or broke: ${why}`)),
    );
  }

  /** Runs a call that neither listens nor can be aborted. */
  run<T>(send: (host: RemoteHost) => Promise<T>): Promise<T> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(reject);
      this.thread.setBusy(true);
      const settle = (): void => {
        this.#waiting.delete(reject);
        this.thread.setBusy(this.#waiting.size > 0);
      };
      send(this.#host)
        .then(resolve, (error: unknown) => reject(uncloneable(error) ?? (error as Error)))
        .finally(settle);
    });
  }

  /**
   * Runs a call with the caller's signal and listeners; `send` gets the options without them.
   * @param undo - gives back what the Worker made while the caller's abort was still on its way.
   */
  async listen<Options extends object, T>(
    options: Options & Listening,
    send: (host: RemoteHost, call: Call, options: Plain<Options>) => Promise<T>,
    undo?: (answer: T) => Promise<void>,
  ): Promise<T> {
    const { signal } = options;
    signal?.throwIfAborted();
    const { call, rest, close } = this.#open(options);
    try {
      const answer = await this.run((host) => send(host, call, rest));
      if (signal?.aborted === true) await undo?.(answer);
      signal?.throwIfAborted();
      return answer;
    } catch (error) {
      throw reasonOf(error, signal);
    } finally {
      close();
    }
  }

  /**
   * A text, piece by piece. The Worker makes a piece when it is asked for one, so it never runs ahead.
   * @param hear - is told how the session stands after each.
   */
  async *pieces<Options extends object>(
    options: Options & Listening,
    begin: (host: RemoteHost, call: Call, options: Plain<Options>) => Promise<void>,
    hear: (answer: Answer) => void,
  ): AsyncGenerator<Piece, void, void> {
    const { signal } = options;
    const { call, rest, close } = this.#open(options);
    try {
      await this.run((host) => begin(host, call, rest));
      for (;;) {
        signal?.throwIfAborted();
        const next = await this.run((host) => host.next(call.id));
        hear(next);
        if (next.piece === undefined) return;
        yield next.piece;
      }
    } catch (error) {
      throw reasonOf(error, signal);
    } finally {
      close();
      await this.run((host) => host.leave(call.id)).then(hear, () => undefined); // which fails only with the Worker itself
    }
  }

  /** Disposes of what the Worker holds for an object that was forgotten. */
  watch(object: object, id: number): void {
    this.#forgotten.register(object, id, object);
  }

  /** Disposes of what the Worker holds. */
  async release(object: object, id: number): Promise<void> {
    this.#forgotten.unregister(object);
    if (this.#end === undefined) await this.run((host) => host.dispose(id));
  }

  /** Ends the Worker; calls that wait fail. */
  close(): void {
    this.#finish(new RopewalkError("DISPOSED", "worker", "has been disposed of"));
  }

  #finish(error: RopewalkError): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    this.thread.terminate();
    for (const reject of this.#waiting) reject(error);
  }

  #open<Options extends object>(options: Options & Listening): { call: Call; rest: Plain<Options>; close: () => void } {
    const { signal, onProgress, onWarning, ...rest } = options;
    const id = ++this.#lastCall;
    const heard: Listening = { ...(onProgress && { onProgress }), ...(onWarning && { onWarning }) };
    const listeners = LISTENERS.filter((name): name is Listener => heard[name] !== undefined);
    const abort = (): void => void this.run((host) => host.abort(id)).catch(() => undefined); // nothing is left to abort
    this.#listeners.set(id, heard);
    signal?.addEventListener("abort", abort, { once: true });
    const close = (): void => {
      this.#listeners.delete(id);
      signal?.removeEventListener("abort", abort);
    };
    return { call: { id, listeners }, rest, close };
  }
}

/** The caller's own reason, where the Worker gave up for it. */
function reasonOf(error: unknown, signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true && (error as Error).name === "AbortError" ? signal.reason : error;
}

function uncloneable(error: unknown): RopewalkError | undefined {
  if ((error as Error).name !== "DataCloneError") return undefined;
  const message = "hold something that cannot be sent to a Worker: give plain values, arrays, Files and Blobs only";
  return new RopewalkError("INVALID_ARGUMENT", "options", message, { cause: error });
}
