// The script of a page's Worker. It is bundled into one file.
import { ownWasm } from "./own_wasm.js";
import glue from "./wasm/ropewalk.js";
import { clientThreads } from "./worker/client_threads.js";
import type { Endpoint } from "./worker/protocol.js";
import { serveClient } from "./worker/rpc_server.js";

serveClient(globalThis as unknown as Endpoint, (client) => ({
  glue: () => glue,
  wasm: ownWasm,
  threads: () => clientThreads(client),
}));
