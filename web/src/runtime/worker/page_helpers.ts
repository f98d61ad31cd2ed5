// Helper threads that a page starts for its Worker (client_threads.ts).
import { type HelperScript, onWorkerError } from "../../core/load/web_threads.js";
import type { HelperMethods } from "./protocol.js";

/** The helpers of one Worker. It is ended before `endAll` is called; messages that it has sent are dropped then. @internal */
export function pageHelpers({ start, hint }: HelperScript): { methods: HelperMethods; endAll: () => void } {
  const workers = new Map<number, Worker>();
  const endHelper = (id: number): void => {
    workers.get(id)?.terminate();
    workers.delete(id);
  };
  return {
    methods: {
      startHelper: (id, port) => {
        const worker = start();
        workers.set(id, worker);
        worker.postMessage(port, [port]);
        return new Promise((resolve) => onWorkerError(worker, hint, resolve));
      },
      endHelper,
    },
    endAll: () => [...workers.keys()].forEach(endHelper),
  };
}
