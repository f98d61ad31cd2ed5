// A static server for the site, as simple hosts are: compressed text, no headers but types unless asked for, and the site isn't in the root.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { pipeline } from "node:stream";
import { createGzip } from "node:zlib";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/** Isolates pages from other origins, so that models have threads on the first visit: later ones have the service worker. */
export const ISOLATION = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

/** Serves a folder under `path`, with some more headers. Port 0 takes a free port. Returns the listening server and the address of the first page. */
export async function serveSite(folder, port = 0, path = "/ropewalk/", more = {}) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const file = normalize(
      join(folder, decodeURIComponent(pathname.slice(path.length)), pathname.endsWith("/") ? "index.html" : ""),
    );
    const isServed = pathname.startsWith(path) && file.startsWith(folder + sep);
    const size =
      isServed &&
      (await stat(file).then(
        (stats) => stats.isFile() && stats.size,
        () => false,
      ));
    if (size === false) return response.writeHead(404, { "content-type": "text/plain" }).end("not found");
    const headers = { "content-type": TYPES[extname(file)] ?? "application/octet-stream", ...more };
    if (extname(file) in TYPES && /\bgzip\b/.test(request.headers["accept-encoding"])) {
      response.writeHead(200, { ...headers, "content-encoding": "gzip" });
      return pipeline(createReadStream(file), createGzip(), response, () => undefined);
    }
    response.writeHead(200, { ...headers, "content-length": size });
    return pipeline(createReadStream(file), response, () => undefined);
  });
  await new Promise((resolve, reject) => {
    const refuse = (error) => reject(error.code === "EADDRINUSE" ? new Error(inUse(port), { cause: error }) : error);
    server.once("error", refuse).listen(port, "127.0.0.1", resolve);
  });
  return { server, address: `http://localhost:${server.address().port}${path}` };
}

const inUse = (port) =>
  `port ${port} of localhost is in use by another program; name another, as in npm run site -- --serve ${port + 1}`;
