// The script of a Worker that is started from its text, in a page or in Node. It gets the wasm from its owner.
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import { isNode, node } from "./core/base/builtins.node.js";
import { fail } from "./core/base/errors.js";
import { inlinePlatform } from "./platform/inline_platform.js";
import { clientThreads } from "./runtime/worker/client_threads.js";
import type { Endpoint } from "./runtime/worker/protocol.js";
import { serveClient } from "./runtime/worker/rpc_server.js";

const port = isNode() ? node.threads.parentPort : null;
const endpoint = port === null ? (globalThis as unknown as Endpoint) : nodeEndpoint(port);

serveClient(endpoint, (client) => ({
  ...inlinePlatform(() => clientThreads(client)),
  wasm: () => fail("WASM_LOAD", "wasm", "was not sent to the Worker"),
}));
