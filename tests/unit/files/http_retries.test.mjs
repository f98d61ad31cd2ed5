// Connections that break, servers that are busy or silent, and aborts: retries, pauses, timeouts, closed connections.
import assert from "node:assert/strict";
import test from "node:test";
import { ggufBytes } from "../../files/gguf_writer.mjs";
import { expectError, expectIntact, readWhole } from "../../files/reading.mjs";
import { field, open, server } from "../../files/served_model.mjs";
import { answer, serve } from "../../files/server.mjs";
import { ggufModel } from "../../files/tiny_models.mjs";

test("a connection that breaks, to a server that ignores ranges", async (t) => {
  const served = await server(t, ({ bytes, response, count }) => {
    if (count !== 2) return (answer(response, bytes, undefined), true);
    response.writeHead(200, { "content-length": bytes.length });
    response.write(bytes.subarray(0, 2 << 20), () => response.destroy());
    return true;
  });
  await expectIntact(await open(served, { retries: 1 }));
});

test("a broken download resumes where it stopped", async (t) => {
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
  await expectIntact(model, { onProgress: (progress) => loaded.push(progress) });
  assert.ok(loaded.every((progress, i) => i === 0 || progress.loaded >= loaded[i - 1].loaded));
  assert.deepEqual(loaded.at(-1), { loaded: model.bytes, total: model.bytes });
  const starts = served.requests.map(({ start }) => start);
  assert.ok(starts[1] > 0 && starts[1] <= 300000, `resumes at ${starts[1]}`);
});

test("progress between failures resets their count", async (t) => {
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
  await expectIntact(await open(served, { retries: 1 }));
  assert.ok(served.requests.length > 4, `${served.requests.length} requests`);
});

test("a connection that breaks every time", async (t) => {
  let breaks = false;
  const served = await server(t, ({ response }) => breaks && (response.destroy(), true));
  const model = await open(served, { retries: 1 });
  breaks = true;
  const start = performance.now();
  await expectError(readWhole(model), "NETWORK", field, /after 2 attempts/);
  assert.ok(performance.now() - start >= 450, "pauses between attempts");
  breaks = false;
  await expectIntact(model);
});

test("a server that is down", async (t) => {
  const served = await server(t);
  served.server.closeAllConnections();
  await new Promise((resolve) => served.server.close(resolve));
  await expectError(open(served), "NETWORK", field, /cannot reach the server: .*ECONNREFUSED/);
});

test("temporary failures are retried", async (t) => {
  await Promise.all(
    [408, 429, 500, 502, 503, 504].map(async (status) => {
      const served = await server(
        t,
        ({ response, count }) => count === 1 && (response.writeHead(status).end("later"), true),
      );
      await expectIntact(await open(served, { retries: 1 }));
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

test("Retry-After is honored", async (t) => {
  for (const [wait, least] of [
    ["2", 1990],
    [() => new Date(Date.now() + 3000).toUTCString(), 1990],
  ]) {
    const served = await busyOnce(t, typeof wait === "function" ? wait() : wait, 503); // dates have whole seconds
    const start = performance.now();
    await open(served, { retries: 1 });
    const waited = performance.now() - start;
    assert.ok(waited >= least && waited < 6000, `${waited} ms`);
  }
});

test("an invalid or past Retry-After does not shorten the pause, one that is too long ends the download", async (t) => {
  for (const wait of ["0", "soon", "-5", new Date(Date.now() - 9000).toUTCString()]) {
    const start = performance.now();
    await open(await busyOnce(t, wait), { retries: 1 });
    const waited = performance.now() - start;
    assert.ok(waited >= 490 && waited < 1500, `${wait}: ${waited} ms`);
  }
  const served = await busyOnce(t, "3600");
  await expectError(
    open(served, { retries: 3 }),
    "NETWORK",
    field,
    /status 429, and the server asked to wait 3600 s, more than the limit/,
  );
  assert.equal(served.requests.length, 1);
});

/** From the `at`th request on, sends 1,000 bytes of the range and keeps the connection open. */
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

test("aborting stops reading and retrying, and closes the connection", async (t) => {
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
  assert.equal(busy.requests.length, 1, "aborted during the pause");
  await assert.rejects(open(busy, { signal: AbortSignal.abort(reason) }), reason);
});

test("a silent server is retried, then the download fails", async (t) => {
  const silent = ({ count }) => count <= 2;
  const recovered = await server(t, silent);
  await expectIntact(await open(recovered, { retries: 2, timeout: 1000 }));
  assert.equal(recovered.requests.length, 4, "two failures, the header, the tensors");

  await expectError(
    open(await server(t, () => true), { retries: 1, timeout: 50 }),
    "NETWORK",
    field,
    /sent nothing for 0\.05 s, and gave up after 2 attempts; try again later/,
  );

  const cut = await server(t, stalled(2));
  const model = await open(cut, { retries: 1, timeout: 1000 });
  await expectError(
    readWhole(model),
    "NETWORK",
    field,
    /sent nothing for 1 s, and gave up after 2 attempts; try again later/,
  );
  assert.deepEqual(
    cut.requests.slice(1).map(({ start }) => start),
    [1 << 20, (1 << 20) + 1000],
    "resumes after the received bytes",
  );
  await expectClosed(cut);
  for (const timeout of [0, -1, 0.5, 2 ** 31]) await expectError(open(cut, { timeout }), "INVALID_ARGUMENT", "timeout");
});

test("a slow reader does not cause a timeout", async (t) => {
  const model = await open(await server(t), { timeout: 1000 });
  let pauses = 0;
  const write = () => {
    if (pauses++ < 2) for (const start = performance.now(); performance.now() - start < 1200;);
  };
  await model.read(model.tensors.values(), write);
  assert.ok(pauses >= 2);
});

test("an error thrown by `write` rejects the promise and closes the connection", async (t) => {
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
  await expectIntact(model);
});
