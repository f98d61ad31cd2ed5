/**
 * RoPE and YaRN for the web. Begin with {@link load}.
 *
 * @packageDocumentation
 */
import { webFiles } from "./files/platform.js";
import { type Load, loadOn, type Platform } from "./load/load.js";
import { fetchBytes } from "./load/platforms.js";
import glue from "./wasm/ropewalk.js";

export * from "./api.js";

const platform: Platform = {
  modules: new Map(),
  glue: () => Promise.resolve(glue),
  wasm: (file) =>
    file === "relaxed"
      ? new URL("./wasm/ropewalk.relaxed.wasm", import.meta.url)
      : new URL("./wasm/ropewalk.wasm", import.meta.url),
  files: webFiles,
  read: fetchBytes,
};

/**
 * Loads the module from the wasm file beside this one, once for each build however often it is called, and again after a failure.
 * @throws {@link RopewalkError} WASM_LOAD, UNSUPPORTED_ENGINE, INVALID_ARGUMENT; the signal's reason when aborted.
 */
export const load: Load = (options) => loadOn(platform, options);
