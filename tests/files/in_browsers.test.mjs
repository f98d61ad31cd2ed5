// Reads models in real browsers, in a page and a Worker: OPFS, Cache API, Blobs and cross-origin responses.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { BROWSERS, hasOpfs, withBrowser } from "../browser/browsers.mjs";
import { ggufBytes } from "./gguf_writer.mjs";
import { answer } from "./server.mjs";
import { ggufModel } from "./tiny_models.mjs";

const model = ggufModel({ large: 40 << 20 }); // three pieces of a cache
const bytes = ggufBytes(model);
const expected = createHash("sha256")
  .update(Buffer.concat(model.tensors.map(({ data }) => data)))
  .digest("hex");

/** Runs in a page or a Worker: reads a model, returns a digest of all tensors in file order and the warnings. */
const task = `
import { cachedModels, deleteCachedModel, openModel, webFiles } from "/files.js";
export const list = () => cachedModels(webFiles);
export const remove = (source) => deleteCachedModel(webFiles, source);
export async function run({ source, ...options }) {
  const warnings = [];
  const model = await openModel(webFiles, source, { ...options, onWarning: (message) => warnings.push(message) });
  const all = new Uint8Array(model.bytes);
  let filled = 0;
  await model.read(model.tensors.values(), (tensor, offset, chunk) => {
    all.set(chunk, filled);
    filled += chunk.length;
  });
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return { digest: [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join(""), warnings };
}`;
const worker = 'import { run } from "/run.js"; onmessage = async ({ data }) => postMessage(await run(data));';

async function bundled() {
  const contents = [
    'export * from "./cache/models.js"',
    'export { openModel } from "./model_files.js"',
    'export { webFiles } from "./platform.js"',
  ].join(";");
  const resolveDir = fileURLToPath(new URL("../../build/package/runtime/files", import.meta.url));
  // platform: browser, so that an import from Node would fail
  const { outputFiles } = await build({
    stdin: { contents, resolveDir },
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
  });
  return outputFiles[0].text;
}

