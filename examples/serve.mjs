// A static server for the example pages, on localhost, with the strictest content security policy that the package works under.
//
//   node examples/serve.mjs [port]
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const served = ["dist", "examples"].map((folder) => join(root, folder) + sep);

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".safetensors": "application/octet-stream",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};
const HEADERS = {
  "content-security-policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'",
  "x-content-type-options": "nosniff",
  "cache-control": "no-cache",
  "service-worker-allowed": "/", // isolation_worker.js isn't in the root here
};

/** The file for a URL, or undefined if it is outside the served folders. */
function fileAt(url) {
  const { pathname } = new URL(url, "http://localhost");
  const path = normalize(join(root, decodeURIComponent(pathname), pathname.endsWith("/") ? "index.html" : ""));
  return served.some((folder) => path.startsWith(folder)) && extname(path) in TYPES ? path : undefined;
}

async function answer(request, response) {
  if (request.url === "/") return response.writeHead(302, { location: "/examples/page/" }).end();
  try {
    const path = fileAt(request.url);
    const body = await readFile(path);
    return response.writeHead(200, { ...HEADERS, "content-type": TYPES[extname(path)] }).end(body);
  } catch {
    return response.writeHead(404, { ...HEADERS, "content-type": "text/plain" }).end("not found");
  }
}

/** Serves dist/ and examples/. Port 0 takes a free port. Returns the listening server and the address of the first page. */
export async function serve(port = 8080) {
  const server = createServer(answer);
  await new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  return { server, address: `http://localhost:${server.address().port}/examples/page/` };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { address } = await serve(Number(process.argv[2] ?? 8080));
  console.log(`${address} (Ctrl-C to stop)`);
}
