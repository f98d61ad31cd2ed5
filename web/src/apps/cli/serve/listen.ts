// Listens on a port.
import * as advise from "../../../core/base/advice.js";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { fail } from "../../../core/base/errors.js";

/** A server that listens. */
export interface Listening {
  /** Such as `http://127.0.0.1:8080`. */
  readonly address: string;
  /** Closes the port and the connections. */
  close(): Promise<void>;
}

/** @throws INVALID_ARGUMENT: the port is in use or not allowed, or this machine doesn't have the address */
export async function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  host: string,
  port: number,
): Promise<Listening> {
  const server = createAdaptorServer({ fetch });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  }).catch((cause: unknown) => refuse(cause as NodeJS.ErrnoException, host, port));
  const { port: bound } = server.address() as AddressInfo;
  return {
    address: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        if ("closeAllConnections" in server) server.closeAllConnections();
      }),
  };
}

function refuse(cause: NodeJS.ErrnoException, host: string, port: number): never {
  const reasons: Record<string, [field: string, problem: string, advice?: string]> = {
    EADDRINUSE: ["--port", `${port} is in use`, "pass another, or 0 for any free one"],
    EACCES: ["--port", `${port} isn't allowed for this user`, "pass one from 1024"],
    EADDRNOTAVAIL: ["--host", `${host} isn't an address of this machine`],
    ENOTFOUND: ["--host", `${host} isn't an address of this machine`],
  };
  const [field, problem, advice] = reasons[cause.code ?? ""] ?? ["--host", `can't be listened on: ${cause.message}`];
  fail("INVALID_ARGUMENT", field, problem, { ...(advice !== undefined && advise.other(advice)), cause });
}
