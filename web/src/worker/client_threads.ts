// Threads of a page's Worker. The page starts them: in Firefox, a Worker that starts Workers may block for ever in `new Worker` while the developer
// tools or WebDriver watch the page, because the new Worker can take the wake-up that is meant for it (WaitForIsDebuggerRegistered in Gecko's
// WorkerPrivate.h).
import { transfer } from "comlink";
import { messageOf } from "../base/show.js";
import type { HelperMessage } from "../load/helper_thread.js";
import type { ThreadPlatform } from "../load/threads.js";
import type { RemoteClient } from "./protocol.js";

/** The page creates a Worker and passes on a port to it, so the memory doesn't go through the page, which might keep it. @internal */
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
