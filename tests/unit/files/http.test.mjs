// Range requests, and servers whose responses are unusual or wrong: never a wrong byte, and an error that says what happened.
import assert from "node:assert/strict";
import test from "node:test";
import { expectError, expectIntact, readWhole } from "../../files/reading.mjs";
import { bytes, field, open, server } from "../../files/served_model.mjs";
import { answer, serve } from "../../files/server.mjs";

test("one small range for the header, one range for all tensors", async (t) => {
  const served = await server(t);
  const model = await open(served);
  await expectIntact(model);
  assert.deepEqual(
    served.requests.map(({ start, end }) => [start, end]),
    [
      [0, 1 << 20],
      [1 << 20, dataEnd(model)],
    ],
  );
  assert.ok(served.requests.every(({ headers }) => headers["accept-encoding"] === "identity"));
});

const dataEnd = (model) => Math.max(...[...model.tensors.values()].map(({ offset, bytes: length }) => offset + length));

test("reading one tensor requests only its bytes", async (t) => {
  const served = await server(t);
  const model = await open(served);
  const scalar = model.tensors.get("scalar");
  await readWhole(model, [scalar, scalar]);
  assert.deepEqual(
    served.requests.slice(1).map(({ start, end }) => [start, end]),
    [[scalar.offset, scalar.offset + 4]],
  );
});

test("request headers are sent with every request", async (t) => {
  const served = await server(t);
  await expectIntact(await open(served, { headers: { Authorization: "Bearer x" } }));
  assert.ok(served.requests.every(({ headers }) => headers.authorization === "Bearer x"));
});

test("a server that ignores ranges", async (t) => {
  for (const headers of [{}, { "content-length": null }]) {
    const served = await server(t, ({ bytes, response }) => (answer(response, bytes, undefined, { headers }), true));
    const model = await open(served);
    await expectIntact(model);
    assert.equal(served.requests.length, 2, "all tensors in one stream");
    await readWhole(model, [model.tensors.get("scalar")]);
  }
});

test("a server whose headers CORS hides", async (t) => {
  const hidden = { etag: null, "content-range": null };
  const served = await server(
    t,
    ({ bytes, start, end, response }) => (answer(response, bytes, { start, end }, { headers: hidden }), true),
  );
  await expectIntact(await open(served));
});

test("a server that sends less than requested each time", async (t) => {
  const served = await server(
    t,
    ({ bytes, start, end, response }) => (answer(response, bytes, { start, end: Math.min(end, start + 500000) }), true),
  );
  await expectIntact(await open(served));
});

test("a server that sends more than its Content-Range says", async (t) => {
  const served = await server(t, ({ bytes, start, end, response, count }) => {
    if (count === 1) return false;
    const rangeEnd = Math.min(start + 200000, end);
    response.writeHead(206, { "content-range": `bytes ${start}-${rangeEnd - 1}/${bytes.length}` });
    response.end(Buffer.concat([bytes.subarray(start, rangeEnd), Buffer.alloc(50000)])); // zeros follow that aren't in the file
    return true;
  });
  await expectIntact(await open(served));
});

const refusals = [
  [404, "m.gguf: file", /m\.gguf: status 404, the file doesn't exist; check the URL$/],
  [410, "m.gguf: file", /410/],
  [401, field, /401, .*headers/],
  [403, field, /403, .*headers/],
  [418, field, /418/],
  [304, field, /304/],
];

test("permanent failures are not retried", async (t) => {
  for (const [status, where, message] of refusals) {
    const served = await server(t, ({ response }) => (response.writeHead(status).end(), true));
    await expectError(open(served, { retries: 3 }), "NETWORK", where, message);
    assert.equal(served.requests.length, 1, `${status}`);
  }
});

test("an HTML page for the first request, or for a later one", async (t) => {
  const page = (response) => response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>");
  await expectError(
    open(await server(t, ({ response }) => (page(response), true))),
    "NETWORK",
    "m.gguf: file",
    /HTML page/,
  );
  const plain = await server(
    t,
    ({ response }) => (response.writeHead(200).end("<html><p>a page without a Content-Type"), true),
  );
  await expectError(open(plain), "INVALID_FILE", "m.gguf: magic", /HTML page/);
  const later = await open(await server(t, ({ response, count }) => count > 1 && (page(response), true)));
  await expectError(readWhole(later), "NETWORK", field, /HTML page/);
});

test("an empty file", async (t) => {
  for (const headers of [{}, { range: true }]) {
    const served = await serve(
      t,
      { "m.gguf": new Uint8Array(0) },
      ({ response }) => !headers.range && (response.writeHead(200, { "content-length": 0 }).end(), true),
    );
    await assert.rejects(open(served), { name: "RopewalkError", message: /empty/ });
  }
});

const later =
  (change) =>
  ({ bytes, start, end, response, count }) =>
    count > 1 && (answer(response, bytes, { start, end }, change({ bytes, start, end })), true);

const wrongLater = [
  [
    "another range",
    ({ start, end, bytes }) => ({ headers: { "content-range": `bytes ${start + 1}-${end}/${bytes.length}` } }),
    /responded with Content-Range "bytes/,
  ],
  [
    "a range backwards",
    ({ start, bytes }) => ({ headers: { "content-range": `bytes ${start}-${start - 1}/${bytes.length}` } }),
    /responded with Content-Range "bytes/,
  ],
  [
    "a range past the end",
    ({ start, end }) => ({ headers: { "content-range": `bytes ${start}-${end - 1}/${end - 5}` } }),
    /responded with Content-Range "bytes/,
  ],
  [
    "an invalid range",
    () => ({ headers: { "content-range": "bytes all" } }),
    /responded with Content-Range "bytes all/,
  ],
  [
    "another length",
    ({ start, end, bytes }) => ({ headers: { "content-range": `bytes ${start}-${end - 1}/${bytes.length + 1}` } }),
    /changed on the server: it now has \d+ bytes/,
  ],
  ["another version", () => ({ headers: { etag: '"other"' } }), /changed on the server/],
  ["416", () => ({ status: 416, body: "" }), /no bytes from/],
  ["404", () => ({ status: 404, body: "" }), /404/],
  [
    "several ranges",
    () => ({ headers: { "content-type": "multipart/byteranges; boundary=x" } }),
    /one range with several/,
  ],
  ["compressed parts", () => ({ headers: { "content-encoding": "br" }, body: "" }), /compresses/],
];

test("later responses that do not match the first", async (t) => {
  for (const [title, change, message] of wrongLater) {
    await t.test(title, async (t) => {
      const model = await open(await server(t, later(change)), { retries: 3 });
      let written = 0;
      await expectError(
        model.read(model.tensors.values(), (tensor, offset, chunk) => (written += chunk.length)),
        "NETWORK",
        field,
        message,
      );
      assert.ok(written <= 1 << 20, "none of the wrong bytes");
    });
  }
});

test("a whole other file in response to a range request", async (t) => {
  const model = await open(
    await server(
      t,
      ({ bytes, response, count }) => count > 1 && (answer(response, bytes.subarray(100), undefined), true),
    ),
  );
  await expectError(readWhole(model), "NETWORK", field, /changed on the server/);
});

test("a file without a length that ends inside a tensor", async (t) => {
  let length = bytes.length;
  const served = await server(
    t,
    ({ bytes, response }) => (
      answer(response, bytes.subarray(0, length), undefined, { headers: { "content-length": null, etag: null } }),
      true
    ),
  );
  const model = await open(served);
  length = 2 << 20;
  await expectError(readWhole(model), "INVALID_FILE", "m.gguf: scalar", /file ends at byte 2097152/);
});
