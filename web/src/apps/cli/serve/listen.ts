// Listens on a port.
import * as advise from "../../../core/base/advice.js";
import { setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { fail } from "../../../core/base/errors.js";
import { type ErrorBody, errorBody } from "../../openai/errors.js";

/** A server that listens. */
export interface Listening {
  /** Such as `http://127.0.0.1:8080`. */
  readonly address: string;
  /** Closes the port and the connections. */
  close(): Promise<void>;
}

/** What a request comes with. */
export interface Arrival {
  /** Aborted when its connection closes. */
  readonly gone: AbortSignal;
  readonly incoming: IncomingMessage;
}

/** Answers requests. */
export interface Answering {
  readonly fetch: (request: Request, arrival: Arrival) => Response | Promise<Response>;
  /** Whether a request asks if the server is well, and it is. It is answered before all others, without the rest of the server. */
  readonly isHealthy: (incoming: IncomingMessage) => boolean;
}

/** Milliseconds until the head of a request has come, and all of it. Bodies have a time of their own, so the second is a net below it. */
const HEAD_MS = 10_000;
const REQUEST_MS = 120_000;
const CHECK_MS = 2_000;

const HEALTHY = JSON.stringify({ status: "ok" });

/**
 * @param maxConnections - connections whose requests are answered. As many again are told that there are too many, the next ones are closed
 * @throws INVALID_ARGUMENT: the port is in use or not allowed, or this machine doesn't have the address
 */
export async function listen(
  { fetch, isHealthy }: Answering,
  host: string,
  port: number,
  maxConnections: number,
): Promise<Listening> {
  const answer = getRequestListener(((request: Request, { incoming }: HttpBindings) =>
    fetch(request, { gone: goneSignal(incoming.socket), incoming: incoming })) as Parameters<
    typeof getRequestListener
  >[0]);
  let connections = 0;
  const crowding = new WeakSet<Socket>();
  const times = { headersTimeout: HEAD_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS };
  const server = createServer(times, (incoming, outgoing) => {
    if (isHealthy(incoming)) send(outgoing, 200, HEALTHY);
    else if (crowding.has(incoming.socket))
      send(outgoing, 503, JSON.stringify(CROWDED), { "Retry-After": "1", Connection: "close" });
    else void answer(incoming, outgoing);
  });
  server.maxConnections = 2 * maxConnections;
  server.on("connection", (socket) => {
    connections += 1;
    if (connections > maxConnections) crowding.add(socket);
    socket.once("close", () => (connections -= 1));
  });
  server.on("clientError", refuseUnread);
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

const CROWDED = errorBody(
  "too many connections are open; try again later",
  "server_error",
  null,
  "too_many_connections",
);

function send(outgoing: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  outgoing.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    ...headers,
  });
  outgoing.end(body);
}

/** Answers what isn't a request, or doesn't come to its end. */
function refuseUnread(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const [status, message, code] = UNREAD[error.code ?? ""] ?? ["400 Bad Request", "it isn't a request of HTTP", null];
  const body = JSON.stringify(errorBody(message, "invalid_request_error", null, code) satisfies ErrorBody);
  const head = ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`, "Connection: close"];
  socket.end(`HTTP/1.1 ${status}\r\n${head.join("\r\n")}\r\n\r\n${body}`);
}

const UNREAD: Readonly<Record<string, readonly [status: string, message: string, code: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "the request didn't come in time", "request_timeout"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "the headers are too large", "headers_too_large"],
};

const signals = new WeakMap<Socket, AbortSignal>();

/**
 * Aborted when a connection closes. A request's own signal isn't, if the request waits behind another on the same connection: Node tells only the
 * response that is being sent.
 */
function goneSignal(socket: Socket): AbortSignal {
  const known = signals.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  signals.set(socket, controller.signal);
  setMaxListeners(0, controller.signal); // each request on the connection listens
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
