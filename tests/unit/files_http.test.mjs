// Servers that answer otherwise than they should: never a wrong byte, and an error that says what happened.
import assert from "node:assert/strict";
import test from "node:test";
import { ggufBytes } from "../files/gguf_writer.mjs";
import { bare, expectError, expectWhole, openModel, readWhole } from "../files/reading.mjs";
import { answer, serve } from "../files/server.mjs";
import { ggufModel } from "../files/tiny_models.mjs";

// Larger than what is read at first (1 MB), so that tensors take requests of their own.
const bytes = ggufBytes(ggufModel({ large: 3 << 20 }));
const field = "m.gguf: download";
const open = ({ url }, options) => openModel(bare, `${url}m.gguf`, { retries: 0, ...options });
const server = (t, misbehave) => serve(t, { "m.gguf": bytes }, misbehave);

test("the header by a small range, all tensors by one", async (t) => {
  const served = await server(t);
  const model = await open(served);
  await expectWhole(model);
  assert.deepEqual(
    served.asked.map(({ start, end }) => [start, end]),
    [
      [0, 1 << 20],
      [1 << 20, dataEnd(model)],
    ],
  );
  assert.ok(served.asked.every(({ headers }) => headers["accept-encoding"] === "identity"));
});

const dataEnd = (model) => Math.max(...[...model.tensors.values()].map(({ offset, bytes: length }) => offset + length));

test("one tensor takes no more than its bytes", async (t) => {
  const served = await server(t);
  const model = await open(served);
  const scalar = model.tensors.get("scalar");
  await readWhole(model, [scalar, scalar]);
  assert.deepEqual(
    served.asked.slice(1).map(({ start, end }) => [start, end]),
    [[scalar.offset, scalar.offset + 4]],
  );
});

test("request headers go along", async (t) => {
  const served = await server(t);
  await expectWhole(await open(served, { headers: { Authorization: "Bearer x" } }));
  assert.ok(served.asked.every(({ headers }) => headers.authorization === "Bearer x"));
});

test("a server that ignores ranges", async (t) => {
  for (const headers of [{}, { "content-length": null }]) {
    const served = await server(t, ({ bytes, response }) => (answer(response, bytes, undefined, { headers }), true));
    const model = await open(served);
    await expectWhole(model);
    assert.equal(served.asked.length, 2, "the tensors in one stream");
    await readWhole(model, [model.tensors.get("scalar")]);
  }
});

test("a server that ignores ranges and breaks off", async (t) => {
  const served = await server(t, ({ bytes, response, count }) => {
    if (count !== 2) return (answer(response, bytes, undefined), true);
    response.writeHead(200, { "content-length": bytes.length });
    response.write(bytes.subarray(0, 2 << 20), () => response.destroy());
    return true;
  });
  await expectWhole(await open(served, { retries: 1 }));
});

test("a server that hides its headers from other origins", async (t) => {
  const hidden = { etag: null, "content-range": null };
  const served = await server(
    t,
    ({ bytes, start, end, response }) => (answer(response, bytes, { start, end }, { headers: hidden }), true),
  );
  await expectWhole(await open(served));
});

test("a server that gives less than asked, each time", async (t) => {
  const served = await server(
    t,
    ({ bytes, start, end, response }) => (answer(response, bytes, { start, end: Math.min(end, start + 500000) }), true),
  );
  await expectWhole(await open(served));
});

test("a server that says less than it sends", async (t) => {
  const served = await server(t, ({ bytes, start, end, response, count }) => {
    if (count === 1) return false;
    const told = Math.min(start + 200000, end);
    response.writeHead(206, { "content-range": `bytes ${start}-${told - 1}/${bytes.length}` });
    response.end(Buffer.concat([bytes.subarray(start, told), Buffer.alloc(50000)])); // what follows is not of the file
    return true;
  });
  await expectWhole(await open(served));
});

test("a connection that breaks goes on where it broke", async (t) => {
  const breaks = [1, 2];
  const served = await server(t, ({ bytes, start, end, response, count }) => {
    if (!breaks.includes(count)) return false;
    response.writeHead(206, {
      "content-length": end - start,
      "content-range": `bytes ${start}-${end - 1}/${bytes.length}`,
    });
    response.write(bytes.subarray(start, start + 300000), () => response.destroy());
    return true;
  });
  const model = await open(served, { retries: 2 });
  const loaded = [];
  await expectWhole(model, { onProgress: (progress) => loaded.push(progress) });
  assert.ok(loaded.every((progress, i) => i === 0 || progress.loaded >= loaded[i - 1].loaded));
  assert.deepEqual(loaded.at(-1), { loaded: model.bytes, total: model.bytes });
  const starts = served.asked.map(({ start }) => start);
  assert.ok(starts[1] > 0 && starts[1] <= 300000, `begins again at ${starts[1]}`);
});

