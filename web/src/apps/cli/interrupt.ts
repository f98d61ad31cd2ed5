// Ctrl-C and SIGTERM: the first one aborts the work, the second one ends the program.

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Abort reason of work that Ctrl-C interrupted. */
export class Interrupted extends Error {
  /** @param kept - what is kept of the work */
  constructor(kept?: string) {
    super(kept === undefined ? "interrupted" : `interrupted: ${kept}`);
    this.name = "Interrupted";
  }
}

/** Runs work with a signal that the first Ctrl-C or SIGTERM aborts. A second one ends the program. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Interrupted());
  for (const signal of SIGNALS) process.once(signal, abort);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, abort);
  }
}

/** Yields to the event loop, so that synchronous work notices Ctrl-C, and throws if the signal is aborted. */
export async function checkInterrupted(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}
