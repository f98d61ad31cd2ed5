// The script of helper threads in a page: the file of this package.
import { addressNextTo, isFromOtherOrigin, scriptWorker } from "../core/load/other_origin.js";
import type { HelperScript } from "../core/load/web_threads.js";

const NAME = "load/helper_thread.js";
const POLICIES =
  "with the page's Cross-Origin-Embedder-Policy, and that worker-src of a content security policy allows it";

/** The file next to this script. Its address is written out, because bundlers look for `new Worker(new URL("…", import.meta.url))`. @internal */
export const ownHelper: HelperScript = {
  start: () =>
    isFromOtherOrigin(import.meta.url)
      ? scriptWorker(addressNextTo(import.meta.url, NAME))
      : new Worker(new URL("./load/helper_thread.js", import.meta.url)),
  hint: `check that ${NAME} is served next to the package, ${POLICIES}`,
};

/** The file next to the script of another Worker. @internal */
export function helperNextTo(script: string): HelperScript {
  const address = addressNextTo(script, NAME);
  return {
    start: () => (isFromOtherOrigin(address) ? scriptWorker(address) : new Worker(/* webpackIgnore: true */ address)),
    hint: `check that ${address} is served, ${POLICIES}`,
  };
}
