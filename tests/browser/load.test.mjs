// Loading in each browser, under the policy `script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'`.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { BROWSERS, open, runTask, withBrowser, withPage } from "./browsers.mjs";
import { WORKED_EXAMPLE } from "./pages/worked_example.mjs";
import { ENTRIES, INLINE_ENTRY, openSite } from "./site.mjs";

const WASM = "/package/dist/wasm/ropewalk.wasm";
const RELAXED_WASM = "/package/dist/wasm/ropewalk.relaxed.wasm";

const loaded = (build) => ({ value: { build, numbers: WORKED_EXAMPLE } });

let site;

before(async () => (site = await openSite()));

after(() => site?.close());

for (const name of BROWSERS) {
  test(name, async (t) => {
    await withBrowser(name, async (browser) => {
      t.diagnostic(await browser.version());
      const check = (title, use) => t.test(title, () => withPage(browser, site.origin, use));

      await check("every build that the engine takes loads, and auto picks the best of them", async (run) => {
        const hasRelaxed = await run("accepts", RELAXED_WASM);
        t.diagnostic(`relaxed build: ${hasRelaxed ? "supported" : "not supported"}`);
        assert.equal(await run("accepts", WASM), true);
        assert.deepEqual(await run("load", ENTRIES.good, { build: "simd" }), loaded("simd"));
        assert.deepEqual(await run("load", ENTRIES.good, { build: "scalar" }), loaded("scalar"));
        assert.deepEqual(await run("load", ENTRIES.good), loaded(hasRelaxed ? "relaxed" : "simd"));
        const relaxed = await run("load", ENTRIES.good, { build: "relaxed" });
        if (hasRelaxed) {
          assert.deepEqual(relaxed, loaded("relaxed"));
          // a fused product saves one rounding: 2^-24 of a sum below 2
          assert.ok((await run("relaxedError", ENTRIES.good)) <= 2 ** -22);
        } else {
          assert.equal(relaxed.error.code, "UNSUPPORTED_ENGINE");
        }
      });

      await check("a build is loaded once, however often load() is called", async (run) => {
        assert.deepEqual(await run("loadAgain", ENTRIES.good), {
          sameAtOnce: true,
          sameLater: true,
          sameForOtherBuild: false,
        });
      });

      await check("one caller aborts, and the others still get the module", async (run) => {
        const { aborted, waiting } = await run("loadAndAbort", ENTRIES.good);
        assert.equal(aborted.error.name, "AbortError");
        assert.deepEqual(waiting, { value: WORKED_EXAMPLE });
      });

      await check("a service worker can load", async (run) => {
        const expected = { build: "simd", numbers: WORKED_EXAMPLE };
        for (const script of ["service_worker.mjs", "service_worker_min.mjs"])
          assert.deepEqual(await run("runInServiceWorker", script, "load"), expected, script);
      });

      await check(
        "a service worker runs a model from one file, and hears of it where parts are needed",
        async (run) => {
          const model = `${site.origin}/examples/small_model/model.q8_0.gguf`;
          const { text } = await run("runInServiceWorker", "service_worker_min.mjs", model);
          assert.match(text, /^ [a-z]+\. [A-Z]/);
          assert.deepEqual(await run("runInServiceWorker", "service_worker.mjs", model), {
            code: "UNSUPPORTED_ENGINE",
            message:
              'import(): a service worker can\'t load parts of the package; import "ropewalk/min", which is one file, or bundle the service worker into one',
          });
        },
      );

      await check("wasm may be an address, a response, bytes or a module", async (run) => {
        const results = await run("loadFromSources", ENTRIES.good, WASM);
        for (const [source, result] of Object.entries(results)) assert.deepEqual(result, loaded("simd"), source);
      });

      await check("tensors have new views after memory grows", async (run) => {
        const { grew, oldViewLength, kept, useOfOldView, rotated } = await run("growMemory", ENTRIES.good);
        assert.equal(grew, true);
        assert.equal(oldViewLength, 0);
        assert.deepEqual(kept, [1, 2, 3, 4]);
        assert.equal(useOfOldView.error.code, "INVALID_SHAPE");
        assert.deepEqual(rotated, WORKED_EXAMPLE);
      });

      await check("the inline entry fetches no wasm file", async (run) => {
        site.requests.length = 0;
        assert.deepEqual(await run("load", INLINE_ENTRY, { build: "simd" }), loaded("simd"));
        assert.equal((await run("load", INLINE_ENTRY)).value.numbers[0], WORKED_EXAMPLE[0]);
        assert.deepEqual(
          site.requests.filter((path) => path.endsWith(".wasm")),
          [],
        );
      });

      await check("a wrong MIME type is accepted", async (run) => {
        assert.deepEqual(await run("load", ENTRIES.wrongType, { build: "simd" }), loaded("simd"));
      });

      await check("an HTML page instead of wasm is reported", async (run) => {
        const { error } = await run("load", ENTRIES.page, { build: "simd" });
        assert.deepEqual(
          { name: error.name, code: error.code, field: error.field },
          { name: "RopewalkError", code: "WASM_LOAD", field: "wasm" },
        );
        assert.equal(
          error.message,
          `wasm: ${site.origin}/page/dist/wasm/ropewalk.wasm is an HTML page: the file isn't served at this address; copy the package's wasm files there, or import from ropewalk/inline`,
        );
      });

      await check("an empty file is reported", async (run) => {
        const { error } = await run("load", ENTRIES.empty, { build: "simd" });
        assert.equal(error.code, "WASM_LOAD");
        assert.match(error.message, /ropewalk\.wasm is empty/);
      });

      await check("a failure isn't cached", async (run) => {
        const { first, second } = await run("loadAfterFailure", ENTRIES.good, "/page/dist/wasm/ropewalk.wasm");
        assert.equal(first.error.code, "WASM_LOAD");
        assert.deepEqual(second, { value: WORKED_EXAMPLE });
      });

      // the browser itself logs errors for these two
      await t.test("a missing file is reported with its HTTP status", async () => {
        const { page } = await open(browser, `${site.origin}/pages/index.html`);
        const { error } = await runTask(page, "load", ENTRIES.missing, { build: "simd" });
        assert.equal(error.code, "WASM_LOAD");
        assert.match(error.message, /the server answered 404 for .*\/missing\/dist\/wasm\/ropewalk\.wasm/);
        await page.close();
      });

      await t.test(
        "a policy without 'wasm-unsafe-eval' is reported, so these tests do run under a policy",
        async () => {
          const { page } = await open(browser, `${site.origin}/no-wasm/pages/index.html`);
          const { error } = await runTask(page, "load", ENTRIES.good, { build: "simd" });
          assert.equal(error.code, "WASM_LOAD");
          assert.match(error.message, /content.security.policy|unsafe-eval|CSP/i);
          // WebKit reports no violation for wasm
          if (name !== "webkit") assert.notDeepEqual(await runTask(page, "violations"), []);
          await page.close();
        },
      );
    });
  });
}

test("firefox without relaxed SIMD: auto is simd, and the error of relaxed names the missing feature", async () => {
  const check = (browser) =>
    withPage(browser, site.origin, async (run) => {
      assert.equal(await run("accepts", RELAXED_WASM), false);
      assert.deepEqual(await run("load", ENTRIES.good), loaded("simd"));
      const { error } = await run("load", ENTRIES.good, { build: "relaxed" });
      assert.equal(error.code, "UNSUPPORTED_ENGINE");
      assert.match(error.message, /relaxed SIMD/);
    });
  await withBrowser("firefox", check, { firefoxPrefs: { "javascript.options.wasm_relaxed_simd": false } });
});
