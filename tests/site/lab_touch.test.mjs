// The Lab by touch, on an emulated phone in Chromium: what can be dragged, every slider, and what a finger can hit. Needs the built site.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serveSite } from "../../scripts/site/serve.mjs";
import { siteFolder } from "../../scripts/site.mjs";
import { open, withBrowser } from "../browser/browsers.mjs";

const PHONE = { width: 360, height: 740, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
const PANELS = ["one_pair", "clocks", "pairings", "distance", "scaling", "live", "exact", "schemes"];
/** Smallest side of a target, in CSS pixels: WCAG 2.2, success criterion 2.5.8. */
const TARGET = 24;

let server, address;
before(async () => ({ server, address } = await serveSite(siteFolder)));
after(() => server.close());

/** Opens the Lab on the phone, and waits for a panel. */
async function openPanel(browser, id) {
  const { page } = await open(browser, "about:blank");
  await page.setViewport(PHONE);
  await page.goto(`${address}index.html`, { waitUntil: "load" });
  await page.$eval(`#${id}`, (section) => section.scrollIntoView());
  await page.waitForSelector(`#${id}[data-state=ready]`);
  return page;
}

/** Moves a finger from one point to another. */
async function swipe(page, [fromX, fromY], [toX, toY]) {
  await page.touchscreen.touchStart(fromX, fromY); // the browser ignores moves of less than 15 pixels
  for (const t of [0.1, 0.25, 0.5, 0.75, 1])
    await page.touchscreen.touchMove(fromX + t * (toX - fromX), fromY + t * (toY - fromY));
  await page.touchscreen.touchEnd();
  await drawn(page);
}

const drawn = (page) =>
  page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
const valueOf = (page, panel, name) => page.$eval(`#${panel} [name=${name}]`, ({ value }) => Number(value));
const captionOf = (page, figure) => page.$eval(`#${figure} figcaption`, (caption) => caption.textContent);

/** Brings an element to the middle of the screen, and returns its box. */
const boxOf = (page, selector) =>
  page.$eval(selector, (element) => {
    element.scrollIntoView({ block: "center" });
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x, y, width, height };
  });

/** The middle of a mark in a chart, which is brought to the middle of the screen: the one of its kind with this color. */
const middleOf = (page, selector, color, index = 0) =>
  page.$$eval(
    selector,
    (marks, fill, at) => {
      const found = marks.filter((mark) => (mark.closest("[fill]") ?? mark).getAttribute("fill") === fill)[at];
      found.ownerSVGElement.scrollIntoView({ block: "center" });
      const { x, y, width, height } = found.getBoundingClientRect();
      return [x + width / 2, y + height / 2];
    },
    color,
    index,
  );

test("dragging by touch", (t) =>
  withBrowser("chromium", async (browser) => {
    await t.test("a hand of the clock", async () => {
      const page = await openPanel(browser, "one_pair");
      const [x, y] = await middleOf(page, "#one_pair-hands circle", "var(--query)");
      const dial = await boxOf(page, "#one_pair-hands svg");
      // the hand points to 2.4 rad; straight up is π/2, 8 positions earlier
      const center = [dial.x + dial.height / 2, dial.y + dial.height / 2];
      await swipe(page, [x, y], [center[0], center[1] - Math.hypot(x - center[0], y - center[1])]);
      assert.equal(await valueOf(page, "one_pair", "query"), 16);
      assert.match(await captionOf(page, "one_pair-hands"), /rotated by 1\.6 radians, the key by 0\.9/);
    });

    await t.test("the dot on the curve", async () => {
      const page = await openPanel(browser, "one_pair");
      const [x, y] = await middleOf(page, "#one_pair-score circle", "var(--chosen)");
      const perPosition = await page.$eval(
        "#one_pair-score svg",
        (svg) => svg.scale("x").apply(1) - svg.scale("x").apply(0),
      );
      await swipe(page, [x, y], [x - 10 * perPosition, y]);
      assert.match(await captionOf(page, "one_pair-score"), /^At distance 5 the score is 1,/);
    });

    await t.test("the line of the trained length", async () => {
      const page = await openPanel(browser, "distance");
      const [x, y] = await middleOf(page, "#distance-scores circle", "var(--trained)");
      await swipe(page, [x, y], [x - 40, y]);
      const text = await captionOf(page, "distance-scores");
      const length = Number(/trained length of ([\d,]+) tokens/.exec(text)[1].replaceAll(",", ""));
      assert.ok(length > 500 && length < 2500, text);
    });

    await t.test("the two limits of YaRN", async () => {
      const page = await openPanel(browser, "scaling");
      for (const [index, name] of ["beta_fast", "beta_slow"].entries()) {
        const [x, y] = await middleOf(page, "#scaling-ramp circle[r='8']", "var(--yarn)", index);
        const first = await valueOf(page, "scaling", name);
        await swipe(page, [x, y], [x - 30, y]);
        assert.ok((await valueOf(page, "scaling", name)) > first, `${name} after ${first}`);
      }
    });

    await t.test("a row of the attention map", async () => {
      const page = await openPanel(browser, "schemes");
      const map = await boxOf(page, "#schemes-map image");
      await page.touchscreen.tap(map.x + map.width / 4, map.y + (map.height * 20.5) / 64);
      await drawn(page);
      assert.equal(await valueOf(page, "schemes", "query"), 20);
      assert.match(await captionOf(page, "schemes-map"), /Query 20 attends to 21 tokens/);
    });
  }));

