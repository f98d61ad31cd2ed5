// The script of a page's Worker. It is bundled into one file.
import { load } from "./index.js";
import { serveClient } from "./worker/rpc_server.js";
import type { Endpoint } from "./worker/protocol.js";

serveClient(globalThis as unknown as Endpoint, load);
