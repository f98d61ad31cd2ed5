// The script of helper threads in a page, inside JavaScript.
import { textWorker } from "../core/load/text_worker.js";
import type { HelperScript } from "../core/load/web_threads.js";
import script from "../core/wasm/helper_thread.inline.js";

/** @internal */
export const inlineHelper: HelperScript = {
  start: () => textWorker(script, {}),
  hint: "check that the content security policy allows worker-src blob:",
};
