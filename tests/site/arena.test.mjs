// The page past the window in each browser: the method is switched while the model reads, and a recorded cell is measured again.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serveSite } from "../../scripts/site/serve.mjs";
import { siteFolder } from "../../scripts/site.mjs";
import { SITE_BROWSERS, open, withBrowser } from "../browser/browsers.mjs";

const TIMEOUT_MS = 120_000;

let server, address;
before(async () => ({ server, address } = await serveSite(siteFolder)));
after(() => server.close());

for (const name of SITE_BROWSERS)
  test(`the arena, in ${name}`, (t) => withBrowser(name, (browser) => useArena(t, browser), { timeoutMs: TIMEOUT_MS }));

async function useArena(t, browser) {
  const { page, complaints } = await open(browser, `${address}arena/index.html`);
  page.setDefaultTimeout(TIMEOUT_MS);
  const click = (selector) => page.$eval(selector, (element) => element.click());
  const saysSoon = (selector, text) =>
    page.waitForFunction((id, words) => document.querySelector(id).textContent.includes(words), {}, selector, text);

  await t.test("switches the method while the model reads, and reads no word again", async () => {
    await click("#start");
    await saysSoon("#state", "tokens/s");
    await click("#methods input[value=dynamic_yarn]");
    await saysSoon("#state", "Switched to dynamic YaRN at token ");
    await saysSoon("#loss figcaption", "Dynamic YaRN from token ");
  });

  await t.test("measures a recorded cell with the same result", async () => {
    await click("#cell button");
    await saysSoon("#cell-state", "Measured in");
    const rows = await page.$$eval("#result tbody tr", (all) =>
      all.map((row) => [...row.querySelectorAll("td")].map(({ textContent }) => textContent)),
    );
    assert.ok(rows.length > 0);
    for (const [before, here] of rows) assert.equal(here, before);
  });

  assert.deepEqual(complaints, []);
}
