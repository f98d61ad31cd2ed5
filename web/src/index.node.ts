/**
 * The package's main entry as Node sees it: the same as in a page, reading files.
 *
 * @packageDocumentation
 */
import { readFile } from "node:fs/promises";
import { webFiles } from "./files/platform.js";
import { type Load, loadOn, type Platform } from "./load/load.js";
import { fetchBytes } from "./load/platforms.js";

export * from "./api.js";

const platform: Platform = {
  modules: new Map(),
  glue: async () => (await import("./wasm/ropewalk.node.js")).default,
  wasm: (file) =>
    new URL(file === "relaxed" ? "./wasm/ropewalk.relaxed.wasm" : "./wasm/ropewalk.wasm", import.meta.url),
  files: { fetch: webFiles.fetch, openPath: async (path) => (await import("./files/node_files.js")).nodeFiles(path) },
  read: (address) => {
    const isRemote = /^https?:/.test(String(address));
    return isRemote ? fetchBytes(address) : readFile(/^file:/.test(String(address)) ? new URL(address) : address);
  },
};

/** As in pages; the wasm is read from the package's folder, and `wasm` may also be the path of a file. */
export const load: Load = (options) => loadOn(platform, options);
