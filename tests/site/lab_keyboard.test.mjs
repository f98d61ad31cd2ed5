// The Lab by keyboard in each browser: Tab goes through every control in the order of the page, the focus shows, and keys change what is
// drawn. And reduced motion: nothing moves by itself. Needs the built site.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { serveSite } from "../../scripts/site/serve.mjs";
import { siteFolder } from "../../scripts/site.mjs";
import { SITE_BROWSERS, open, withBrowser } from "../browser/browsers.mjs";

/** Keys pressed in a control of each panel, and what a caption says then. */
const KEYS = {
  one_pair: ["query", ["Home", "ArrowRight", "ArrowRight"], "hands", /The query is rotated by 0\.2 radians/],
  clocks: ["position", ["Home", "ArrowRight"], "hands", /^At position 1, pair 0 has made 0\.159 turns/],
  pairings: ["distance", ["ArrowRight"], "scores", /Right pairing \(half\): the highest score is at distance 13/],
  distance: ["size", ["Home"], "scores", /^Base 10,000, 16 elements\. .* at distance \d+/],
  scaling: ["beta_fast", ["End"], "ramp", /^YaRN keeps the 21 fastest pairs/],
  live: ["position", ["Home"], "keys", /^The key of token 0: .* 16 of 16 pairs stay where they are/],
  exact: ["position", ["End"], "by_position", /^Largest error at position 16,777,216: Ropewalk 3\.0e-8/],
  schemes: ["query", ["ArrowLeft"], "map", /Query 62 attends to 63 tokens/],
};

let server, address;
before(async () => ({ server, address } = await serveSite(siteFolder)));
after(() => server.close());

async function openPanel(page, id) {
  await page.goto(`${address}index.html`, { waitUntil: "load" });
  await page.evaluate((panel) => document.getElementById(panel).scrollIntoView(), id);
  await page.waitForFunction((panel) => document.getElementById(panel).dataset.state === "ready", {}, id);
}

const focus = (page, selector) => page.evaluate((found) => document.querySelector(found).focus(), selector);

const captionMatches = (page, figure, pattern) =>
  page.waitForFunction(
    (selector, source) => new RegExp(source).test(document.querySelector(selector).textContent),
    {},
    `#${figure} figcaption`,
    pattern.source,
  );

/** Tabs from a panel's heading to the end of the panel. Returns the controls in that order, each with whether its focus shows. */
async function tabThrough(page, panel) {
  await focus(page, `#${panel} h2 a`);
  const stops = [];
  for (;;) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate((id) => {
      const element = document.activeElement;
      if (!document.getElementById(id).contains(element)) return undefined;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const all = [...document.querySelectorAll(`#${id} *`)];
      return {
        at: all.indexOf(element),
        name: element.name || element.textContent.trim(),
        shows: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
      };
    }, panel);
    if (stop === undefined) return stops;
    stops.push(stop);
    assert.ok(stops.length < 60, `${panel}: the focus doesn't leave the panel`);
  }
}

/** Tab reaches every control of a panel, in the order of the page, and each shows that it has the focus. */
async function checkTabs(page, panel) {
  const stops = await tabThrough(page, panel);
  const places = stops.map(({ at }) => at);
  const inOrder = [...places].sort((a, b) => a - b);
  assert.deepEqual(places, inOrder);
  const hidden = stops.filter(({ shows }) => !shows);
  assert.deepEqual(hidden, []);
  const reached = stops.map((stop) => stop.name);
  const controls = await page.$$eval(`#${panel} :is(input, select)`, (all) =>
    all.filter((one) => one.checkVisibility() && !one.disabled && one.type !== "radio").map((one) => one.name),
  );
  for (const control of controls) assert.ok(reached.includes(control), control);
}

