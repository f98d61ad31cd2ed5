/** How long a page waits at most, between two calls into wasm, for its turn. */
const TURN_MS = 12;

/** Lets other tasks of the thread run when this one has held it for a while. @internal */
export class Turns {
  #last = performance.now();

  async give(): Promise<void> {
    if (performance.now() - this.#last < TURN_MS) return;
    await nextTask();
    this.#last = performance.now();
  }
}

/** Timers would wait four milliseconds each; a message does not. */
function nextTask(): Promise<void> {
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
