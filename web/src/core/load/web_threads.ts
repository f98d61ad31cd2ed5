// Threads of a page: Workers.
import type { HelperMessage } from "./helper_thread.js";
import type { ThreadPlatform } from "./threads.js";

/** The script helper_thread.ts in a page. @internal */
export interface HelperScript {
  /** Starts it in a Worker. */
  start: () => Worker;
  /** What to check if it can't start: browsers often don't say why. */
  hint: string;
}

/** Threads that run a script; undefined where there are no Workers. @internal */
export function webThreads({ start, hint }: HelperScript): ThreadPlatform | undefined {
  if (typeof Worker === "undefined") return undefined;
  return {
    startHelper: (task, { message, failure }) => {
      const worker = start();
      worker.onmessage = ({ data }: MessageEvent<HelperMessage>) => message(data);
      onWorkerError(worker, hint, failure);
      worker.postMessage(task);
      return worker;
    },
    cores: () => navigator.hardwareConcurrency,
  };
}

/** Reports why a Worker couldn't start or ended. load() reports it to the caller, so the console doesn't. @internal */
export function onWorkerError(worker: Worker, hint: string, report: (reason: string) => void): void {
  worker.onerror = (event) => {
    event.preventDefault();
    report(event.message || hint);
  };
}
