// A thread of Node, Bun or Deno for the client. It is started from its text, because bundlers for servers don't find the files of Workers.
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import { node } from "../../core/base/builtins.node.js";
import type { Thread } from "./rpc_client.js";

/** @param script - the text of worker_thread_inline.ts. @internal */
export function nodeThread(script: string): Thread {
  const worker = new node.threads.Worker(script, { eval: true, execArgv: [] }); // flags such as --input-type are for the main script
  return {
    endpoint: nodeEndpoint(worker),
    setBusy: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
    resolve: (address) => address,
    onFailure: (report) => {
      worker.on("error", (error) => report(error.message));
      worker.on("exit", (code) => report(`its thread ended with code ${code}`));
    },
    terminate: () => void worker.terminate(),
  };
}
