// A helper thread, as its owner sees it.
import type { HelperMessage, HelperTask } from "./helper_thread.js";

/** How long a helper may take to start, or to stop after it was told to. */
const PATIENCE_MS = 10_000;

/** A Worker that runs helper_thread.ts. @internal */
export interface HelperWorker {
  terminate(): void;
  /** Sets whether it keeps the process alive. */
  keepAlive?(isKept: boolean): void;
}

/** What happens to a Worker. @internal */
export interface HelperEvents {
  message: (message: HelperMessage) => void;
  /** It couldn't start, or ended by itself. */
  failure: (reason: string) => void;
}

/** Starts a Worker with a task. @internal */
export type StartHelper = (task: HelperTask, events: HelperEvents) => HelperWorker;

/** @internal */
export class Helper {
  /** Rejects if it can't start. */
  readonly ready: Promise<void>;
  readonly #stopped: Promise<void>;
  readonly #worker: HelperWorker;

  /** @param onFailure - called when a running helper ends by itself. */
  constructor(start: StartHelper, task: HelperTask, onFailure: () => void) {
    let setReady!: () => void, reject!: (reason: Error) => void, setStopped!: () => void;
    const started = new Promise<void>((resolve, rejectReady) => ([setReady, reject] = [resolve, rejectReady]));
    this.#stopped = new Promise((resolve) => (setStopped = resolve));
    this.#worker = start(task, {
      message: (message) => (message === "ready" ? setReady() : setStopped()),
      failure: (reason) => {
        reject(new Error(reason));
        setStopped();
        onFailure();
      },
    });
    this.ready = within(started, "it doesn't answer").finally(() => this.#worker.keepAlive?.(false));
    this.ready.catch(() => undefined);
  }

  /** Ends it. It must have been told to stop. */
  async end(): Promise<void> {
    this.#worker.keepAlive?.(true);
    await within(this.#stopped, "").catch(() => undefined);
    this.#worker.terminate();
  }

  /** Ends it at once. */
  terminate(): void {
    this.#worker.terminate();
  }
}

/** Rejects if it takes too long. */
async function within<T>(promise: Promise<T>, message: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
