// Fuzzes the reading of a model over HTTP: whatever a server does, the bytes are those of one version of the file, or there is a RopewalkError.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { fetchOnly, openModel, readWhole } from "../../files/reading.mjs";
import { ggufBytes } from "../../files/gguf_writer.mjs";
import { fakeOpfs } from "../../files/stores.mjs";
import { ggufModel } from "../../files/tiny_models.mjs";

export const name = "http_source";

/** Longer than the first request, so that a load needs more. The second version has the same length and other tensors. */
const FIRST = ggufBytes(ggufModel({ large: 5 << 18 }));
const VERSIONS = [FIRST, FIRST.map((byte, i) => (i < 100_000 ? byte : byte ^ 0x55))];

let server;
/** What the server does for the case that runs. */
let behavior;

/** Misbehaviors: each answers a request and returns true, or changes the headers of the usual answer. */
const MISBEHAVIORS = {
  reset: ({ request }) => (request.socket.destroy(), true),
  stall: () => true,
  page: ({ response }) => (response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>"), true),
  status: ({ response, random }) => (
    response.writeHead(random.pick([204, 304, 400, 401, 403, 404, 410, 416, 418, 429, 500, 503])).end(),
    true
  ),
  later: ({ response, random }) => (
    response.writeHead(503, { "retry-after": random.pick(["0", "100000", "soon", "-1"]) }).end(),
    true
  ),
  whole: (answer) => void ((answer.status = 200), (answer.start = 0), (answer.end = answer.bytes.length)),
  wholeWithoutLength: (answer) => void (MISBEHAVIORS.whole(answer), (answer.headers["content-length"] = null)),
  short: (answer) => void (answer.cut = answer.random.unit()),
  less: (answer) => void (answer.end = answer.start + answer.random.between(1, answer.end - answer.start)),
  more: (answer) => void (answer.extra = 5000),
  range: (answer) => {
    const { start, end, bytes, random } = answer;
    answer.headers["content-range"] = random.pick([
      `bytes ${start + 1}-${end}/${bytes.length}`,
      `bytes ${start}-${end - 1}/${end - 1}`,
      `bytes ${start}-${end - 1}/${bytes.length + 1000}`,
      `bytes ${start}-${start - 1}/${bytes.length}`,
      `bytes 0-99999999999999999999/1`,
      `bytes */${bytes.length}`,
      "octets 1-2/3",
      "",
    ]);
  },
  noRange: (answer) => void (answer.headers["content-range"] = null),
  multipart: (answer) => void (answer.headers["content-type"] = "multipart/byteranges; boundary=x"),
  gzip: (answer) => void (MISBEHAVIORS.whole(answer), (answer.encoding = "gzip")),
  gzipPart: (answer) => void (answer.encoding = "gzip"),
  falseGzip: (answer) => void (answer.headers["content-encoding"] = "gzip"),
  length: (answer) => void (answer.headers["content-length"] = String(answer.random.int(2 * answer.bytes.length))),
  redirect: ({ response, random }) => (
    response.writeHead(302, { location: random.pick(["/m.gguf", "ftp://a/", "http://[", ""]) }).end(),
    true
  ),
};

function answer(request, response) {
  const { random, version, misbehaviors } = behavior;
  const bytes = VERSIONS[version()];
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
  if (first === undefined || Number(first) >= bytes.length) return response.writeHead(416).end();
  const end = Math.min(Number(last) + 1, bytes.length);
  const given = { request, response, random, bytes, status: 206, start: Number(first), end, extra: 0, headers: {} };
  for (const { kind, likely } of misbehaviors)
    if (random.chance(likely) && MISBEHAVIORS[kind](given) === true) return undefined;
  let body = Buffer.from(bytes.subarray(given.start, given.end));
  if (given.extra > 0) body = Buffer.concat([body, Buffer.alloc(given.extra)]);
  if (given.encoding === "gzip") body = gzipSync(body, { level: 1 });
  const headers = {
    "content-type": "application/octet-stream",
    etag: `"${bytes === FIRST ? "one" : "two"}"`,
    "content-length": body.length,
    ...(given.status === 206 && { "content-range": `bytes ${given.start}-${given.end - 1}/${bytes.length}` }),
    ...(given.encoding && { "content-encoding": given.encoding }),
    ...given.headers,
  };
  response.writeHead(given.status, Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null)));
  if (given.cut === undefined) return response.end(body);
  return response.write(body.subarray(0, Math.floor(given.cut * body.length)), () => response.destroy());
}

export async function setUp() {
  if (server !== undefined) return;
  server = createServer({ keepAliveTimeout: 100 }, (request, response) => {
    response.on("error", () => {});
    try {
      answer(request, response);
    } catch {
      response.destroy(); // headers that Node refuses to send
    }
  });
  server.unref();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
}

function expected(version, { offset, bytes }) {
  return Buffer.from(VERSIONS[version].subarray(offset, offset + bytes));
}

export async function run(random) {
  const kinds = Object.keys(MISBEHAVIORS);
  const changesAt = random.chance(0.3) ? random.int(5) : Infinity;
  let requests = 0;
  behavior = {
    random,
    version: () => (requests++ < changesAt ? 0 : 1),
    misbehaviors: Array.from({ length: random.int(4) }, () => ({
      kind: random.pick(kinds),
      likely: random.pick([0.3, 1]),
    })),
  };
  const { stored: _, ...store } = fakeOpfs();
  const options = {
    retries: random.chance(0.05) ? 1 : 0,
    timeout: 150,
    ...(random.chance(0.5) && { cache: "opfs" }),
    ...(random.chance(0.3) && { headers: { "x-api-key": "secret" } }),
  };
  for (let load = 0; load < (options.cache ? 2 : 1); load++) {
    try {
      const model = await openModel(
        { ...fetchOnly, ...store },
        `http://127.0.0.1:${server.address().port}/m.gguf`,
        options,
      );
      const read = await readWhole(model);
      const isVersion = (version) =>
        [...read].every(([tensor, bytes]) =>
          expected(version, model.tensors.get(tensor)).equals(Buffer.from(bytes.buffer)),
        );
      assert.ok(
        isVersion(0) || isVersion(1),
        `wrong bytes after ${JSON.stringify({ ...behavior, changesAt, options })}`,
      );
    } catch (error) {
      if (error.name !== "RopewalkError")
        throw new Error(`after ${JSON.stringify({ ...behavior, changesAt, options })}`, { cause: error });
    }
  }
}
