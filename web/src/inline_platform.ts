// What ropewalk/inline and the script of a Worker that is started from its text have in common: they need no other file, in a page or in Node.
import { isNode } from "./base/builtins.node.js";
import { nodeFilePlatform, readLocal } from "./files/platform.node.js";
import type { Platform } from "./load/load.js";
import { nodeThreads } from "./load/threads.node.js";
import glue from "./wasm/ropewalk.js";
import helperScript from "./wasm/helper_thread.inline.js";

/** All but the wasm. `pageThreads` is for pages and their Workers. @internal */
export const inlinePlatform = (pageThreads: NonNullable<Platform["threads"]>): Omit<Platform, "wasm"> => ({
  glue: () => glue,
  threads: () => (isNode() ? nodeThreads(helperScript) : pageThreads()),
  ...(isNode() && { files: nodeFilePlatform, readFile: readLocal }),
});