function listen(t, handle) {
  const server = createServer(handle);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}/`)),
  );
}

/** Serves the model with extra `headers`, and records the requests. */
function modelServer(headers) {
  const requests = [];
  return {
    requests,
    handle(request, response) {
      requests.push(request.method);
      if (request.method !== "GET") return response.writeHead(403).end(); // reject CORS preflights, as model hosts do
      const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
      answer(response, bytes, { start: Number(first), end: Math.min(Number(last) + 1, bytes.length) }, { headers });
    },
  };
}

const inPage = (page, options) => page.evaluate(async (options) => (await import("/run.js")).run(options), options);
const inWorker = (page, options) =>
  page.evaluate(
    (options) =>
      new Promise((resolve, reject) => {
        const thread = new Worker("/worker.js", { type: "module" });
        thread.onmessage = ({ data }) => resolve(data);
        thread.onerror = ({ message }) => reject(new Error(message));
        thread.postMessage(options);
      }),
    options,
  );

/** Damages every piece of a page's OPFS, and returns the names of all files there. */
const damageOpfs = (page) =>
  page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("ropewalk-models");
    const names = [];
    for await (const name of folder.keys()) names.push(name);
    for (const name of names.filter((name) => /-\d+$/.test(name))) {
      const handle = await folder.getFileHandle(name);
      const writable = await handle.createWritable({ keepExistingData: true });
      await writable.write({ type: "write", position: 70000, data: new Uint8Array(3) });
      await writable.close();
    }
    return names;
  });

const tasks = {
  async "a model that changes while two pages keep it, damaged pieces, and redirects with headers"(t, browser, name) {
    const texts = { "/files.js": await bundled(), "/run.js": task, "/worker.js": worker };
    const changed = bytes.map((byte, i) => (i < 2 << 20 ? byte : byte ^ 1));
    const versions = [bytes, changed];
    let requests = 0;
    let changesAt = Infinity;
    const seen = [];
    const other = await listen(t, (request, response) => {
      seen.push(request.headers);
      const allowed = { "access-control-allow-origin": "*", "access-control-allow-headers": "*, authorization" };
      if (request.method === "OPTIONS") return response.writeHead(204, allowed).end();
      const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range);
      return answer(
        response,
        bytes,
        { start: Number(first), end: Math.min(Number(last) + 1, bytes.length) },
        { headers: allowed },
      );
    });
    const url = await listen(t, (request, response) => {
      if (request.url === "/away.gguf") return response.writeHead(302, { location: `${other}m.gguf` }).end();
      if (request.url === "/near.gguf") return response.writeHead(302, { location: "/m.gguf" }).end();
      if (request.url === "/m.gguf") {
        const version = requests++ < changesAt ? 0 : 1;
        const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range);
        const etag = `"${version}"`;
        // a browser that completes an answer in its own cache must not get a range of another version
        const isSame = (request.headers["if-range"] ?? etag) === etag;
        const range = isSame ? { start: Number(first), end: Math.min(Number(last) + 1, bytes.length) } : undefined;
        return answer(response, versions[version], range, { headers: { etag } });
      }
      return response
        .writeHead(200, { "content-type": texts[request.url] === undefined ? "text/html" : "text/javascript" })
        .end(texts[request.url] ?? "<!doctype html><title>files</title>");
    });
    const pages = [await browser.newPage(), await browser.newPage()];
    for (const page of pages) await page.goto(url);
    const outcome = (page, options) =>
      inPage(page, { source: `${url}m.gguf`, cache: "opfs", ...options }).catch((error) => ({
        error: String(error),
      }));
    const digests = [expected, undefined];
    // the digest of the changed file
    changesAt = -1;
    digests[1] = (await outcome(pages[0], { cache: "none" })).digest;
    assert.notEqual(digests[1], expected);
    for (let round = 0; round < 2 && hasOpfs(name); round++) {
      [requests, changesAt] = [0, 2 + round];
      for (const { digest, error } of await Promise.all(pages.map((page) => outcome(page)))) {
        if (error === undefined) assert.ok(digests.includes(digest), "the bytes of one version");
        else assert.match(error, /changed on the server/);
      }
      assert.deepEqual(await outcome(pages[round]), { digest: digests[1], warnings: [] });
    }
    if (hasOpfs(name)) {
      const names = await damageOpfs(pages[0]);
      assert.equal(names.filter((kept) => /-\d+$/.test(kept)).length, 3, names.join());
      const { digest, warnings } = await outcome(pages[1]);
      assert.equal(digest, digests[1]);
      assert.equal(warnings.filter((warning) => /damaged; downloading them again/.test(warning)).length > 0, true);
    }

    const headers = { "x-api-key": "secret" };
    const away = await outcome(pages[0], { source: `${url}away.gguf`, cache: "none", headers, retries: 0 });
    assert.match(away.error, /redirects to another origin/);
    assert.ok(
      seen.every(
        (sent) => sent["x-api-key"] === undefined && !/x-api-key/.test(sent["access-control-request-headers"] ?? ""),
      ),
    );
    const near = await outcome(pages[0], { source: `${url}near.gguf`, cache: "none", headers });
    assert.equal(near.digest, digests[1]);
    const authorized = await outcome(pages[0], {
      source: `${url}away.gguf`,
      cache: "none",
      headers: { Authorization: "Bearer secret" },
    });
    if (authorized.error === undefined) assert.equal(authorized.digest, expected);
    assert.ok(seen.every((sent) => sent.authorization === undefined));
  },

  async "reads served, cached, dropped and cross-origin models"(t, browser, name) {
    const texts = { "/files.js": await bundled(), "/run.js": task, "/worker.js": worker };
    const own = modelServer({});
    const url = await listen(t, (request, response) => {
      if (request.url.endsWith(".gguf")) return own.handle(request, response);
      const text = texts[request.url];
      response
        .writeHead(200, { "content-type": text === undefined ? "text/html" : "text/javascript" })
        .end(text ?? "<!doctype html><title>files</title>");
    });
    const kinds = hasOpfs(name) ? ["opfs", "cache"] : ["cache"];
    const other = modelServer({ "access-control-allow-origin": "*" });
    const otherOrigin = await listen(t, other.handle);
    const page = await browser.newPage();
    await page.goto(url);
    for (const [where, run] of [
      ["page", inPage],
      ["worker", inWorker],
    ]) {
      for (const cache of ["none", ...kinds]) {
        const options = { source: `${url}${where}-${cache}.gguf`, cache };
        assert.deepEqual(await run(page, options), { digest: expected, warnings: [] }, `${where}, ${cache}`);
        own.requests.length = 0;
        assert.deepEqual(await run(page, options), { digest: expected, warnings: [] }, `${where}, ${cache}, again`);
        assert.equal(own.requests.length, cache === "none" ? 2 : 1, "cached pieces are not downloaded again");
      }
    }
    const list = () => page.evaluate(async () => (await import("/run.js")).list());
    const cached = ["page", "worker"].flatMap((where) =>
      kinds.map((cache) => ({
        source: `${url}${where}-${cache}.gguf`,
        cache,
        bytes: bytes.length,
        size: bytes.length,
      })),
    );
    const inOrder = (models) => models.toSorted((a, b) => (a.source < b.source ? -1 : 1));
    assert.deepEqual(inOrder(await list()), inOrder(cached), "lists models cached by the page and by the Worker");
    const named = [`page-${kinds[0]}.gguf`, "/worker-cache.gguf"];
    const removed = await page.evaluate(async ([first, second]) => {
      const { remove } = await import("/run.js");
      return [await remove(first), await remove(second), await remove(first)];
    }, named);
    assert.deepEqual(removed, [true, true, false]);
    const left = cached.filter(({ source }) => !named.some((end) => source.endsWith(end)));
    assert.deepEqual(inOrder(await list()), inOrder(left));
    own.requests.length = 0;
    assert.deepEqual(
      await inPage(page, { source: url + named[0], cache: kinds[0] }),
      { digest: expected, warnings: [] },
      "downloaded again after removal",
    );
    assert.ok(own.requests.length > 1);
    assert.deepEqual(await inPage(page, { source: `${otherOrigin}m.gguf`, cache: "none" }), {
      digest: expected,
      warnings: [],
    });
    assert.ok(
      other.requests.every((method) => method === "GET"),
      "no CORS preflight",
    );
    const dropped = await page.evaluate(async () => {
      const blob = await (await fetch("/dropped.gguf", { headers: { Range: "bytes=0-99999999" } })).blob();
      const { run } = await import("/run.js");
      const sources = [new File([blob], "m.gguf"), URL.createObjectURL(blob), await blob.arrayBuffer()];
      return Promise.all(sources.map((source) => run({ source })));
    });
    assert.deepEqual(dropped, Array(3).fill({ digest: expected, warnings: [] }));
  },
};

for (const name of BROWSERS)
  test(name, (t) =>
    withBrowser(
      name,
      async (browser) => {
        for (const [title, task] of Object.entries(tasks)) await t.test(title, (t) => task(t, browser, name));
      },
      { timeoutMs: 60_000 },
    ),
  );
