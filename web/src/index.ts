/**
 * RoPE and YaRN for the web. Start with {@link load}.
 *
 * @packageDocumentation
 */
import { type Load, loadOn, type Platform } from "./runtime/ropewalk/load.js";
import { webThreads } from "./core/load/web_threads.js";
import { ownHelper } from "./platform/own_helper.js";
import { ownWasm } from "./platform/own_wasm.js";
import glue from "./core/wasm/ropewalk.js";

export * from "./api.js";

const platform: Platform = { glue: () => glue, wasm: ownWasm, threads: () => webThreads(ownHelper) };

/**
 * Loads the wasm module and returns the runtime object. Fetches the wasm file next to this script. Further calls return the same object for
 * each build; after a failure the next call tries again.
 * @throws {@link RopewalkError} WASM_LOAD, UNSUPPORTED_ENGINE, INVALID_ARGUMENT; the signal's reason if aborted.
 */
export const load: Load = (options) => loadOn(platform, options);
