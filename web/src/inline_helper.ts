// The script of helper threads in a page, inside JavaScript.
import { textWorker } from "./load/text_worker.js";
import type { HelperScript } from "./load/web_threads.js";
import script from "./wasm/helper_thread.inline.js";

/** @internal */
export const inlineHelper: HelperScript = {
  start: () => textWorker(script, {}),
  hint: "check that the content security policy allows worker-src blob:",
};