test("every slider follows a finger, and the panel says its value", (t) =>
  withBrowser("chromium", async (browser) => {
    for (const panel of PANELS)
      await t.test(panel, async () => {
        const page = await openPanel(browser, panel);
        const names = await page.$$eval(`#${panel} input[type=range]`, (ranges) =>
          ranges.filter((range) => range.checkVisibility()).map(({ name }) => name),
        );
        assert.ok(names.length > 0);
        for (const name of names) {
          const range = `#${panel} [name=${name}]`;
          const { x, y, width, height } = await boxOf(page, range);
          const [share, to, before] = await page.$eval(range, ({ value, min, max, labels }) => {
            const from = (value - min) / (max - min);
            return [from, from > 0.5 ? 0.25 : 0.75, labels[0].querySelector("output").textContent];
          });
          const thumb = 16; // its middle doesn't reach the ends of the track
          const at = (part) => [x + thumb / 2 + part * (width - thumb), y + height / 2];
          await swipe(page, at(share), at(to));
          const [now, said] = await page.$eval(range, ({ value, min, max, labels }) => [
            (value - min) / (max - min),
            labels[0].querySelector("output").textContent,
          ]);
          assert.ok(Math.abs(now - to) < 0.09, `${name}: ${now}, expected ${to}`);
          assert.notEqual(said, before, name);
        }
      });
  }));

test("a finger that scrolls over a chart moves the page, and nothing else", () =>
  withBrowser("chromium", async (browser) => {
    const page = await openPanel(browser, "scaling");
    const { x, y, width, height } = await boxOf(page, "#scaling-ramp svg");
    const top = await page.evaluate(() => scrollY);
    await swipe(page, [x + width / 2, y + height / 2], [x + width / 2, y + height / 2 - 150]);
    await page.waitForFunction((before) => scrollY > before + 80, {}, top);
    assert.deepEqual(
      [await valueOf(page, "scaling", "beta_fast"), await valueOf(page, "scaling", "beta_slow")],
      [32, 1],
    );
  }));

test(`every target is at least ${TARGET} pixels high and wide on a phone`, () =>
  withBrowser("chromium", async (browser) => {
    for (const panel of PANELS) {
      const page = await openPanel(browser, panel);
      const small = await page.$$eval(
        `#${panel} :is(input, select, button, summary), .contents a, header a`,
        (controls, least) =>
          controls
            .filter((control) => control.checkVisibility())
            .map((control) => {
              // a label is part of the target of its box or button
              const isBox = control.type === "checkbox" || control.type === "radio";
              const { width, height } = (isBox ? control.closest("label") : control).getBoundingClientRect();
              return { name: control.name || control.textContent, width, height };
            })
            .filter(({ width, height }) => Math.min(width, height) < least)
            .map(({ name, width, height }) => `${name}: ${width} × ${height}`),
        TARGET,
      );
      assert.deepEqual(small, [], panel);
    }
  }));
