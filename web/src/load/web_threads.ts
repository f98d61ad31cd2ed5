// Threads of a page: Workers.
import type { HelperMessage } from "./helper_thread.js";
import type { ThreadPlatform } from "./threads.js";

/** Threads whose Workers `start` creates; undefined where there are no Workers. @internal */
export function webThreads(start: () => Worker): ThreadPlatform | undefined {
  if (typeof Worker === "undefined") return undefined;
  return {
    startHelper: ({ message, failure }) => {
      const worker = start();
      worker.onmessage = ({ data }: MessageEvent<HelperMessage>) => message(data);
      worker.onerror = (event) => {
        event.preventDefault(); // reported by load()
        failure(event.message || "check that helper_thread.js is served from the folder of the package");
      };
      return worker;
    },
    cores: () => navigator.hardwareConcurrency,
  };
}
