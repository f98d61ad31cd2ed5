/**
 * The main entry in Node. Same as in a page, but reads files.
 *
 * @packageDocumentation
 */
import { readFile } from "node:fs/promises";
import { nodeFilePlatform } from "./files/platform.node.js";
import { type Load, loadOn, type Platform } from "./load/load.js";
import { nodeThreads } from "./load/threads.node.js";
import helperScript from "./wasm/helper_thread.inline.js";

export * from "./api.js";

const platform: Platform = {
  glue: async () => (await import("./wasm/ropewalk.node.js")).default,
  wasm: (file) =>
    new URL(file === "relaxed" ? "./wasm/ropewalk.relaxed.wasm" : "./wasm/ropewalk.wasm", import.meta.url),
  files: nodeFilePlatform,
  threads: () => nodeThreads(helperScript),
  readFile: (address) => readFile(/^file:/.test(String(address)) ? new URL(address) : address),
};

/** Same as in a page. Reads the wasm from the package's folder. `wasm` may also be the path of a file. */
export const load: Load = (options) => loadOn(platform, options);
