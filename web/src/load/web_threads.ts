// Threads of a page: Workers.
import type { HelperMessage } from "./helper_thread.js";
import type { ThreadPlatform } from "./threads.js";

/**
 * Threads whose Workers `start` creates; undefined where there are no Workers.
 * @param hint - what to check if one can't start: browsers often don't say why.
 * @internal
 */
export function webThreads(start: () => Worker, hint: string): ThreadPlatform | undefined {
  if (typeof Worker === "undefined") return undefined;
  return {
    startHelper: ({ message, failure }) => {
      const worker = start();
      worker.onmessage = ({ data }: MessageEvent<HelperMessage>) => message(data);
      worker.onerror = (event) => {
        event.preventDefault(); // reported by load()
        failure(event.message || hint);
      };
      return worker;
    },
    cores: () => navigator.hardwareConcurrency,
  };
}
