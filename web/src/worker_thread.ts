// What a page's Worker runs. The entry is imported later, so that it stays whole in its own file.
import { serveCaller } from "./worker/host.js";
import type { Endpoint } from "./worker/protocol.js";

serveCaller(globalThis as unknown as Endpoint, async (options) => (await import("./index.js")).load(options));
