import { Interrupted } from "./http_response.js";

/** How long a request waits for a server: as long as something comes now and then, and the caller likes. @internal */
export class Patience {
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  readonly #caller: AbortSignal | undefined;
  readonly #follow = (): void => this.#controller.abort(this.#caller!.reason);

  constructor(milliseconds: number, caller: AbortSignal | undefined) {
    this.#milliseconds = milliseconds;
    this.#caller = caller;
    if (caller?.aborted === true) this.#follow();
    caller?.addEventListener("abort", this.#follow, { once: true });
  }

  /** Ends what is asked of the server, with the caller's reason or with {@link Interrupted}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for one thing that the server is to send. The time between two of these does not count: it is the reader's. */
  async over<Value>(something: Promise<Value>): Promise<Value> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const lost = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const reason = new Interrupted(`the server has sent nothing for ${this.#milliseconds / 1000} s`);
        this.#controller.abort(reason);
        reject(reason);
      }, this.#milliseconds);
    });
    try {
      return await Promise.race([something, lost]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The chunks of a body, each waited for. */
  async *chunks(body: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const next = await this.over(body.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await body.return(undefined);
    }
  }

  /** Lets go of the caller's signal. */
  end(): void {
    this.#caller?.removeEventListener("abort", this.#follow);
  }
}
