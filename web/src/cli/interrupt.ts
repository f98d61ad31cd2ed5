/** What work is given up with at Ctrl-C. */
export class Interrupted extends Error {
  constructor() {
    super("interrupted");
    this.name = "Interrupted";
  }
}

/** Runs work that the first Ctrl-C gives up; a second one ends the program. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const giveUp = (): void => controller.abort(new Interrupted());
  process.once("SIGINT", giveUp);
  try {
    return await work(controller.signal);
  } finally {
    process.off("SIGINT", giveUp);
  }
}

/** Lets the program hear of Ctrl-C in the middle of work that never waits. */
export async function breath(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}
