// Rotations and tables are the same bytes from the native library, Node, Chromium and Firefox (pages/digest.mjs has the cases).
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { BROWSERS, open, runTask, withBrowser } from "./browsers.mjs";
import { nativeDigests } from "./native.mjs";
import { CASES, digests } from "./pages/digest.mjs";
import { WORKED_EXAMPLE } from "./pages/worked_example.mjs";
import { ENTRIES, openSite } from "./site.mjs";

const casesOf = (all, what) => Object.fromEntries(Object.entries(all).filter(([name]) => CASES[name].what === what));

let native, site;

before(async () => {
  native = await nativeDigests();
  site = await openSite();
});

after(() => site?.close());

/** Compares all that an engine computes; `compute` is `digests` of pages/digest.mjs for a build. */
async function compareWithNative(compute) {
  assert.deepEqual(await compute("simd", {}), native);
  assert.deepEqual(await compute("simd", { what: ["rotate"], inTensor: true }), casesOf(native, "rotate"));
  assert.deepEqual(await compute("scalar", { what: ["rotate"] }), casesOf(native, "rotate"));
}

test("the cases differ from one another", () => {
  assert.equal(new Set(Object.values(native)).size, Object.keys(CASES).length);
});

test("node", async () => {
  const { load } = await import(pathToFileURL(join(site.unpacked, "dist", "index.node.js")));
  await compareWithNative(async (build, options) => digests(await load({ build }), options));
});

for (const name of BROWSERS) {
  test(name, async (t) => {
    const address = `${site.origin}/pages/index.html`;
    await withBrowser(name, async (browser) => {
      t.diagnostic(await browser.version());

      await t.test("a page", async () => {
        const { page } = await open(browser, address);
        const compute = (build, options) => runTask(page, "computeDigests", ENTRIES.good, build, options);
        await compareWithNative(compute);
        if (await runTask(page, "accepts", "/package/dist/wasm/ropewalk.relaxed.wasm")) {
          // what may differ is the rotation, never the table
          assert.deepEqual(await compute("relaxed", { what: ["table"] }), casesOf(native, "table"));
        }
        await page.close();
      });

      await t.test("two pages at once", async () => {
        const pages = [await open(browser, address), await open(browser, address)];
        const compute = ({ page }) => runTask(page, "computeDigests", ENTRIES.good, "simd", { what: ["rotate"] });
        assert.deepEqual(await Promise.all(pages.map(compute)), [casesOf(native, "rotate"), casesOf(native, "rotate")]);
        for (const { page } of pages) await page.close();
      });

      await t.test("a module worker", async () => {
        const { page, complaints } = await open(browser, address);
        const result = await runTask(page, "runInWorker", ENTRIES.good, "simd");
        assert.deepEqual(result, { build: "simd", numbers: WORKED_EXAMPLE, digests: casesOf(native, "rotate"), violations: [] });
        assert.deepEqual(complaints, []);
        await page.close();
      });
    });
  });
}
