// What ropewalk/inline and the script of a Worker that is started from its text have in common: they need no other file, in a page or in Node.
import { isNode } from "./base/builtins.node.js";
import { nodeFilePlatform, readLocal } from "./files/platform.node.js";
import type { Platform } from "./load/load.js";
import { nodeThreads } from "./load/threads.node.js";
import { textWorker } from "./load/text_worker.js";
import { webThreads } from "./load/web_threads.js";
import glue from "./wasm/ropewalk.js";
import helperScript from "./wasm/helper_thread.inline.js";

/** All but the wasm. @internal */
export const inlinePlatform = (): Omit<Platform, "wasm"> => ({
  glue: () => glue,
  threads: () =>
    isNode()
      ? nodeThreads(helperScript)
      : webThreads(
          () => textWorker(helperScript, {}),
          "check that the content security policy allows worker-src blob:",
        ),
  ...(isNode() && { files: nodeFilePlatform, readFile: readLocal }),
});
