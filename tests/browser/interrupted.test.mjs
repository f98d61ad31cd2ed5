// What Chromium does to a page that runs a model: its tab is hidden, its service worker is replaced or stopped while pieces of a download are
// written, its Worker is ended.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ggufBytes, typed } from "../files/gguf_writer.mjs";
import { wideModel } from "../files/wide_model.mjs";
import { open, withBrowser } from "./browsers.mjs";
import { serve } from "./server.mjs";
import { makeFolder, removeFolder, root, unpackPackage } from "./tarball.mjs";

const PIECE = 16 << 20;
const LAYERS = 34; // three pieces
const model = deepModel();

/** The wide model with many layers, which are alike. */
function deepModel() {
  const { metadata, tensors } = wideModel();
  const layers = Array.from({ length: LAYERS }, (_, layer) =>
    tensors
      .filter(({ name }) => name.startsWith("blk.0."))
      .map((tensor) => ({ ...tensor, name: tensor.name.replace("blk.0.", `blk.${layer}.`) })),
  );
  return ggufBytes({
    metadata: { ...metadata, "llama.block_count": typed("u32", LAYERS) },
    tensors: [...tensors.filter(({ name }) => !name.startsWith("blk.0.")), ...layers.flat()],
  });
}

/** A server of models that waits when it has sent so much of a file. */
const models = { waitsAt: Infinity, sent: [], reached: Promise.resolve(), go: () => undefined };
const server = createServer(async (request, response) => {
  const [, first, last] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? "bytes=0-");
  const end = Math.min(last === "" ? model.length : Number(last) + 1, model.length);
  response.setMaxListeners(0).on("error", () => undefined);
  response.writeHead(request.method === "OPTIONS" ? 204 : 206, {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "range",
    "Access-Control-Expose-Headers": "Content-Range, ETag, Content-Length",
    "Cross-Origin-Resource-Policy": "cross-origin",
    ETag: '"1"',
    "Content-Range": `bytes ${first}-${end - 1}/${model.length}`,
    "Content-Length": end - Number(first),
    "Cache-Control": "no-store",
  });
  if (request.method === "OPTIONS") return response.end();
  models.sent.push([Number(first), end]);
  for (let at = Number(first); at < end && !response.destroyed; at += 1 << 20) {
    if (at >= models.waitsAt) await models.wait();
    if (!response.write(model.subarray(at, Math.min(at + (1 << 20), end)))) await Promise.race([once(response, "drain"), once(response, "close")]); // prettier-ignore
  }
  response.end();
});

/** Lets the server stop in the middle of the second piece. Resolves when it has. */
function stopInSecondPiece() {
  models.waitsAt = PIECE + PIECE / 2;
  const gate = new Promise((resolve) => (models.go = resolve));
  return new Promise((resolve) => {
    models.wait = async () => {
      models.waitsAt = Infinity;
      resolve();
      await gate;
    };
  });
}

let site, folder, pages, address;

before(async () => {
  folder = await makeFolder();
  pages = join(folder, "pages");
  await mkdir(pages);
  await writeFile(join(pages, "index.html"), "<!doctype html><title>An app</title>");
  const csp = "object-src 'none'";
  site = await serve({
    "/": { folder: pages, csp },
    "/package/": { folder: await unpackPackage(folder), csp },
    "/models/": { folder: join(root, "tests", "golden", "tiny_models"), csp },
  });
  await new Promise((resolve) => server.listen(0, "localhost", resolve));
  address = `http://localhost:${server.address().port}/model.gguf`;
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await site?.close();
  await removeFolder(folder);
});

/** Writes a service worker that passes everything on, with headers, as those that isolate pages do. */
const writeServiceWorker = (version, respond = "pass(event.request)") =>
  writeFile(
    join(pages, "service_worker.js"),
    `// version ${version}
    const pass = async (request) => {
      const { status, statusText, headers, body } = await fetch(request);
      return new Response(body, { status, statusText, headers: new Headers([...headers, ["Cross-Origin-Embedder-Policy", "require-corp"]]) });
    };
    addEventListener("install", () => skipWaiting());
    addEventListener("activate", (event) => event.waitUntil(clients.claim()));
    addEventListener("fetch", (event) => event.respondWith(${respond}));`,
  );

