// What a thread of Node's runs. The entry is imported later, so that it stays whole in its own file.
import { parentPort } from "node:worker_threads";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import { serveCaller } from "./worker/host.js";

serveCaller(nodeEndpoint(parentPort!), async (options) => (await import("./index.node.js")).load(options));
