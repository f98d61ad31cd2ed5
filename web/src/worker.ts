/**
 * Models in a Worker, so that a page never waits: the model's API of `ropewalk`, with promises. Begin with {@link load}.
 *
 * @packageDocumentation
 */
import type { LoadOptions } from "./load/load.js";
import { loadIn, type WorkerRopewalk } from "./worker/worker_ropewalk.js";
import type { Thread } from "./worker/connection.js";

export * from "./worker/api.js";

function startThread(): Thread {
  const worker = new Worker(new URL("./worker_thread.js", import.meta.url), { type: "module" });
  return {
    endpoint: worker,
    setBusy: () => undefined,
    resolve: (address) => (URL.canParse(address, location.href) ? new URL(address, location.href).href : address),
    onFailure: (hear) => {
      worker.addEventListener("error", (event) =>
        hear(event.message || "is its file, worker_thread.js, served beside this one?"),
      );
      worker.addEventListener("messageerror", () => hear("a message could not be read"));
    },
    terminate: () => worker.terminate(),
  };
}

/**
 * Starts a Worker and loads the module in it. Each call starts one; `dispose()` ends it.
 * @throws {@link RopewalkError} WASM_LOAD, UNSUPPORTED_ENGINE, INVALID_ARGUMENT; the signal's reason when aborted.
 */
export const load = (options?: LoadOptions): Promise<WorkerRopewalk> => loadIn(startThread, options);
