/**
 * The model API of `ropewalk` in a thread of Node: the same as in a page, but it can read files. An idle thread doesn't
 * keep the process alive.
 *
 * @packageDocumentation
 */
import { Worker } from "node:worker_threads";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import type { LoadOptions } from "./load/load.js";
import type { Thread } from "./worker/rpc_client.js";
import { loadIn, type WorkerRopewalk } from "./worker/worker_ropewalk.js";

export * from "./worker/api.js";

function startThread(): Thread {
  const isEvaluated = process.execArgv.some((flag) => flag.startsWith("--input-type")); // threads inherit this flag and reject it
  const worker = new Worker(new URL("./worker_thread.node.js", import.meta.url), isEvaluated ? { execArgv: [] } : {});
  return {
    endpoint: nodeEndpoint(worker),
    setBusy: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
    resolve: (address) => address,
    onFailure: (report) => {
      worker.on("error", (error) => report(error.message));
      worker.on("exit", (code) => report(`its thread ended with code ${code}`));
    },
    terminate: () => void worker.terminate(),
  };
}

/**
 * Starts a thread and loads the module in it, as in a page. The options are those of `load()` of `ropewalk` in Node.
 */
export const load = (options?: LoadOptions): Promise<WorkerRopewalk> => loadIn(startThread, options);
