// The script of a page's Worker. It is bundled into one file.
import { ownWasm } from "./platform/own_wasm.js";
import glue from "./core/wasm/ropewalk.js";
import { clientThreads } from "./runtime/worker/client_threads.js";
import type { Endpoint } from "./runtime/worker/protocol.js";
import { serveClient } from "./runtime/worker/rpc_server.js";

serveClient(globalThis as unknown as Endpoint, (client) => ({
  glue: () => glue,
  wasm: ownWasm,
  threads: () => clientThreads(client),
}));
