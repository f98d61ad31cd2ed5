// In the extension's service worker.

import { load } from "./package/dist/ropewalk.min.js";
import { tell } from "./tell.mjs";

globalThis.tell = () => tell(load).catch(String);
