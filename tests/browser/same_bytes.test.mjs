// Rotations, tables, attention, caches, saved caches and linear attention give the same bytes in the native library, Node and each browser
// (pages/digest.mjs has the cases). The relaxed build differs by the rounding of fused products.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { BROWSERS, open, runTask, withBrowser } from "./browsers.mjs";
import { nativeDigests } from "./native.mjs";
import { ALL_KINDS, CASES, digests } from "./pages/digest.mjs";
import { WORKED_EXAMPLE } from "./pages/worked_example.mjs";
import { ENTRIES, openSite } from "./site.mjs";

const TABLES = ["table", "sinusoidal", "alibi_slopes", "t5_buckets"];
const WITH_KERNELS = ALL_KINDS.filter((kind) => !TABLES.includes(kind));

// A fused multiply-add saves one rounding: 2^-24 of a sum. Rotations are sums below 4. Scores are sums up to about 2^5, and outputs, averages of
// values below 2, change by as much.
const RELAXED_TOLERANCE = {
  rotate: 2 ** -22,
  attention: 2 ** -16,
  cache: 2 ** -16,
  linear: 2 ** -20,
  linear_state: 2 ** -20,
};
// Keys that are rotated before they are stored are below 4. If they are rounded to 16 or 8 bits, one may be rounded the other way.
const STORED_TOLERANCE = { f32: 2 ** -16, f16: 2 ** -9, bf16: 2 ** -6, q8_0: 2 ** -5 };

const toleranceOf = ({ kind, dtype, keys }) => (keys === "rotated" ? STORED_TOLERANCE[dtype] : RELAXED_TOLERANCE[kind]);
const casesOf = (all, ...kinds) =>
  Object.fromEntries(Object.entries(all).filter(([name]) => kinds.includes(CASES[name].kind)));

let native, site;

before(async () => {
  native = await nativeDigests();
  site = await openSite();
});

after(() => site?.close());

/** Compares all cases in one engine with the native library. `compute` calls `digests` of pages/digest.mjs for a build. */
async function compareWithNative(compute) {
  assert.deepEqual(await compute("simd", {}), native);
  assert.deepEqual(await compute("simd", { kinds: WITH_KERNELS, inTensor: true }), casesOf(native, ...WITH_KERNELS));
  assert.deepEqual(await compute("scalar", { kinds: WITH_KERNELS }), casesOf(native, ...WITH_KERNELS));
}

test("all cases have different digests", () => {
  assert.equal(new Set(Object.values(native)).size, Object.keys(CASES).length);
});

test("Node", async () => {
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
        await compareWithNative((build, options) => runTask(page, "computeDigests", ENTRIES.good, build, options));
        await page.close();
      });

      await t.test("the relaxed build", async (t) => {
        const { page } = await open(browser, address);
        if (!(await runTask(page, "accepts", "/package/dist/wasm/ropewalk.relaxed.wasm")))
          return t.skip("this browser has no relaxed SIMD");
        assert.deepEqual(
          await runTask(page, "computeDigests", ENTRIES.good, "relaxed", { kinds: TABLES }),
          casesOf(native, ...TABLES),
        );
        const differences = await runTask(page, "relaxedDifferences", ENTRIES.good, WITH_KERNELS);
        assert.deepEqual(Object.keys(differences), Object.keys(casesOf(native, ...WITH_KERNELS)));
        for (const [name, difference] of Object.entries(differences))
          assert.ok(difference <= toleranceOf(CASES[name]), `${name}: ${difference}`);
        await page.close();
      });

      await t.test("two pages at once", async () => {
        const pages = [await open(browser, address), await open(browser, address)];
        const kinds = ["rotate", "attention", "cache"];
        const compute = ({ page }) => runTask(page, "computeDigests", ENTRIES.good, "simd", { kinds });
        assert.deepEqual(await Promise.all(pages.map(compute)), [casesOf(native, ...kinds), casesOf(native, ...kinds)]);
        for (const { page } of pages) await page.close();
      });

      await t.test("a module worker", async () => {
        const { page, complaints } = await open(browser, address);
        const kinds = ["rotate", "attention", "cache"];
        const result = await runTask(page, "runInWorker", ENTRIES.good, "simd", kinds);
        assert.deepEqual(result, {
          build: "simd",
          numbers: WORKED_EXAMPLE,
          digests: casesOf(native, ...kinds),
          violations: [],
        });
        assert.deepEqual(complaints, []);
        await page.close();
      });
    });
  });
}
