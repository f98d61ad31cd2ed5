/**
 * The same package with the simd and relaxed wasm inside its JavaScript, for bundlers that mishandle `new URL`.
 *
 * @packageDocumentation
 */
import { type Load, loadOn } from "./load.js";
import { fetchBytes, importGlue } from "./platform_web.js";

export * from "./api.js";

/** As in the main entry; nothing is fetched. */
export const load: Load = loadOn({
  glue: importGlue,
  wasm: async (file) => {
    const { default: base64 } = file === "relaxed" ? await import("./wasm/ropewalk.relaxed.inline.js") : await import("./wasm/ropewalk.inline.js");
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  },
  read: fetchBytes,
});
