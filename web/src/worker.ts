/**
 * The model API of `ropewalk` in a Worker, with promises, so that a page stays responsive. Start with {@link load}.
 *
 * @packageDocumentation
 */
import type { LoadOptions } from "./load/load.js";
import { addressNextTo, isFromOtherOrigin, moduleWorker } from "./load/other_origin.js";
import { viteHint } from "./load/vite_hint.js";
import { loadIn, type WorkerRopewalk } from "./worker/worker_ropewalk.js";
import type { Thread } from "./worker/rpc_client.js";

export * from "./worker/api.js";

function startThread(): Thread {
  // Bundlers look for new Worker(new URL("…", import.meta.url)), so the other way must not look like it.
  const worker = isFromOtherOrigin(import.meta.url)
    ? moduleWorker(addressNextTo(import.meta.url, "worker_thread.js"))
    : new Worker(new URL("./worker_thread.js", import.meta.url), { type: "module" });
  return {
    endpoint: worker,
    setBusy: () => undefined,
    resolve: (address) => (URL.canParse(address, location.href) ? new URL(address, location.href).href : address),
    onFailure: (report) => {
      worker.addEventListener("error", (event) =>
        report(
          event.message ||
            `check that worker_thread.js is served from the folder of worker.js, with the page's Cross-Origin-Embedder-Policy${viteHint(import.meta.url)}`,
        ),
      );
      worker.addEventListener("messageerror", () => report("a message couldn't be read"));
    },
    terminate: () => worker.terminate(),
  };
}

/**
 * Starts a Worker and loads the module in it. Each call starts a new Worker; `dispose()` ends it.
 * @throws {@link RopewalkError} WASM_LOAD, UNSUPPORTED_ENGINE, INVALID_ARGUMENT; the signal's reason when aborted.
 */
export const load = (options?: LoadOptions): Promise<WorkerRopewalk> => loadIn(startThread, options);
