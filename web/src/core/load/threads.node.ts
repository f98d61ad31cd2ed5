// Threads of Node, and of Bun and Deno, which have the same API.
import { node } from "../base/builtins.node.js";
import type { HelperMessage } from "./helper_thread.js";
import type { ThreadPlatform } from "./threads.js";

/** Threads that run `script`, the text of helper_thread.ts: bundlers for Node don't find the files of Workers. @internal */
export function nodeThreads(script: string): ThreadPlatform {
  return {
    startHelper: (task, { message, failure }) => {
      const worker = new node.threads.Worker(script, { eval: true, execArgv: [] });
      let isEnding = false;
      worker.on("message", (data: HelperMessage) => message(data));
      worker.on("error", ({ message: reason }) => failure(reason));
      worker.on("exit", (code) => isEnding || failure(`it ended with code ${code}`));
      worker.postMessage(task);
      return {
        terminate: () => {
          isEnding = true;
          void worker.terminate();
        },
        keepAlive: (isKept) => (isKept ? worker.ref() : worker.unref()),
      };
    },
    cores: () => node.os.availableParallelism(),
  };
}
