/**
 * `ropewalk/worker` with the script of the Worker and both wasm files inside its JavaScript: for bundlers that don't handle `new URL`, packages that
 * come from another origin, and programs of one file.
 *
 * @packageDocumentation
 */
import { isNode } from "./base/builtins.node.js";
import { inlineHelper } from "./inline_helper.js";
import { inlineWasm } from "./inline_wasm.js";
import type { LoadOptions } from "./load/load.js";
import { textWorker } from "./load/text_worker.js";
import { nodeThread } from "./worker/node_thread.node.js";
import { pageThread } from "./worker/page_thread.js";
import type { Thread } from "./worker/rpc_client.js";
import { loadIn } from "./worker/load_in.js";
import type { WorkerRopewalk } from "./worker/remote_api.js";
import script from "./wasm/worker_thread.inline.js";

export * from "./worker/api.js";

const startThread = (): Thread => ({
  ...(isNode() ? nodeThread(script) : pageThread(textWorker(script, {}), inlineHelper.hint, inlineHelper)),
  wasm: inlineWasm,
});

/** Same as in `ropewalk/worker`, but fetches nothing of the package. */
export const load = (options?: LoadOptions): Promise<WorkerRopewalk> => loadIn(startThread, options);
