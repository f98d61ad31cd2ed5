// The first screen of the front page: the recorded story, without wasm, in a wide window and on a phone.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serveSite } from "../../scripts/site/serve.mjs";
import { siteFolder } from "../../scripts/site.mjs";
import { SITE_BROWSERS, open, withBrowser } from "../browser/browsers.mjs";

const results = join(import.meta.dirname, "../../examples/small_model/results/switched.json");
const recorded = JSON.parse(await readFile(results, "utf8"));
const count = ({ answers }) => `${answers.filter(([, , right]) => right === 1).length} of ${answers.length}`;
const [PLAIN, YARN] = [count(recorded.after.none), count(recorded.after.yarn)];

let server, address;
before(async () => ({ server, address } = await serveSite(siteFolder)));
after(() => server.close());

const score = (page) => page.$eval("#story-score", (element) => element.textContent);
const wrongBeads = (page) => page.$$eval("#story-picture .bead.wrong", (beads) => beads.length);
const wrong = (...parts) => parts.flatMap(({ answers }) => answers).filter(([, , right]) => right === 0).length;

for (const name of SITE_BROWSERS)
  test(`the answers go wrong, and YaRN heals them, in ${name}`, () =>
    withBrowser(name, async (browser) => {
      const { page, complaints } = await open(browser, address);
      await page.waitForFunction((text) => document.querySelector("#story-score").textContent === text, {}, YARN); // by itself
      await page.$eval("[data-reading=plain]", (button) => button.click());
      assert.equal(await score(page), PLAIN);
      const before = wrong(recorded.before, recorded.after.none);
      await page.waitForFunction(
        (count) => document.querySelectorAll("#story-picture .bead.wrong").length === count,
        {},
        before,
      );
      const asked = await page.$eval("#story-question", (element) => element.textContent);
      assert.match(asked, /^“The \w+ \w+ is in the ✗ \w+”$/);
      await page.$eval("[data-reading=yarn]", (button) => button.click());
      await page.waitForFunction(
        (count) => document.querySelectorAll("#story-picture .bead.wrong").length === count,
        {},
        wrong(recorded.before, recorded.after.yarn),
      );
      assert.match(await page.$eval("#story-question", (element) => element.textContent), /✓ \w+”$/);
      assert.deepEqual(complaints, []);
    }));

for (const [width, height] of [
  [1440, 900],
  [390, 844],
  [360, 740],
])
  test(`the story is on the first screen, before any wasm, at ${width} px`, () =>
    withBrowser("chromium", async (browser) => {
      const page = await browser.newPage();
      await page.setViewport({ width, height });
      await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
      await page.setRequestInterception(true);
      page.on("request", (request) => (request.url().endsWith(".wasm") ? request.abort() : request.continue()));
      await page.goto(address, { waitUntil: "load" });
      assert.equal(await score(page), PLAIN);
      const bottom = (selector) =>
        page.$eval(selector, (element) => element.getBoundingClientRect().bottom + window.scrollY);
      // on the lowest phone the last rope may be cut
      assert.ok(
        (await bottom("#story-picture")) < height * (height < 800 ? 1.1 : 1),
        `${await bottom("#story-picture")}`,
      );
      assert.equal(await wrongBeads(page), wrong(recorded.before, recorded.after.none));
      await page.$eval("[data-reading=yarn]", (button) => button.click());
      assert.equal(await wrongBeads(page), wrong(recorded.before, recorded.after.yarn)); // at once: reduced motion
    }));

test("reduced motion: nothing changes by itself", () =>
  withBrowser("chromium", async (browser) => {
    const page = await browser.newPage();
    await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
    await page.goto(address, { waitUntil: "load" });
    await new Promise((resolve) => setTimeout(resolve, 4000));
    assert.equal(await score(page), PLAIN);
  }));

test("Run it live runs the model of the Lab", () =>
  withBrowser("chromium", async (browser) => {
    const { page } = await open(browser, `${address}index.html?live.speed=0`);
    await page.click("#story-live");
    await page.waitForFunction(() => /^2,048 of 2,048 tokens/.test(document.querySelector("#live-state").textContent));
  }));
