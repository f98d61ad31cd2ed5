/**
 * RoPE and YaRN for the web. Start with {@link load}.
 *
 * @packageDocumentation
 */
import { type Load, loadOn, type Platform } from "./load/load.js";
import { outsideCache } from "./load/missing_file.js";
import { addressNextTo, isFromOtherOrigin, scriptWorker } from "./load/other_origin.js";
import { webThreads } from "./load/web_threads.js";
import glue from "./wasm/ropewalk.js";

export * from "./api.js";

// Both addresses are written out, because bundlers look for `new URL("…", import.meta.url)`.
const platform: Platform = {
  glue: () => glue,
  wasm: (file) => {
    const { href } =
      file === "relaxed"
        ? new URL("./wasm/ropewalk.relaxed.wasm", import.meta.url)
        : new URL("./wasm/ropewalk.wasm", import.meta.url);
    return outsideCache(href);
  },
  threads: () =>
    webThreads(
      () =>
        isFromOtherOrigin(import.meta.url)
          ? scriptWorker(addressNextTo(import.meta.url, "load/helper_thread.js"))
          : new Worker(new URL("./load/helper_thread.js", import.meta.url)),
      "check that load/helper_thread.js is served next to the package, with the page's Cross-Origin-Embedder-Policy",
    ),
};

/**
 * Loads the wasm module and returns the runtime object. Fetches the wasm file next to this script. Further calls return the same object for
 * each build; after a failure the next call tries again.
 * @throws {@link RopewalkError} WASM_LOAD, UNSUPPORTED_ENGINE, INVALID_ARGUMENT; the signal's reason if aborted.
 */
export const load: Load = (options) => loadOn(platform, options);
