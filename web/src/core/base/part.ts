// Parts of the package that are loaded when they are needed.
import * as advise from "./advice.js";
import { fail } from "./errors.js";

/**
 * Loads a part of the package.
 * @param load - `() => import("./part.js")`, written out so that bundlers see it
 * @throws UNSUPPORTED_ENGINE in a service worker, which may import nothing while it runs
 * @internal
 */
export async function part<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    if (!(cause instanceof TypeError) || !("ServiceWorkerGlobalScope" in globalThis)) throw cause;
    const advice = advise.code('import "ropewalk/min", which is one file, or bundle the service worker into one');
    fail("UNSUPPORTED_ENGINE", "import()", "a service worker can't load parts of the package", { cause, ...advice });
  }
}
