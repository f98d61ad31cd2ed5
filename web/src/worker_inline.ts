/**
 * `ropewalk/worker` with the script of the Worker and both wasm files inside its JavaScript: for bundlers that don't handle `new URL`, packages that
 * come from another origin, and programs of one file.
 *
 * @packageDocumentation
 */
import { isNode } from "./core/base/builtins.node.js";
import { inlineHelper } from "./platform/inline_helper.js";
import { inlineWasm } from "./platform/inline_wasm.js";
import type { LoadOptions } from "./runtime/ropewalk/load.js";
import { textWorker } from "./core/load/text_worker.js";
import { nodeThread } from "./runtime/worker/node_thread.node.js";
import { pageThread } from "./runtime/worker/page_thread.js";
import type { Thread } from "./runtime/worker/rpc_client.js";
import { loadIn } from "./runtime/worker/load_in.js";
import type { WorkerRopewalk } from "./runtime/worker/remote_api.js";
import script from "./core/wasm/worker_thread.inline.js";

export * from "./runtime/worker/api.js";

const startThread = (): Thread => ({
  ...(isNode() ? nodeThread(script) : pageThread(textWorker(script, {}), inlineHelper.hint, inlineHelper)),
  wasm: inlineWasm,
});

/** Same as in `ropewalk/worker`, but fetches nothing of the package. */
export const load = (options?: LoadOptions): Promise<WorkerRopewalk> => loadIn(startThread, options);
