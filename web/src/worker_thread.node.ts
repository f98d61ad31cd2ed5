// The script of a thread of Node. The dynamic import keeps the package's entry in its own file, shared with the main
// thread.
import { parentPort } from "node:worker_threads";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import { serveClient } from "./worker/rpc_server.js";

serveClient(nodeEndpoint(parentPort!), async (options) => (await import("./index.node.js")).load(options));
