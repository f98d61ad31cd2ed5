// Aborts a request when the server stops sending.
import { RetryableError } from "./response.js";

/** Aborts a request when the caller does, or when the server sends nothing for some time. @internal */
export class IdleTimeout {
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  readonly #caller: AbortSignal | undefined;
  readonly #onCallerAbort = (): void => this.#controller.abort(this.#caller!.reason);

  constructor(milliseconds: number, caller: AbortSignal | undefined) {
    this.#milliseconds = milliseconds;
    this.#caller = caller;
    if (caller?.aborted === true) this.#onCallerAbort();
    caller?.addEventListener("abort", this.#onCallerAbort, { once: true });
  }

  /** Aborts with the caller's reason, or with a {@link RetryableError} after a timeout. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Awaits one thing from the server. Time between two calls doesn't count: the caller spends it processing data. */
  async wait<Value>(pending: Promise<Value>): Promise<Value> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const reason = new RetryableError(`the server sent nothing for ${this.#milliseconds / 1000} s`);
        this.#controller.abort(reason);
        reject(reason);
      }, this.#milliseconds);
    });
    try {
      return await Promise.race([pending, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Yields the chunks of a response body, with the timeout applied to each. */
  async *chunks(body: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const next = await this.wait(body.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await body.return(undefined);
    }
  }

  /** Removes the listener from the caller's signal. */
  dispose(): void {
    this.#caller?.removeEventListener("abort", this.#onCallerAbort);
  }
}
