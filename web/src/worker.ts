/**
 * The model API of `ropewalk` in a Worker, with promises, so that a page stays responsive. Start with {@link load}.
 *
 * @packageDocumentation
 */
import { missingFileHint, outsideCache } from "./core/load/missing_file.js";
import { addressNextTo, isFromOtherOrigin, moduleWorker } from "./core/load/other_origin.js";
import { helperNextTo, ownHelper } from "./platform/own_helper.js";
import { pageThread } from "./runtime/worker/page_thread.js";
import type { Thread } from "./runtime/worker/rpc_client.js";
import { loadIn, WORKER_LOAD_OPTIONS, type WorkerLoadOptions } from "./runtime/worker/load_in.js";
import type { WorkerRopewalk } from "./runtime/worker/remote_api.js";

export * from "./runtime/worker/api.js";

const HELP =
  "import from ropewalk/worker/inline, or pass the address of ropewalk/worker_thread.js as load({ workerUrl })";

const hintAfter = (address: string): string => {
  const { words } = missingFileHint(address);
  return words === undefined ? "" : `; ${words}`;
};

function startThread(workerUrl: string | undefined): Thread {
  if (workerUrl !== undefined) {
    const address = new URL(workerUrl, location.href).href;
    return pageThread(
      isFromOtherOrigin(address)
        ? moduleWorker(address)
        : new Worker(/* webpackIgnore: true */ address, { type: "module" }),
      `check that ${address} is served, with the page's Cross-Origin-Embedder-Policy${hintAfter(address)}`,
      helperNextTo(address),
    );
  }
  // Bundlers look for new Worker(new URL("…", import.meta.url)), so the other way must not look like it.
  const script = addressNextTo(import.meta.url, "worker_thread.js");
  const worker = isFromOtherOrigin(script)
    ? moduleWorker(script)
    : new Worker(new URL("./worker_thread.js", import.meta.url), { type: "module" });
  const thread = pageThread(
    worker,
    `check that worker_thread.js is served from the folder of worker.js, with the page's Cross-Origin-Embedder-Policy${hintAfter(script)}; else ${HELP}`,
    ownHelper,
  );
  const elsewhere = outsideCache(script);
  return elsewhere === script ? thread : { ...thread, elsewhere };
}

/**
 * Starts a Worker and loads the module in it. Each call starts a new Worker; `dispose()` ends it.
 * @throws {@link RopewalkError} WASM_LOAD, UNSUPPORTED_ENGINE, INVALID_ARGUMENT; the signal's reason when aborted.
 */
export const load = (options?: WorkerLoadOptions): Promise<WorkerRopewalk> =>
  loadIn(startThread, options, WORKER_LOAD_OPTIONS);