/** In a page: registers the service worker. Resolves when the page has it. */
async function controlled() {
  const { serviceWorker } = navigator;
  const changed = new Promise((resolve) => serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
  await serviceWorker.register("/service_worker.js");
  await changed;
}

/** Replaces the service worker of a page while the old one answers, which ends its answer: the page has the new one then. */
async function replaceServiceWorker(page) {
  const changed = page.evaluate(async () => {
    const { serviceWorker } = navigator;
    const changed = new Promise((resolve) =>
      serviceWorker.addEventListener("controllerchange", resolve, { once: true }),
    );
    const registration = await serviceWorker.ready;
    const isUpdated = () =>
      registration.update().then(
        () => true,
        () => false, // one that was just stopped can't be started at once
      );
    while (!(await isUpdated())) await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.isInstalled = true;
    await changed;
  });
  await page.waitForFunction(() => globalThis.isInstalled, { polling: 20 });
  const client = await page.createCDPSession();
  await client.send("ServiceWorker.enable");
  await client.send("ServiceWorker.stopAllWorkers"); // Chromium waits for the answers of the old one, for a while
  await changed;
}

/** In a page: loads the model and generates. Returns what happened, and what is kept. */
async function load(entry, address, options) {
  const { load } = await import(`/package/dist/${entry}.js`);
  const rw = await load();
  const warnings = [];
  const onWarning = (text) => warnings.push(text);
  let tokens, error;
  try {
    const model = await rw.model(address, { cache: "opfs", onWarning, ...options });
    tokens = [];
    for await (const { token } of model.generate([5, 6, 7], { maxTokens: 5, temperature: 0, ignoreEnd: true }))
      tokens.push(token);
    await model.dispose();
  } catch ({ code, field, message }) {
    error = { code, field, message };
  }
  const kept = (await rw.cachedModels()).reduce((sum, { bytes }) => sum + bytes, 0);
  await rw.dispose?.();
  return { tokens, error, warnings, kept, visibility: document.visibilityState };
}

const inChromium = (use) => () =>
  withBrowser("chromium", async (browser) => {
    models.sent.length = 0;
    const { page } = await open(browser, `${site.origin}/index.html`);
    await use(page, browser);
  });

const EXPECTED = { warnings: [], kept: model.length };

test(
  "a service worker that is replaced while pieces are written",
  inChromium(async (page) => {
    await writeServiceWorker(1);
    await page.evaluate(controlled);
    const stopped = stopInSecondPiece();
    const loading = page.evaluate(load, "worker", address);
    await stopped;
    await writeServiceWorker(2);
    await replaceServiceWorker(page);
    models.go();
    const { tokens, visibility: _, ...loaded } = await loading;
    assert.deepEqual(loaded, EXPECTED);
    const before = models.sent.length;
    const again = await page.evaluate(load, "worker", address);
    assert.deepEqual(again.tokens, tokens);
    assert.deepEqual(again.warnings, []);
    assert.deepEqual(models.sent.slice(before), [[0, 1]], "only the check for changes");
  }),
);

test(
  "a service worker that fails after an update: the error says so, and what was written stays",
  inChromium(async (page) => {
    await writeServiceWorker(1);
    await page.evaluate(controlled);
    const stopped = stopInSecondPiece();
    const loading = page.evaluate(load, "worker", address, { retries: 1 });
    await stopped;
    const failing = `/model/.test(event.request.url) ? new Response("<p>offline", { status: 502, headers: { "Content-Type": "text/html" } }) : pass(event.request)`;
    await writeServiceWorker(2, failing);
    await replaceServiceWorker(page);
    models.go();
    const { error, kept } = await loading;
    assert.equal(error.code, "NETWORK");
    assert.match(error.message, /^model\.gguf: download: .*502/);
    assert.equal(kept, PIECE);
    await writeServiceWorker(3);
    await replaceServiceWorker(page);
    const before = models.sent.length;
    const { tokens, visibility: _, ...again } = await page.evaluate(load, "worker", address);
    assert.deepEqual(again, EXPECTED);
    assert.equal(tokens.length, 5);
    assert.ok(
      models.sent.slice(before + 1).every(([first]) => first >= PIECE),
      "only what is missing",
    );
  }),
);

test(
  "a tab that is hidden, and stays so",
  inChromium(async (page, browser) => {
    await page.evaluate(() => (globalThis.requestAnimationFrame = () => 0)); // as in a hidden tab
    const texts = [];
    for (const entry of ["worker", "index"]) {
      const stopped = stopInSecondPiece();
      const loading = page.evaluate(load, entry, `${address}?${entry}`);
      await stopped;
      const other = await browser.newPage();
      await other.bringToFront();
      models.go();
      const { tokens, visibility, ...loaded } = await loading;
      texts.push(tokens);
      assert.deepEqual([visibility, loaded.error, loaded.warnings], ["hidden", undefined, []]);
    }
    assert.deepEqual(texts[0], texts[1]);
  }),
);

test(
  "a Worker that is ended without an event",
  inChromium(async (page) => {
    for (const isBusy of [true, false]) {
      await page.evaluate(async (isBusy) => {
        const { load } = await import("/package/dist/worker.js");
        const rw = await load();
        const session = await (await rw.model("/models/llama/model.gguf")).session({ contextLength: 20000 });
        const reading = isBusy ? session.append(new Array(19000).fill(5)) : session.append([5]);
        if (!isBusy) await reading;
        globalThis.one = { rw, session, reading };
      }, isBusy);
      const [worker] = page.workers();
      await worker.evaluate(() => close());
      const errors = await page.evaluate(async () => {
        const { rw, session, reading } = globalThis.one;
        const thrown = (promise) =>
          promise.then(
            () => undefined,
            (error) => error,
          );
        const errors = [
          await rw.ended,
          await thrown(reading),
          await thrown(session.append([5])),
          await thrown(rw.memoryBytes),
        ];
        await session.dispose();
        await rw.dispose();
        return errors.map((error) => error && [error.name, error.code, error.field, error.message]);
      });
      for (const error of errors.filter((_, i) => isBusy || i !== 1)) {
        assert.deepEqual(error.slice(0, 3), ["RopewalkError", "THREAD_LOST", "worker"]);
        assert.match(error[3], /the Worker has ended: .*; call load\(\) and load the model again/);
      }
    }
  }),
);
