/**
 * The main entry in workerd (Cloudflare Workers). Same as in a page, but imports the wasm: no file can be fetched there, and no bytes can be
 * compiled.
 *
 * @packageDocumentation
 */
import { type Load, loadOn, type Platform } from "./runtime/ropewalk/load.js";
import glue from "./core/wasm/ropewalk.js";
import wasm from "./core/wasm/ropewalk.wasm";

export * from "./api.js";

/** The relaxed build is never asked for, because its instructions can't be tested without compiling some. */
const platform: Platform = { glue: () => glue, wasm: () => wasm };

/** Same as in a page, with the `simd` build. */
export const load: Load = (options) => loadOn(platform, options);
