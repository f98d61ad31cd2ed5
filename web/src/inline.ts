/**
 * The main entry with both wasm files inside its JavaScript, for bundlers that don't handle `new URL`.
 *
 * @packageDocumentation
 */
import { type Load, loadOn, type Platform } from "./load/load.js";
import { webThreads } from "./load/web_threads.js";
import glue from "./wasm/ropewalk.js";
import helperScript from "./wasm/helper_thread.inline.js";

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
  threads: () =>
    webThreads(() => {
      const address = URL.createObjectURL(new Blob([helperScript], { type: "text/javascript" }));
      const worker = new Worker(address);
      URL.revokeObjectURL(address);
      return worker;
    }, "check that the content security policy allows worker-src blob:"),
};

/** Same as in the main entry, but fetches nothing. */
export const load: Load = (options) => loadOn(platform, options);
