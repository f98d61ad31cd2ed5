// Requests run one after the other, and only so many wait.

/** Lets one request run at a time. */
export class RequestQueue {
  readonly #most: number;
  #count = 0;
  #last: Promise<void> = Promise.resolve();

  /** @param most - number of requests that may wait */
  constructor(most: number) {
    this.#most = most;
  }

  /** Waits until the requests before have ended. Returns what ends this one; undefined if too many wait. */
  enter(): Promise<() => void> | undefined {
    if (this.#count > this.#most) return undefined;
    this.#count += 1;
    const before = this.#last;
    let resolveEnd!: () => void;
    this.#last = new Promise((resolve) => (resolveEnd = resolve));
    const end = (): void => {
      this.#count -= 1;
      resolveEnd();
    };
    return before.then(() => end);
  }
}
