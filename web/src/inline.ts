/**
 * The same package with the simd and relaxed wasm inside its JavaScript, for bundlers that mishandle `new URL`.
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
  wasm: async (file) => {
    const { default: base64 } =
      file === "relaxed"
        ? await import("./wasm/ropewalk.relaxed.inline.js")
        : await import("./wasm/ropewalk.inline.js");
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  },
  files: webFiles,
  read: fetchBytes,
};

/** As in the main entry; nothing is fetched. */
export const load: Load = (options) => loadOn(platform, options);
