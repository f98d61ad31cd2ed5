// A static server for tests: serves folders with the strictest Content-Security-Policy that the package needs.

import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

/** The policy that a page with ropewalk needs. */
export const STRICT_CSP = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

/** The same policy, without permission to compile wasm. */
export const CSP_WITHOUT_WASM = "default-src 'none'; script-src 'self'; connect-src 'self'";

/** The policy of a page that may not start Workers. */
export const CSP_WITHOUT_WORKERS = `${STRICT_CSP}; worker-src 'none'`;

const TYPES = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

const PAGE = "<!doctype html><title>Home</title><p>An app of one page answers every address with it.";

/** Responses of servers that aren't set up for wasm. */
export const WASM_ANSWERS = {
  page: (response) => response.writeHead(200, { "Content-Type": TYPES[".html"] }).end(PAGE),
  missing: (response) => response.writeHead(404, { "Content-Type": "text/plain" }).end("not found"),
  empty: (response) => response.writeHead(200, { "Content-Type": TYPES[".wasm"] }).end(),
};

async function sendFile(request, response, path, type) {
  const file = await stat(path).catch(() => null);
  if (!file?.isFile()) return response.writeHead(404, { "Content-Type": "text/plain" }).end("not found");
  response.setHeader("ETag", `"${file.mtimeMs}-${file.size}"`);
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  if (first === undefined) {
    response.writeHead(200, { "Content-Type": type, "Content-Length": file.size, "Accept-Ranges": "bytes" });
    return createReadStream(path).pipe(response);
  }
  const start = Number(first);
  const end = Math.min(last === "" ? Infinity : Number(last), file.size - 1);
  if (start > end) return response.writeHead(416, { "Content-Range": `bytes */${file.size}` }).end();
  response.writeHead(206, {
    "Content-Type": type,
    "Content-Length": end - start + 1,
    "Content-Range": `bytes ${start}-${end}/${file.size}`,
  });
  return createReadStream(path, { start, end }).pipe(response);
}

/** Sends a module with the names of packages replaced by their addresses, as a bundler does. */
async function sendModule(response, path, packages) {
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) return response.writeHead(404).end();
  const named = Object.entries(packages).reduce(
    (written, [name, address]) => written.replaceAll(`from "${name}"`, `from "${address}"`),
    text,
  );
  response.writeHead(200, { "Content-Type": TYPES[".mjs"] }).end(named);
}

/**
 * Serves `folders` on a free port of localhost: by the beginning of the address, the longest that fits,
 * `{ folder, csp, wasm, wasmType, packages, isIsolated, isShared, isCacheable }`. `wasm` is one of WASM_ANSWERS, in place of the files; `wasmType` their MIME type;
 * `packages` are addresses of packages that the modules import by name; `isIsolated` adds the headers that isolate pages from other origins,
 * `isCacheable` those that let a browser keep the files, and `isShared` those with which a CDN lets pages of any origin read its files.
 * Returns `{ origin, requests, close }`; `requests` lists the requested paths.
 */
export async function serve(folders) {
  const requests = [];
  const prefixes = Object.keys(folders).sort((a, b) => b.length - a.length);
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    requests.push(pathname);
    const prefix = prefixes.find((start) => pathname.startsWith(start));
    if (prefix === undefined) return response.writeHead(404).end();
    const {
      folder,
      csp = STRICT_CSP,
      wasm,
      wasmType = TYPES[".wasm"],
      packages,
      isIsolated,
      isShared,
      isCacheable,
    } = folders[prefix];
    response.setHeader("Content-Security-Policy", csp);
    response.setHeader("Cache-Control", "no-store");
    if (isIsolated) {
      response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
      response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
    }
    if (isCacheable) {
      response.setHeader("Cache-Control", "max-age=31536000, immutable");
    }
    if (isShared) {
      response.setHeader("Access-Control-Allow-Origin", "*");
      response.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
    }
    const name = normalize(decodeURIComponent(pathname.slice(prefix.length)) || "index.html");
    if (name.startsWith("..")) return response.writeHead(404).end();
    const extension = extname(name);
    if (packages && extension === ".mjs") return sendModule(response, join(folder, name), packages);
    if (extension !== ".wasm")
      return sendFile(request, response, join(folder, name), TYPES[extension] ?? "application/octet-stream");
    return wasm ? wasm(response) : sendFile(request, response, join(folder, name), wasmType);
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "localhost", resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { origin: `http://localhost:${server.address().port}`, requests, close };
}
