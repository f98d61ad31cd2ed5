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

  /** Waits until a request may run, in the order of the calls. Returns what ends it; undefined if too many wait. */
  enter(): Promise<() => void> | undefined {
    if (this.#running < this.#parallel) {
      this.#running += 1;
      return Promise.resolve(() => this.#end());
    }
    if (this.#waiting.length >= this.#most) return undefined;
    return new Promise((resolve) => this.#waiting.push(() => resolve(() => this.#end())));
  }

  #end(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
