// Models in a Worker of a page with a strict Content-Security-Policy.
import assert from "node:assert/strict";
import { cp, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { BROWSERS, hasOpfs, open, runTask, withBrowser } from "./browsers.mjs";
import { serve, WASM_ANSWERS } from "./server.mjs";
import { makeFolder, removeFolder, root, unpackPackage } from "./tarball.mjs";

const models = join(root, "tests", "golden", "tiny_models");

let site, cdn, folder;

before(async () => {
  folder = await makeFolder();
  const unpacked = await unpackPackage(folder);
  const incomplete = join(folder, "incomplete");
  await cp(unpacked, incomplete, { recursive: true, filter: (path) => !path.endsWith("worker_thread.js") });
  cdn = await serve({ "/package/": { folder: unpacked, csp: "default-src 'none'", isShared: true } });
  const csp = `default-src 'none'; script-src 'self' 'wasm-unsafe-eval' ${cdn.origin}; worker-src blob: ${cdn.origin}; connect-src 'self' ${cdn.origin}`;
  const pages = join(root, "tests", "browser", "pages");
  site = await serve({
    "/with_cdn/": { folder: pages, csp },
    "/isolated_with_cdn/": { folder: pages, csp, isIsolated: true },
    "/pages/": { folder: pages },
    "/package/": { folder: unpacked },
    "/incomplete/": { folder: incomplete },
    "/node_modules/.vite/deps/": { folder: join(incomplete, "dist"), wasm: WASM_ANSWERS.page },
    "/node_modules/ropewalk/": { folder: unpacked },
    "/models/": { folder: models },
  });
});

after(async () => {
  await site?.close();
  await cdn?.close();
  await removeFolder(folder);
});

for (const name of BROWSERS)
  test(name, (t) =>
    withBrowser(name, async (browser) => {
      await t.test("ropewalk/worker", (t) => useWorker(t, browser, name));
      await t.test("a package on another origin", (t) => useOtherOrigin(t, browser, name));
      await t.test("scripts in the cache of Vite", () => useCachedScripts(browser));
    }),
  );

async function useOtherOrigin(t, browser, name) {
  for (const [prefix, threads] of Object.entries({ with_cdn: 1, isolated_with_cdn: 2 }))
    // in an isolated page, WebKit's Workers can't import from another origin
    await t.test(
      `${threads} ${threads === 1 ? "thread" : "threads"}`,
      { skip: threads > 1 && name === "webkit" },
      async () => {
        const { page } = await open(browser, `${site.origin}/${prefix}/model/index.html`);
        const dist = `${cdn.origin}/package/dist`;
        const entries = [
          ...["index", "worker", "worker_inline"].map((entry) => ({ entry: `${dist}/${entry}.js` })),
          { entry: "/incomplete/dist/worker.js", workerUrl: `${dist}/worker_thread.js` },
        ];
        const texts = await page.evaluate(generateWith, entries, threads);
        assert.equal(texts.length, 4);
        assert.ok(texts[0].length > 10);
        assert.deepEqual(new Set(texts), new Set([texts[0]]));
        await page.close();
      },
    );
}

/** The development server of Vite before 8 has the scripts of packages in a cache, without the files next to them. */
async function useCachedScripts(browser) {
  const { page } = await open(browser, `${site.origin}/pages/model/index.html`);
  const dist = "/node_modules/.vite/deps";
  const entries = ["index", "worker"].map((entry) => ({ entry: `${dist}/${entry}.js` }));
  const [text, inWorker] = await page.evaluate(generateWith, entries, 1);
  assert.equal(text.length, 30);
  assert.equal(inWorker, text);
  await page.close();
}

/** In a page: the text that each entry of the package generates with so many threads. An entry may have an option `workerUrl`. */
async function generateWith(entries, threads) {
  const texts = [];
  for (const { entry, ...options } of entries) {
    const { load } = await import(entry);
    const rw = await load({ build: "simd", threads, ...options });
    const model = await rw.model("/models/llama/model.gguf");
    let text = "";
    for await (const piece of model.generate("the cat", { seed: 7, maxTokens: 30, ignoreEnd: true }))
      text += piece.text;
    texts.push(text);
    await model.dispose();
    await rw.dispose?.();
  }
  return texts;
}

async function useWorker(t, browser, name) {
  const { page, complaints } = await open(browser, `${site.origin}/pages/model/index.html`);
  const run = (task, ...args) => runTask(page, task, ...args);

  await t.test("generates the same text as the page's thread, from an address, files and bytes", async () => {
    const { texts, sizes } = await run("sameText");
    assert.equal(texts.length, 7);
    assert.equal(texts[0].length, 30);
    for (const text of texts) assert.deepEqual(text, texts[0]);
    assert.ok(sizes[0] > 0);
    assert.equal(sizes[1], 0);
  });

  await t.test("reads the files of a safetensors folder", async () => {
    const [safetensors, gguf] = await run("safetensors");
    assert.ok(gguf.length > 0);
    assert.equal(safetensors, gguf);
  });

  await t.test("lists cached models and deletes them", async () => {
    const { steps, wrong } = await run("cached");
    const { size } = await stat(join(models, "llama", "model.gguf"));
    const expected = (cache) => {
      if (cache === "opfs" && !hasOpfs(name)) return [[], false, false, []];
      return [[{ source: `${site.origin}/models/llama/model.gguf`, cache, bytes: size, size }], true, false, []];
    };
    assert.deepEqual(steps, [...expected("opfs"), ...expected("cache"), ...expected("opfs"), ...expected("cache")]);
    assert.deepEqual(wrong, {
      isRopewalkError: true,
      name: "RopewalkError",
      code: "INVALID_ARGUMENT",
      field: "source",
    });
  });

  await t.test("an abort during generation leaves the session usable", async () => {
    assert.deepEqual(await run("abort"), { isReason: true, appended: 5, more: 3, finish: "length" });
  });

  await t.test("an abort reaches a busy Worker, and doesn't block the page", async () => {
    const { name, read, tokens, ticks } = await run("abortReading");
    assert.equal(name, "AbortError");
    assert.ok(read > 500 && read < 19000, `${read} tokens read`);
    assert.equal(tokens, read);
    assert.ok(ticks > 0);
  });

  await t.test("errors keep their class, code and field", async () => {
    const { full, damaged, missing, build, model, worker } = await run("errors");
    const error = (code, field) => ({ isRopewalkError: true, name: "RopewalkError", code, field });
    assert.deepEqual(full, error("CACHE_FULL", "tokens"));
    assert.deepEqual(build, error("INVALID_ARGUMENT", "build"));
    assert.deepEqual(model, error("DISPOSED", "model"));
    assert.deepEqual(worker, error("DISPOSED", "worker"));
    assert.equal(damaged.code, "INVALID_FILE");
    assert.equal(missing.isRopewalkError, true);
  });

  await t.test("two models generate at the same time", async () => {
    const { alone, together } = await run("twoModels");
    assert.deepEqual(together, alone);
    assert.notDeepEqual(alone[0], alone[1]);
  });

  await t.test("logs no errors or policy violations", async () => {
    assert.deepEqual(await run("violations"), []);
    assert.deepEqual(complaints, []);
  });

  await t.test("a missing Worker file is an error and doesn't hang", async () => {
    const { code, field } = await run("loadFrom", "/incomplete/dist/worker.js");
    assert.deepEqual({ code, field }, { code: "WASM_LOAD", field: "worker" });
  });
  await page.close();
}
