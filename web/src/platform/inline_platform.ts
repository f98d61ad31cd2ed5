// What ropewalk/inline and the script of a Worker that is started from its text have in common: they need no other file, in a page or in Node.
import { isNode } from "../core/base/builtins.node.js";
import { nodeFilePlatform, readLocal } from "../runtime/files/platform.node.js";
import type { Platform } from "../runtime/ropewalk/load.js";
import { nodeThreads } from "../core/load/threads.node.js";
import glue from "../core/wasm/ropewalk.js";
import helperScript from "../core/wasm/helper_thread.inline.js";

/** All but the wasm. `pageThreads` is for pages and their Workers. @internal */
export const inlinePlatform = (pageThreads: NonNullable<Platform["threads"]>): Omit<Platform, "wasm"> => ({
  glue: () => glue,
  threads: () => (isNode() ? nodeThreads(helperScript) : pageThreads()),
  ...(isNode() && { files: nodeFilePlatform, readFile: readLocal }),
});
