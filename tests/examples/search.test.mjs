// The page of examples/search/: paragraphs are embedded once, kept on the device, and found by what they state.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";
import { root } from "./guide_page.mjs";

const LONG_MS = 300_000;

test("finds paragraphs as a query is typed, and embeds them once, in chromium", async () => {
  const csp = "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; worker-src 'self' blob:"; // inline: the import map
  const site = await serve({ "/": { folder: root, csp } });
  try {
    await withBrowser("chromium", async (browser) => {
      const { page, complaints } = await open(browser, `${site.origin}/examples/search/index.html`);
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

      await page.reload();
      await page.waitForFunction(isReady, { timeout: LONG_MS });
      assert.equal(await status(), "2000 paragraphs, embedded before");
      assert.deepEqual(complaints, []);
    });
  } finally {
    await site.close();
  }
});
