// A few requests run at the same time, and only so many wait.

/** Lets a number of requests run at a time. */
export class RequestQueue {
  readonly #parallel: number;
  readonly #most: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /**
   * @param parallel - number of requests that run at the same time
   * @param most - number of requests that may wait
   */
  constructor(parallel: number, most: number) {
    this.#parallel = parallel;
    this.#most = most;
  }

  /** Whether a request waits. */
  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Waits until a request may run, in the order of the calls. Returns what ends it; undefined if too many wait. Rejects
   * with the signal's reason, and then its place is free.
   */
  enter(signal: AbortSignal): Promise<() => void> | undefined {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (this.#running < this.#parallel) {
      this.#running += 1;
      return Promise.resolve(() => this.#end());
    }
    if (this.#waiting.length >= this.#most) return undefined;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(start), 1);
        reject(signal.reason as Error);
      };
      const start = (): void => {
        signal.removeEventListener("abort", leave);
        resolve(() => this.#end());
      };
      this.#waiting.push(start);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #end(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
