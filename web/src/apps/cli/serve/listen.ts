// Listens on a port.
import * as advise from "../../../core/base/advice.js";
import type { AddressInfo, Socket } from "node:net";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { fail } from "../../../core/base/errors.js";

/** A server that listens. */
export interface Listening {
  /** Such as `http://127.0.0.1:8080`. */
  readonly address: string;
  /** Closes the port and the connections. */
  close(): Promise<void>;
}

/** Answers a request. `gone` is aborted when its connection closes. */
export type Answer = (request: Request, gone: AbortSignal) => Response | Promise<Response>;

/** @throws INVALID_ARGUMENT: the port is in use or not allowed, or this machine doesn't have the address */
export async function listen(answer: Answer, host: string, port: number): Promise<Listening> {
  const fetch = (request: Request, { incoming }: HttpBindings): Response | Promise<Response> =>
    answer(request, goneSignal(incoming.socket));
  const server = createAdaptorServer({ fetch: fetch as Parameters<typeof createAdaptorServer>[0]["fetch"] });
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

const connections = new WeakMap<Socket, AbortSignal>();

/**
 * Aborted when a connection closes. A request's own signal isn't, if the request waits behind another on the same connection: Node tells only the
 * response that is being sent.
 */
function goneSignal(socket: Socket): AbortSignal {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  connections.set(socket, controller.signal);
  if (socket.destroyed) controller.abort();
  else socket.once("close", () => controller.abort());
  return controller.signal;
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
