// A Worker of a page as a thread for the client.
import type { HelperScript } from "../../core/load/web_threads.js";
import { pageHelpers } from "./page_helpers.js";
import type { Thread } from "./rpc_client.js";

/** @param hint - what to check if it can't start: browsers often don't say why. @internal */
export function pageThread(worker: Worker, hint: string, helper: HelperScript): Thread {
  const helpers = pageHelpers(helper);
  return {
    helpers: helpers.methods,
    endpoint: worker,
    setBusy: () => undefined,
    resolve: (address) => (URL.canParse(address, location.href) ? new URL(address, location.href).href : address),
    hint,
    get locks() {
      return (navigator as Partial<Navigator>).locks; // in secure contexts
    },
    onFailure: (report) => {
      worker.addEventListener("error", (event) => report(event.message || undefined));
      worker.addEventListener("messageerror", () => report("a message couldn't be read"));
    },
    terminate: () => {
      worker.terminate();
      helpers.endAll();
    },
  };
}