test("progress between failures begins their count anew", async (t) => {
  const long = { "m.gguf": ggufBytes(ggufModel({ large: 6 << 20 })) };
  const served = await serve(t, long, ({ bytes, start, end, response }) => {
    response.writeHead(206, {
      "content-length": end - start,
      "content-range": `bytes ${start}-${end - 1}/${bytes.length}`,
    });
    if (end - start <= 1 << 20) return (response.end(bytes.subarray(start, end)), true);
    response.write(bytes.subarray(start, start + 1_200_000), () => setTimeout(() => response.destroy(), 50));
    return true;
  });
  await expectWhole(await open(served, { retries: 1 }));
  assert.ok(served.asked.length > 4, `${served.asked.length} requests`);
});

test("a connection that breaks each time", async (t) => {
  let breaks = false;
  const served = await server(t, ({ response }) => breaks && (response.destroy(), true));
  const model = await open(served, { retries: 1 });
  breaks = true;
  const start = performance.now();
  await expectError(readWhole(model), "NETWORK", field, /after 2 attempts/);
  assert.ok(performance.now() - start >= 450, "with a pause between");
  breaks = false;
  await expectWhole(model);
});

test("a server that is not there", async (t) => {
  const served = await server(t);
  served.server.closeAllConnections();
  await new Promise((resolve) => served.server.close(resolve));
  await expectError(open(served), "NETWORK", field, /cannot be reached: .*ECONNREFUSED/);
});

test("answers that pass are asked for again", async (t) => {
  await Promise.all(
    [408, 429, 500, 502, 503, 504].map(async (status) => {
      const served = await server(
        t,
        ({ response, count }) => count === 1 && (response.writeHead(status).end("later"), true),
      );
      await expectWhole(await open(served, { retries: 1 }));
    }),
  );
  const busy = await server(t, ({ response }) => (response.writeHead(503).end(), true));
  await expectError(open(busy), "NETWORK", field, /503/);
});

const busyOnce = (t, wait, status = 429) =>
  server(
    t,
    ({ response, count }) => count === 1 && (response.writeHead(status, { "retry-after": wait }).end("later"), true),
  );

test("a pause that the server asks for is kept", async (t) => {
  for (const [wait, least] of [
    ["2", 1990],
    [() => new Date(Date.now() + 3000).toUTCString(), 1990],
  ]) {
    const served = await busyOnce(t, typeof wait === "function" ? wait() : wait, 503); // a date has whole seconds
    const start = performance.now();
    await open(served, { retries: 1 });
    const waited = performance.now() - start;
    assert.ok(waited >= least && waited < 6000, `${waited} ms`);
  }
});

test("one that is none, or over, shortens no pause of ours; one that is too long ends reading at once", async (t) => {
  for (const wait of ["0", "soon", "-5", new Date(Date.now() - 9000).toUTCString()]) {
    const start = performance.now();
    await open(await busyOnce(t, wait), { retries: 1 });
    const waited = performance.now() - start;
    assert.ok(waited >= 490 && waited < 1500, `${wait}: ${waited} ms`);
  }
  const served = await busyOnce(t, "3600");
  await expectError(open(served, { retries: 3 }), "NETWORK", field, /answered 429 and asked for 3600 s.* too long/);
  assert.equal(served.asked.length, 1);
});

const refusals = [
  [404, "m.gguf: file", /404: there is no such file/],
  [410, "m.gguf: file", /410/],
  [401, field, /401: .*headers/],
  [403, field, /403: .*headers/],
  [418, field, /418/],
  [304, field, /304/],
];

test("answers that do not pass are not", async (t) => {
  for (const [status, where, message] of refusals) {
    const served = await server(t, ({ response }) => (response.writeHead(status).end(), true));
    await expectError(open(served, { retries: 3 }), "NETWORK", where, message);
    assert.equal(served.asked.length, 1, `${status}`);
  }
});

