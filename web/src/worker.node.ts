/**
 * The model API of `ropewalk` in a thread of Node: the same as in a page, but it can read files. An idle thread doesn't
 * keep the process alive.
 *
 * @packageDocumentation
 */
import { fail } from "./core/base/errors.js";
import { ownWasm } from "./platform/own_wasm.node.js";
import { nodeThread } from "./runtime/worker/node_thread.node.js";
import type { Thread } from "./runtime/worker/rpc_client.js";
import { loadIn, WORKER_LOAD_OPTIONS, type WorkerLoadOptions } from "./runtime/worker/load_in.js";
import type { WorkerRopewalk } from "./runtime/worker/remote_api.js";
import script from "./core/wasm/worker_thread.inline.js";

export * from "./runtime/worker/api.js";

function startThread(workerUrl: string | undefined): Thread {
  if (workerUrl !== undefined)
    fail("INVALID_ARGUMENT", "workerUrl", "is for pages: in Node the script of the Worker is inside the package");
  return { ...nodeThread(script), wasm: ownWasm };
}

/**
 * Starts a thread and loads the module in it, as in a page. The options are those of `load()` of `ropewalk` in Node.
 */
export const load = (options?: WorkerLoadOptions): Promise<WorkerRopewalk> =>
  loadIn(startThread, options, WORKER_LOAD_OPTIONS);
