// Attention and caches in pages with a strict Content-Security-Policy: the examples, saving in one browser and restoring in another, growing
// memory.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { BROWSERS, withBrowser, withPage } from "./browsers.mjs";
import { ENTRIES, openSite } from "./site.mjs";

let site;

before(async () => (site = await openSite()));

after(() => site?.close());

const DTYPES = ["f32", "f16", "bf16", "q8_0"];
const KEY_MODES = ["rotated", "raw"];
const KINDS = DTYPES.flatMap((dtype) => KEY_MODES.map((keys) => [dtype, keys]));

// Retuning rounds stored keys below 2 by half a step. Outputs, averages over 300 keys, change by less. Raw keys never change.
const RETUNED_WITHIN = { f32: 2 ** -22, f16: 2 ** -11, bf16: 2 ** -8, q8_0: 2 ** -7 };

test("attention and caches", async (t) => {
  await withAll(BROWSERS, {}, async (browsers) => {
    for (const [name, browser] of Object.entries(browsers)) await t.test(name, (t) => checkBrowser(t, browser));
    await t.test("a cache saved in one browser is restored in the others", () => compareSaved(browsers));
  });
});

/** Calls `use` with all named browsers. */
function withAll([name, ...others], open, use) {
  if (name === undefined) return use(open);
  return withBrowser(name, (browser) => withAll(others, { ...open, [name]: browser }, use));
}

async function checkBrowser(t, browser) {
  const check = (title, use) => t.test(title, () => withPage(browser, site.origin, use));

  await check("examples/attention.mjs runs unchanged", async (run) => {
    const lines = await run("runExample", "/examples/attention.mjs");
    assert.match(lines[0], /^attention of \d+ tokens, .*: first outputs -?\d\.\d{4}, /);
    const differences = lines
      .map((line) => /from a cache of (\w+) .*largest difference (\S+)/.exec(line))
      .filter(Boolean);
    assert.deepEqual(
      differences.map(([, dtype]) => dtype),
      ["f32", "f16", "q8_0"],
    );
    for (const [i, limit] of [1e-6, 1e-3, 2e-2].entries())
      assert.ok(Number(differences[i][2]) <= limit, differences[i][0]);
  });

  await check("a cache filled under plain RoPE is retuned to YaRN, as examples/retune.mjs does", async (run) => {
    for (const [dtype, keys] of KINDS) {
      const { before, after } = await run("retuneCache", ENTRIES.good, dtype, keys);
      assert.ok(before > 0.01, `${dtype} ${keys}: ${before} before retuning`);
      assert.ok(after <= (keys === "raw" ? 0 : RETUNED_WITHIN[dtype]), `${dtype} ${keys}: ${after} after retuning`);
    }
  });

  await check("streaming through a window doesn't grow memory", async (run) => {
    const { grownBy, length, last } = await run("streamThroughWindow", ENTRIES.good);
    assert.equal(grownBy, 0);
    assert.equal(last, length - 1);
  });

  await check("a cache and tensors keep their contents when memory grows", async (run) => {
    const { grewBy, oldViewLength, same } = await run("growCache", ENTRIES.good);
    assert.deepEqual(grewBy, { tensors: true, arrays: true });
    assert.equal(oldViewLength, 0);
    assert.deepEqual(same, { queries: true, keys: true, outputs: true });
  });
}

/** Calls `use` with pages of all browsers: a function that runs a task for each. */
function withPages([browser, ...others], open, use) {
  if (browser === undefined) return use(open);
  return withPage(browser, site.origin, (run) => withPages(others, [...open, run], use));
}

function compareSaved(browsers) {
  const names = Object.keys(browsers);
  return withPages(Object.values(browsers), [], async (runs) => {
    for (const [dtype, keys] of [...KINDS, ["linear"]]) {
      const images = [];
      for (const run of runs) images.push(await run("saveCache", ENTRIES.good, dtype, keys));
      for (const [i, image] of images.entries())
        assert.deepEqual(image, images[0], `${dtype} ${keys} saved by ${names[i]}`);
      for (const [i, run] of runs.entries()) {
        const restored = await run("restoreCache", ENTRIES.good, dtype, keys, images[0].image);
        assert.deepEqual(restored, images[0], `${dtype} ${keys} restored by ${names[i]}`);
      }
    }
  });
}
