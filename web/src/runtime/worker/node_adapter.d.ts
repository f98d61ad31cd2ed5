declare module "comlink/dist/esm/node-adapter.mjs" {
  import type { Endpoint } from "comlink";

  /* eslint-disable @typescript-eslint/no-explicit-any -- same as Node's types */
  interface Thread {
    postMessage(message: any, transfer?: readonly any[]): void;
    on(type: string, listener: (data: any) => void): unknown;
    off(type: string, listener: (data: any) => void): unknown;
  }

  /** Wraps a thread of Node as an endpoint. */
  export default function nodeEndpoint(thread: Thread): Endpoint;
}
