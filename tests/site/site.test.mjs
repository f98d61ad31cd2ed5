// The whole site: every page in each browser without complaints, on phones, offline, isolated, without serious faults for screen readers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { serveSite } from "../../scripts/site/serve.mjs";
import { siteFolder } from "../../scripts/site.mjs";
import { BROWSERS, hasNarrowWindow, open, withBrowser } from "../browser/browsers.mjs";
import { openForAxe, seriousFaults } from "./axe.mjs";

const PAGES = ["index.html", "doctor/index.html", "models/index.html", "arena/index.html", "guide/index.html"];
const APPLICATION_PAGES = PAGES.slice(0, -1);
const NARROW = { width: 360, height: 740 };

let server, address;
before(async () => ({ server, address } = await serveSite(siteFolder)));
after(() => server.close());

for (const name of BROWSERS) {
  test(`every page without complaints, in ${name}`, () =>
    withBrowser(name, async (browser) => {
      for (const path of PAGES) {
        const { page, complaints } = await open(browser, address + path);
        assert.equal(await page.$$eval("h1", (headings) => headings.length > 0), true, path);
        assert.deepEqual(complaints, [], path);
        if (!hasNarrowWindow(name)) continue;
        await page.setViewport(NARROW);
        await sleep(300);
        const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
        assert.equal(await page.evaluate(overflow), 0, `${path} at ${NARROW.width} px`);
        await page.close();
      }
    }));
}

test("every link within the site leads to a page, and every control has a name", () =>
  withBrowser("chromium", async (browser) => {
    const links = new Set();
    for (const path of PAGES) {
      const { page } = await open(browser, address + path);
      const found = await page.$$eval("a[href]", (anchors) => anchors.map(({ href }) => href.split("#")[0]));
      for (const link of found) if (link.startsWith(address)) links.add(link);
      const nameless = await page.$$eval("main :is(input, select, textarea)", (controls) =>
        controls.filter((one) => one.labels.length === 0 && !one.ariaLabel).map(({ outerHTML }) => outerHTML),
      );
      if (!path.startsWith("guide")) assert.deepEqual(nameless, [], path);
      await page.close();
    }
    assert.ok(links.size > 20, `${links.size} links`);
    for (const link of links) assert.equal((await fetch(link)).status, 200, link);
  }));

test("all panels start, and scrolling through them brings no complaint", () =>
  withBrowser("chromium", async (browser) => {
    const { page, complaints } = await open(browser, address);
    const panels = await page.$$eval(".panel", (sections) => sections.map(({ id }) => id));
    assert.deepEqual(panels, ["one_pair", "clocks", "pairings", "distance", "scaling", "live", "exact", "schemes"]);
    for (const id of panels) {
      await page.$eval(`#${id}`, (section) => section.scrollIntoView());
      await page.waitForSelector(`#${id}[data-state="ready"]`);
    }
    assert.deepEqual(await page.$$eval(".problem:not([hidden])", (problems) => problems.map((p) => p.textContent)), []);
    assert.deepEqual(complaints, []);
  }));

for (const scheme of ["light", "dark"]) {
  test(`axe finds nothing serious, ${scheme}`, async () => {
    await withBrowser("chromium", async (browser) => {
      for (const path of APPLICATION_PAGES) {
        const page = await openForAxe(browser, address + path, scheme);
        for (const panel of await page.$$(".panel")) {
          await panel.evaluate((section) => section.scrollIntoView());
          await sleep(300);
        }
        await sleep(500);
        assert.deepEqual(await seriousFaults(page), [], path);
        await page.close();
      }
    });
  });
}

test("offline and isolated after the first visit", () =>
  withBrowser("chromium", async (browser) => {
    const { server: host, address: site } = await serveSite(siteFolder);
    const { page } = await open(browser, site);
    await page.evaluate(async () => {
      const { active } = await navigator.serviceWorker.ready;
      if (active.state !== "activated") await new Promise((resolve) => active.addEventListener("statechange", resolve));
    });
    host.closeAllConnections();
    await new Promise((resolve) => host.close(resolve));
    for (const path of APPLICATION_PAGES) {
      const { page: offline, complaints } = await open(browser, site + path);
      assert.equal(await offline.evaluate(() => crossOriginIsolated), true, path);
      assert.deepEqual(complaints, [], path);
    }
    const { page: lab } = await open(browser, `${site}index.html?one_pair.query=40`);
    await lab.$eval("#one_pair", (section) => section.scrollIntoView());
    await lab.waitForSelector('#one_pair[data-state="ready"]');
    assert.match(await lab.$eval("#one_pair figcaption", (caption) => caption.textContent), /by 4 radians/);
  }));

test("Lighthouse's accessibility and best practices of the first page", async () => {
  const { default: lighthouse } = await import("lighthouse");
  await withBrowser("chromium", async (browser) => {
    const port = Number(new URL(browser.wsEndpoint()).port);
    const { lhr } = await lighthouse(address, { port, onlyCategories: ["accessibility", "best-practices"] });
    for (const { id, score } of Object.values(lhr.categories)) assert.ok(score >= 0.95, `${id}: ${score}`);
  });
});