test("an HTML page, at once or later", async (t) => {
  const page = (response) => response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>");
  await expectError(
    open(await server(t, ({ response }) => (page(response), true))),
    "NETWORK",
    "m.gguf: file",
    /HTML page/,
  );
  const plain = await server(
    t,
    ({ response }) => (response.writeHead(200).end("<html><p>a page without its type"), true),
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
    /answered with "bytes/,
  ],
  [
    "a range backwards",
    ({ start, bytes }) => ({ headers: { "content-range": `bytes ${start}-${start - 1}/${bytes.length}` } }),
    /answered with "bytes/,
  ],
  [
    "a range past the end",
    ({ start, end }) => ({ headers: { "content-range": `bytes ${start}-${end - 1}/${end - 5}` } }),
    /answered with "bytes/,
  ],
  ["a range that is none", () => ({ headers: { "content-range": "bytes all" } }), /answered with "bytes all/],
  [
    "another length",
    ({ start, end, bytes }) => ({ headers: { "content-range": `bytes ${start}-${end - 1}/${bytes.length + 1}` } }),
    /changed on the server: \d+ bytes/,
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

test("later answers that do not fit the first", async (t) => {
  for (const [what, change, message] of wrongLater) {
    await t.test(what, async (t) => {
      const model = await open(await server(t, later(change)), { retries: 3 });
      let written = 0;
      await expectError(
        model.read(model.tensors.values(), (tensor, offset, chunk) => (written += chunk.length)),
        "NETWORK",
        field,
        message,
      );
      assert.ok(written <= 1 << 20, "none of its bytes");
    });
  }
});

test("the whole of another file, where a range was asked for", async (t) => {
  const model = await open(
    await server(
      t,
      ({ bytes, response, count }) => count > 1 && (answer(response, bytes.subarray(100), undefined), true),
    ),
  );
  await expectError(readWhole(model), "NETWORK", field, /changed on the server/);
});

test("a file without a length that ends within its tensors", async (t) => {
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
  await expectError(readWhole(model), "INVALID_FILE", "m.gguf: scalar", /ends at byte 2097152/);
});

/** Answers requests from the `at`th on with 1,000 bytes of what is asked for, and no end. */
const stalled =
  (at) =>
  ({ bytes, start, end, response, count }) => {
    if (count < at) return false;
    response.writeHead(206, {
      "content-length": end - start,
      "content-range": `bytes ${start}-${end - 1}/${bytes.length}`,
    });
    response.write(bytes.subarray(start, start + 1000));
    return true;
  };

async function expectClosed({ unfinished }) {
  for (let i = 0; i < 100 && unfinished.size > 0; i++) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(unfinished.size, 0, "responses left open");
}

test("a signal stops reading and retrying, and closes the connection", async (t) => {
  const reason = new Error("enough");
  const after = (milliseconds) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), milliseconds);
    return controller.signal;
  };
  const opening = await server(t, stalled(1));
  await assert.rejects(open(opening, { signal: after(50) }), reason);
  await expectClosed(opening);

  const reading = await server(t, stalled(2));
  const model = await open(reading);
  await assert.rejects(readWhole(model, model.tensors.values(), { signal: after(50) }), reason);
  await expectClosed(reading);

  const silent = await server(t, ({ count }) => count > 1); // never answers
  const waiting = await open(silent);
  await assert.rejects(readWhole(waiting, waiting.tensors.values(), { signal: after(50) }), reason);
  await expectClosed(silent);

  const busy = await server(t, ({ response }) => (response.writeHead(503).end(), true));
  await assert.rejects(open(busy, { retries: 10, signal: after(50) }), reason);
  assert.equal(busy.asked.length, 1, "within the pause");
  await assert.rejects(open(busy, { signal: AbortSignal.abort(reason) }), reason);
});

test("a server that goes silent is asked again, and given up in the end", async (t) => {
  const silent = ({ count }) => count <= 2;
  const recovered = await server(t, silent);
  await expectWhole(await open(recovered, { retries: 2, timeout: 1000 }));
  assert.equal(recovered.asked.length, 4, "two in vain, the header, the tensors");

  await expectError(
    open(await server(t, () => true), { retries: 1, timeout: 50 }),
    "NETWORK",
    field,
    /sent nothing for 0\.05 s, after 2 attempts/,
  );

  const cut = await server(t, stalled(2));
  const model = await open(cut, { retries: 1, timeout: 1000 });
  await expectError(readWhole(model), "NETWORK", field, /sent nothing for 1 s, after 2 attempts/);
  assert.deepEqual(
    cut.asked.slice(1).map(({ start }) => start),
    [1 << 20, (1 << 20) + 1000],
    "what had come is kept",
  );
  await expectClosed(cut);
  for (const timeout of [0, -1, 0.5, 2 ** 31]) await expectError(open(cut, { timeout }), "INVALID_ARGUMENT", "timeout");
});

test("a reader that takes its time is no silent server", async (t) => {
  const model = await open(await server(t), { timeout: 1000 });
  let pauses = 0;
  const write = () => {
    if (pauses++ < 2) for (const start = performance.now(); performance.now() - start < 1200;);
  };
  await model.read(model.tensors.values(), write);
  assert.ok(pauses >= 2);
});

test("what `write` throws closes the connection and comes out", async (t) => {
  const served = await server(t);
  const model = await open(served);
  const full = new Error("no memory");
  await assert.rejects(
    model.read(model.tensors.values(), () => {
      throw full;
    }),
    full,
  );
  await expectClosed(served);
  await expectWhole(model);
});
