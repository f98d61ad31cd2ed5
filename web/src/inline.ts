/**
 * The main entry with both wasm files inside its JavaScript, for bundlers that don't handle `new URL`.
 *
 * @packageDocumentation
 */
import { type Load, loadOn, type Platform } from "./load/load.js";
import glue from "./wasm/ropewalk.js";

export * from "./api.js";

const platform: Platform = {
  glue: () => glue,
  wasm: async (file) => {
    const { default: base64 } =
      file === "relaxed"
        ? await import("./wasm/ropewalk.relaxed.inline.js")
        : await import("./wasm/ropewalk.inline.js");
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  },
};

/** Same as in the main entry, but fetches nothing. */
export const load: Load = (options) => loadOn(platform, options);
