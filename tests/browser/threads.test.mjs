// Threads in each browser, in pages that are isolated from other origins and in others.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BROWSERS, open, runTask, withBrowser, withPage } from "./browsers.mjs";
import { ENTRIES, ISOLATED_ENTRY, openSite } from "./site.mjs";

const INLINE = ISOLATED_ENTRY.replace("index", "inline");
const WORKER = ISOLATED_ENTRY.replace("index", "worker");
const MODEL = "/isolated/models/llama/model.gguf";

// all at once: a third of the time is waiting for helpers that are gone
describe("threads", { concurrency: true }, () => {
  for (const name of BROWSERS) test(name, (t) => useThreads(t, name));
});

async function useThreads(t, name) {
  const site = await openSite(); // with a list of requests of its own
  t.after(() => site.close());
  await withBrowser(name, async (browser) => {
    t.diagnostic(await browser.version());
    const isolated = `${site.origin}/isolated`;

    await t.test("a page that isn't isolated has one thread, and no Worker is started", () =>
      withPage(browser, site.origin, async (run) => {
        site.requests.length = 0;
        assert.equal((await run("isolation")).isIsolated, false);
        const [auto, error, one] = await run("countThreads", ENTRIES.good, {}, [2, 1]);
        assert.deepEqual([auto, error.code, error.field, one], [1, "UNSUPPORTED_ENGINE", "threads", 1]);
        assert.equal((await run("countThreads", ENTRIES.good, { threads: 2 }))[0].code, "UNSUPPORTED_ENGINE");
        assert.deepEqual(await run("countThreads", ENTRIES.good, { threads: 1 }), [1]);
        assert.match(await run("oneThread", ENTRIES.good), /^this page isn't cross-origin isolated; send Cross-Origin/);
        assert.equal(await run("oneThread", ENTRIES.good, { threads: 1 }), null);
        assert.ok(!site.requests.some((path) => path.includes("helper_thread")));
      }),
    );

    await t.test("an isolated page has as many as it asks for", () =>
      withPage(browser, isolated, async (run) => {
        const { isIsolated, cores } = await run("isolation");
        assert.equal(isIsolated, true);
        const auto = cores <= 4 ? cores : Math.min(8, Math.max(4, cores >> 1));
        assert.deepEqual(await run("countThreads", ISOLATED_ENTRY, {}, [3, 1, 2, "auto"]), [auto, 3, 1, 2, auto]);
        assert.deepEqual(await run("countThreads", ISOLATED_ENTRY, { threads: 4 }), [4]);
        if (auto > 1) assert.equal(await run("oneThread", ISOLATED_ENTRY), null);
      }),
    );

    await t.test("results have the same bits with any number of threads", () =>
      withPage(browser, isolated, async (run) => {
        const builds = (await run("accepts", "/isolated/package/dist/wasm/ropewalk.relaxed.wasm"))
          ? ["simd", "relaxed"]
          : ["simd"];
        for (const build of builds) {
          const [one, ...others] = await run("hashes", ISOLATED_ENTRY, MODEL, build, [2, 1, 3, 5]);
          for (const other of others) assert.deepEqual(other, one, build);
        }
      }),
    );

    // together, because each waits ten seconds for helpers that are gone
    await t.test("helpers that were ended are missed by nobody, neither of a page nor of a Worker", () =>
      Promise.all([
        withPage(browser, isolated, async (run) => {
          assert.deepEqual(await run("endHelpers", ISOLATED_ENTRY), { started: 3, isSame: true, threads: 2 });
        }),
        withPage(browser, isolated, async (run) => {
          const expected = { started: 4, isSame: true, threads: 2 };
          assert.deepEqual(await run("endHelpersOfWorker", WORKER, MODEL), expected);
        }),
      ]),
    );

    await t.test("a page starts helpers for its Worker, and ends them with it", () =>
      withPage(browser, isolated, async (run) =>
        assert.deepEqual(await run("workerThreads", WORKER), [
          [3, 3],
          [2, 2],
          [2, 0],
        ]),
      ),
    );

    await t.test("a Worker that ends while its helpers start leaves none", () =>
      withPage(browser, isolated, async (run) => {
        const { aborted, most, running } = await run("abortLoads", WORKER);
        assert.ok(aborted > 0 && most > 1, `${aborted} loads were aborted, ${most} Workers ran`);
        assert.equal(running, 0);
      }),
    );

    await t.test("without the script of helpers there is one thread, and an error says what to do", async () => {
      const { page } = await open(browser, `${isolated}/pages/index.html`);
      for (const entry of ["index", "worker"]) {
        const address = `/isolated/no-helper/dist/${entry}.js`;
        const [auto, error, one] = await runTask(page, "countThreads", address, {}, [2, 1]);
        assert.deepEqual([auto, error.code, error.field, one], [1, "WASM_LOAD", "threads", 1], entry);
        const because = await runTask(page, "oneThread", address);
        assert.match(because, /^a helper thread couldn't start: check that load\/helper_thread\.js is served/, entry);
        assert.match(error.message, /a helper thread couldn't start: check that load\/helper_thread\.js is served/);
      }
      await page.close();
    });

    await t.test("a page that may not start Workers has one thread", async () => {
      const { page } = await open(browser, `${isolated}/no-workers/pages/index.html`);
      const [auto, error] = await runTask(page, "countThreads", ISOLATED_ENTRY, {}, [2]);
      assert.deepEqual([auto, error.code, error.field], [1, "WASM_LOAD", "threads"]);
      await page.close();
    });

    await t.test("the inline entry starts helpers from their text", async () => {
      const { page } = await open(browser, `${isolated}/blobs/pages/index.html`);
      assert.deepEqual(await runTask(page, "countThreads", INLINE, { threads: 3 }), [3]);
      await page.close();
    });
  });
}
