// The script of a page's Worker. The dynamic import keeps the package's entry in its own file, shared with the page.
import { serveClient } from "./worker/rpc_server.js";
import type { Endpoint } from "./worker/protocol.js";

serveClient(globalThis as unknown as Endpoint, async (options) => (await import("./index.js")).load(options));
