declare module "comlink/dist/esm/node-adapter.mjs" {
  import type { Endpoint } from "comlink";

  /* eslint-disable @typescript-eslint/no-explicit-any -- as Node's own types have it */
  interface Thread {
    postMessage(message: any, transfer?: readonly any[]): void;
    on(type: string, listener: (data: any) => void): unknown;
    off(type: string, listener: (data: any) => void): unknown;
  }

  /** An endpoint of a thread of Node's. */
  export default function nodeEndpoint(thread: Thread): Endpoint;
}
