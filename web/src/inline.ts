/**
 * The main entry with both wasm files inside its JavaScript, for bundlers that don't handle `new URL` and for programs of one file. In Node, Bun
 * and Deno it reads files, too.
 *
 * @packageDocumentation
 */
import { inlineHelper } from "./platform/inline_helper.js";
import { inlinePlatform } from "./platform/inline_platform.js";
import { inlineWasm } from "./platform/inline_wasm.js";
import { type Load, loadOn, type Platform } from "./runtime/ropewalk/load.js";
import { webThreads } from "./core/load/web_threads.js";

export * from "./api.js";

const platform: Platform = { ...inlinePlatform(() => webThreads(inlineHelper)), wasm: inlineWasm };

/** Same as in the main entry, but fetches nothing. */
export const load: Load = (options) => loadOn(platform, options);
