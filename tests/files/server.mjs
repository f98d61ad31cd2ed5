// A file server with range requests, which tests can make fail in any way.

import { createServer } from "node:http";

/**
 * Serves `files`, { name: bytes }, until the test ends.
 *
 * @param misbehave called with { name, bytes, start, end, count, request, response } for each request, where `count` counts the requests
 * for a name from 1; returns true if it has sent the response itself
 * @returns the URL of the folder, the requests, the files (may be changed), and the responses that are neither complete nor closed
 */
export async function serve(t, files, misbehave = () => false) {
  const requests = [];
  const unfinished = new Set();
  const server = createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://localhost").pathname.slice(1));
    const bytes = files[name];
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
    const start = Number(first ?? 0);
    const end = Math.min(Number(last ?? Infinity) + 1, bytes?.length ?? 0);
    requests.push({ name, start, end, headers: request.headers });
    response.on("error", () => {});
    unfinished.add(response);
    response.on("close", () => unfinished.delete(response));
    const count = requests.filter((other) => other.name === name).length;
    if (misbehave({ name, bytes, start, end, count, request, response }) === true) return;
    answer(response, bytes, first === undefined ? undefined : { start, end });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}/`, requests, files, server, unfinished };
}

/** Sends the correct response, with the headers or status changed as given. null removes a header. */
export function answer(response, bytes, range, { headers = {}, status, body } = {}) {
  const send = (code, fields, content) => {
    const present = Object.entries({ ...fields, ...headers }).filter(([, value]) => value !== null);
    response.writeHead(status ?? code, Object.fromEntries(present));
    response.end(body ?? content);
  };
  if (bytes === undefined) return send(404, { "content-type": "text/plain" }, "none");
  const etag = { etag: `"${bytes.length}-${bytes[bytes.length - 1]}"`, "content-type": "application/octet-stream" };
  if (range === undefined) return send(200, { ...etag, "content-length": bytes.length }, bytes);
  const { start, end } = range;
  if (start >= end) return send(416, { "content-range": `bytes */${bytes.length}` }, "");
  const part = { "content-length": end - start, "content-range": `bytes ${start}-${end - 1}/${bytes.length}` };
  return send(206, { ...etag, ...part }, bytes.subarray(start, end));
}