for (const name of SITE_BROWSERS) {
  test(`the Lab by keyboard, in ${name}`, (t) =>
    withBrowser(name, async (browser) => {
      const { page, complaints } = await open(browser, address);
      for (const [panel, [control, keys, figure, expected]] of Object.entries(KEYS))
        await t.test(panel, async () => {
          await openPanel(page, panel);
          await page.$$eval(`#${panel} .more`, (folded) => folded.forEach((details) => (details.open = true)));
          // WebKit's driver can't send Tab to a file input
          const hasFile = await page.evaluate((id) => document.querySelector(`#${id} [type=file]`) !== null, panel);
          if (name !== "webkit" || !hasFile) await checkTabs(page, panel);

          await focus(page, `#${panel} [name=${control}]`);
          for (const key of keys) await page.keyboard.press(key);
          await captionMatches(page, `${panel}-${figure}`, expected);
        });
      await t.test("the steps of the example, and play", async () => {
        await openPanel(page, "one_pair");
        await focus(page, "#one_pair .more summary");
        await page.keyboard.press("Enter");
        await focus(page, '#one_pair [data-step="1"]');
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => document.querySelector("[data-of=step]").textContent === "2 of 7");
        await openPanel(page, "clocks");
        await focus(page, "#clocks [data-action=play]");
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => Number(document.querySelector("#clocks [name=position]").value) > 3005);
        await page.keyboard.press("Enter");
        assert.equal(await page.$eval("#clocks [data-action=play]", (button) => button.textContent), "Play");
      });
      assert.deepEqual(complaints, []);
    }));
}

/** What a panel says and draws, but for pictures that a canvas gives. */
const stateOf = (page, panel) =>
  page.$eval(`#${panel}`, (section) => [
    [...section.querySelectorAll("input, select")].map(({ value }) => value).join(),
    [...section.querySelectorAll("figcaption, output, [role=status]")].map(({ textContent }) => textContent).join(),
    [...section.querySelectorAll("svg :is(line, path, circle)")].map(({ outerHTML }) => outerHTML).join(""),
  ]);

// WebKit's driver has no such setting
for (const name of SITE_BROWSERS.filter((browser) => browser !== "webkit")) {
  test(`reduced motion, in ${name}`, (t) =>
    withBrowser(
      name,
      async (browser) => {
        const { page } = await open(browser, "about:blank");
        if (name === "chromium") await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
        // in Firefox one panel, for time
        const panels = name === "chromium" ? Object.keys(KEYS) : ["clocks"];
        await t.test("no panel moves by itself", async () => {
          for (const panel of panels) {
            await openPanel(page, panel);
            assert.ok(await page.evaluate(() => matchMedia("(prefers-reduced-motion: reduce)").matches));
            await sleep(300);
            const first = await stateOf(page, panel);
            await sleep(1200);
            assert.deepEqual(await stateOf(page, panel), first, panel);
          }
        });
        await t.test("play goes in steps of a second", async () => {
          await openPanel(page, "clocks");
          const seen = await page.evaluate(async () => {
            const range = document.querySelector("#clocks [name=position]");
            const values = new Set([range.value]);
            document.querySelector("#clocks [data-action=play]").click();
            const end = performance.now() + 2500;
            while (performance.now() < end) {
              await new Promise((resolve) => requestAnimationFrame(resolve));
              values.add(range.value);
            }
            return [...values].map(Number);
          });
          assert.equal(seen.length, 3, seen.join()); // the first, and one for each second
        });
        await t.test("the hands of a cached key don't turn: they are at their new place", async () => {
          await openPanel(page, "live");
          const moved = await page.evaluate(async () => {
            const hands = () => document.querySelector("#live-keys svg").innerHTML.replaceAll(/id="[^"]*"/g, "");
            const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
            const list = document.querySelector("#live [name=later]");
            const first = hands();
            list.value = "linear";
            list.dispatchEvent(new Event("input", { bubbles: true }));
            await frame();
            const soon = hands();
            await new Promise((resolve) => setTimeout(resolve, 1000));
            return { isNew: soon !== first, isLast: soon === hands() };
          });
          assert.deepEqual(moved, { isNew: true, isLast: true });
        });
      },
      { firefoxPrefs: { "ui.prefersReducedMotion": 1 } },
    ));
}
