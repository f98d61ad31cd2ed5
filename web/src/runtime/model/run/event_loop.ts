// Keeps a page responsive during long work: yields to the event loop from time to time.

/** How long work may block the thread before it yields to the event loop. A frame at 60 Hz is 16.7 ms. */
const YIELD_INTERVAL_MS = 12;

/** Lets other tasks of the thread run once the current one has blocked it for {@link YIELD_INTERVAL_MS}. @internal */
export class EventLoopYielder {
  #lastYield = performance.now();

  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#lastYield < YIELD_INTERVAL_MS) return;
    await nextTask();
    this.#lastYield = performance.now();
  }
}

/** Resolves in a new task. A message arrives at once, while browsers delay nested timers by 4 ms. @internal */
export function nextTask(): Promise<void> {
  if (typeof setImmediate === "function") return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
