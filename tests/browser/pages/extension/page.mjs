// In a page of the extension, and in its Worker.

import { load } from "./package/dist/index.js";
import { load as loadInWorker } from "./package/dist/worker.js";
import { tell } from "./tell.mjs";

globalThis.told = Promise.all([tell(load), tell(loadInWorker)]).catch((error) => [String(error)]);
