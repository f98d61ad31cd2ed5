// The app of examples/search/: paragraphs are embedded once, kept on the device, and found by what they state.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";
import { collectionFor } from "../../examples/small_encoder/paragraphs.mjs";
import { APP_CSP, withBuiltApp } from "./apps.mjs";

const LONG_MS = 300_000;
const STATEMENT = "The red ball is in the garden.";

/** What the app reads of the folders beside it. */
const BESIDE = ["small_encoder", "small_ranker", "small_model/stories.mjs", "random_numbers.mjs"];

/** In the page: keeps in `shown` what it shows, also what the ranking replaces at once. */
function recordResults() {
  globalThis.shown = [];
  const record = () =>
    globalThis.shown.push({
      order: document.getElementById("order").textContent,
      results: [...document.querySelectorAll("#results li")].map(({ textContent }) => textContent),
    });
  const observer = new MutationObserver(record);
  for (const id of ["order", "results"])
    observer.observe(document.getElementById(id), { childList: true, subtree: true, characterData: true });
}

test("finds paragraphs as a query is typed, ranks them, and embeds them once, in chromium", () =>
  withBuiltApp("search", findParagraphs, { beside: BESIDE }));

async function findParagraphs(folder) {
  const site = await serve({ "/": { folder, csp: APP_CSP } });
  try {
    await withBrowser("chromium", async (browser) => {
      const { page, complaints } = await open(browser, `${site.origin}/`);
      const isReady = () => !document.getElementById("query").disabled;
      const status = () => page.$eval("#status", ({ textContent }) => textContent);
      await page.waitForFunction(() => document.getElementById("progress").value > 0, { timeout: LONG_MS });
      await page.waitForFunction(isReady, { timeout: LONG_MS });
      assert.match(await status(), /^2000 paragraphs embedded in [\d.]+ s$/);

      await page.type("#query", "Where is the red ball?");
      await page.waitForFunction(() => document.querySelectorAll("#results li").length === 10, { timeout: LONG_MS });
      await page.waitForFunction(
        () => document.querySelector("#results li").textContent.includes("The red ball is in the"),
        { timeout: LONG_MS },
      );

      // what states it elsewhere is as near, and ranked below
      const order = () => page.$eval("#order", ({ textContent }) => textContent);
      const results = () => page.$$eval("#results li", (items) => items.map(({ textContent }) => textContent));
      const isRanked = () => document.getElementById("order").textContent.startsWith("ranked 32");
      await page.waitForFunction(isRanked, { timeout: LONG_MS });
      await page.evaluate(recordResults);
      await page.$eval("#query", (field) => (field.value = ""));
      await page.type("#query", `${STATEMENT} `); // the last key changes nothing
      const isNear = () =>
        globalThis.shown.some(
          ({ order, results }) =>
            order === "nearest vectors" &&
            results.length === 10 &&
            results.every((text) => text.includes("The red ball is in the ")),
        );
      await page.waitForFunction(isNear, { timeout: LONG_MS });
      await page.waitForFunction(isRanked, { timeout: LONG_MS });
      assert.match(await order(), /^ranked 32 in \d+ ms$/);
      const ranked = await results();
      const { paragraphs } = collectionFor({ seed: 800_000_000, searches: 25, length: 60 });
      const right = paragraphs.filter((text) => text.includes(STATEMENT));
      assert.ok(right.length > 0 && right.length < 10);
      const found = ranked.slice(0, right.length);
      assert.deepEqual(found.map((text) => text.replace(/ \(.*\)$/, "")).sort(), right.sort());

      // a new key aborts a ranking that waits
      await page.type("#query", "x");
      await page.$eval("#query", (field) => (field.value = ""));
      await page.type("#query", " ");
      await page.waitForFunction(() => document.querySelectorAll("#results li").length === 0, { timeout: LONG_MS });
      assert.equal(await order(), "");

      await page.reload();
      await page.waitForFunction(isReady, { timeout: LONG_MS });
      assert.equal(await status(), "2000 paragraphs, embedded before");
      assert.deepEqual(complaints, []);
    });
  } finally {
    await site.close();
  }
}
