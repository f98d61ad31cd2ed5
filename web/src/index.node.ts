/**
 * The main entry in Node. Same as in a page, but reads files.
 *
 * @packageDocumentation
 */
import { nodeFilePlatform, readLocal } from "./runtime/files/platform.node.js";
import { type Load, loadOn, type Platform } from "./runtime/ropewalk/load.js";
import { nodeThreads } from "./core/load/threads.node.js";
import { ownWasm } from "./platform/own_wasm.node.js";
import helperScript from "./core/wasm/helper_thread.inline.js";

export * from "./api.js";

const platform: Platform = {
  glue: async () => (await import("./core/wasm/ropewalk.js")).default,
  wasm: ownWasm,
  files: nodeFilePlatform,
  threads: () => nodeThreads(helperScript),
  readFile: readLocal,
};

/** Same as in a page. Reads the wasm from the package's folder. `wasm` may also be the path of a file. */
export const load: Load = (options) => loadOn(platform, options);
