/**
 * Models in a thread of Node's: the same as in a page, reading files. A thread that has nothing to do does not keep the process alive.
 *
 * @packageDocumentation
 */
import { Worker } from "node:worker_threads";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import type { LoadOptions } from "./load/load.js";
import type { Thread } from "./worker/connection.js";
import { loadIn, type WorkerRopewalk } from "./worker/worker_ropewalk.js";

export * from "./worker/api.js";

function startThread(): Thread {
  const isEvaluated = process.execArgv.some((flag) => flag.startsWith("--input-type")); // which a thread would take over, and refuse
  const worker = new Worker(new URL("./worker_thread.node.js", import.meta.url), isEvaluated ? { execArgv: [] } : {});
  return {
    endpoint: nodeEndpoint(worker),
    setBusy: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
    resolve: (address) => address,
    onFailure: (hear) => {
      worker.on("error", (error) => hear(error.message));
      worker.on("exit", (code) => hear(`its thread ended with code ${code}`));
    },
    terminate: () => void worker.terminate(),
  };
}

/** As in pages; see `ropewalk`'s own `load()` for what Node takes. */
export const load = (options?: LoadOptions): Promise<WorkerRopewalk> => loadIn(startThread, options);
