// Threads of a page's Worker. The page starts them, because a Worker that starts Workers may block forever in Firefox's `new Worker` while
// developer tools are open or WebDriver controls the page: both Workers wait on one condition variable, and one wake-up is sent
// (WaitForIsDebuggerRegistered in Gecko's WorkerPrivate.h).
import { transfer } from "comlink";
import { messageOf } from "../../core/base/show.js";
import type { HelperMessage } from "../../core/load/helper_thread.js";
import type { ThreadPlatform } from "../../core/load/threads.js";
import type { RemoteClient } from "./protocol.js";

/** The task goes through a port, and not through the page, which would keep the wasm memory until its next garbage collection. @internal */
export function clientThreads(client: RemoteClient): ThreadPlatform {
  let last = 0;
  return {
    startHelper: (task, { message, failure }) => {
      const id = ++last;
      const { port1: port, port2: given } = new MessageChannel();
      port.onmessage = ({ data }: MessageEvent<HelperMessage>) => message(data);
      port.postMessage(task);
      client.startHelper(id, transfer(given, [given])).then(failure, (error: unknown) => failure(messageOf(error)));
      return {
        terminate: () => {
          port.close();
          void client.endHelper(id);
        },
      };
    },
    cores: () => navigator.hardwareConcurrency,
  };
}
