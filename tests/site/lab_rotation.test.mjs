// Panels 1 to 4 of the Lab in each browser: what a reader does, and the numbers that the page then shows. Needs the built site.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serveSite } from "../../scripts/site/serve.mjs";
import { siteFolder } from "../../scripts/site.mjs";
import { SITE_BROWSERS, inOwnPage, withBrowser } from "../browser/browsers.mjs";

const root = join(import.meta.dirname, "..", "..");

let server, address;
before(async () => ({ server, address } = await serveSite(siteFolder)));
after(() => server.close());

/** Opens the Lab and waits for a panel. */
async function openPanel(page, id, parameters = "") {
  await page.goto(`${address}index.html${parameters}`);
  await page.evaluate((panel) => document.getElementById(panel).scrollIntoView(), id);
  await page.waitForFunction((panel) => document.getElementById(panel).dataset.state === "ready", {}, id);
}

/** Sets a control as a user would, and returns a caption of the panel after the next drawing. */
function change(page, panel, name, value, figure) {
  return page.evaluate(
    async (id, control, to, caption) => {
      const section = document.getElementById(id);
      const found = section.querySelector(`form.controls`).elements.namedItem(control);
      const element = found instanceof RadioNodeList ? [...found].find((radio) => radio.value === to) : found;
      if (element.type === "radio" || element.type === "checkbox")
        element.checked = to === element.value || to === true;
      else element.value = to;
      element.dispatchEvent(new Event("input", { bubbles: true }));
      for (let i = 0; i < 3; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
      return section.querySelector(`#${id}-${caption} figcaption`).textContent;
    },
    panel,
    name,
    String(value),
    figure,
  );
}

const captionOf = (page, figure) => page.$eval(`#${figure} figcaption`, (caption) => caption.textContent);
const numberAfter = (text, words) => Number(new RegExp(`${words} (-?[\\d.,]*\\d)`).exec(text)[1].replaceAll(",", ""));

/** Drags from one point of a figure's chart to another, in pixels of the chart. */
async function drag(page, figure, [fromX, fromY], [toX, toY]) {
  const [left, top] = await page.$eval(`#${figure} .drag-area`, (area) => {
    area.scrollIntoView({ block: "center" });
    const box = area.getBoundingClientRect();
    return [box.left, box.top];
  });
  const points = [0, 0.25, 0.5, 0.75, 1].map((t) => [
    left + fromX + t * (toX - fromX),
    top + fromY + t * (toY - fromY),
  ]);
  if (page.mouse === undefined) return dragByEvents(page, points);
  await page.mouse.move(...points[0]);
  await page.mouse.down();
  for (const point of points.slice(1)) await page.mouse.move(...point);
  await page.mouse.up();
}

/** For WebKit, whose pages have no mouse here. */
function dragByEvents(page, points) {
  return page.evaluate(async (all) => {
    const fire = (type, [clientX, clientY]) =>
      document
        .elementFromPoint(clientX, clientY)
        .dispatchEvent(new MouseEvent(type, { clientX, clientY, view: window, bubbles: true, cancelable: true }));
    fire("mousedown", all[0]);
    for (const point of all.slice(1)) fire("mousemove", point);
    fire("mouseup", all.at(-1));
  }, points);
}

const tasks = {
  async "one pair: the score depends on the distance only"(page) {
    await openPanel(page, "one_pair");
    const score = numberAfter(await captionOf(page, "one_pair-score"), "the score is");
    assert.ok(Math.abs(score - Math.cos(1.5 - 0.5)) < 1e-3);
    const moved = await change(page, "one_pair", "shift", 40, "score");
    assert.equal(numberAfter(moved, "the score is"), score);
    const nearer = await change(page, "one_pair", "query", 22, "score");
    assert.notEqual(numberAfter(nearer, "the score is"), score);

    await page.$eval("#one_pair [name=shift]", (range) => range.focus());
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.querySelector("#one_pair output[data-of=shift]").textContent === "64");

    await change(page, "one_pair", "shift", 0, "score");
    const value = () => page.$eval("#one_pair [name=query]", (range) => Number(range.value));
    await change(page, "one_pair", "query", 0, "score");
    const size = await page.$eval("#one_pair-hands svg", (svg) => svg.height.baseVal.value);
    const [center, radius] = [size / 2, size / 2 / 1.34];
    await drag(page, "one_pair-hands", [center + radius, center], [center, center - radius]); // a quarter of the circle
    assert.ok(Math.abs((await value()) - Math.PI / 2 / 0.1) <= 1, `query at ${await value()}`);
  },

  async "one pair: the example of the guide"(page) {
    await openPanel(page, "one_pair");
    await page.click("#one_pair .more summary");
    const text = () => page.$eval("#one_pair-text", (element) => element.textContent);
    const next = async () => {
      const before = await text();
      await page.click('#one_pair [data-step="1"]');
      await page.waitForFunction((old) => document.querySelector("#one_pair-text").textContent !== old, {}, before);
      return text();
    };
    const texts = [];
    for (let step = 2; step <= 7; step++) texts.push(await next());
    // the numbers of docs/rope_and_yarn_from_zero.md
    assert.match(texts[3], /2\.5091/);
    assert.match(texts[4], /still 2\.5091/);
    assert.match(texts[5], /4\.4224/);
    assert.equal(await page.$eval('#one_pair [data-step="1"]', (button) => button.disabled), true);
  },

  async "clocks: pairs that never complete a turn"(page) {
    await openPanel(page, "clocks");
    assert.match(await captionOf(page, "clocks-wavelengths"), /18 of 64 pairs never complete a turn within 4,096/);
    await change(page, "clocks", "config", "llama-3.1-8b", "wavelengths");
    const plain = await change(page, "clocks", "scaled", false, "wavelengths");
    const wavelengths = Array.from({ length: 64 }, (_, pair) => 2 * Math.PI * 5e5 ** ((2 * pair) / 128));
    const slow = wavelengths.filter((wavelength) => wavelength > 8192).length;
    assert.match(plain, new RegExp(`${slow} of 64 pairs never complete a turn within 8,192`));
    assert.equal((await page.$$("#clocks li.incomplete")).length, slow);

    await page.waitForFunction(() => location.search.includes("clocks.config=llama-3.1-8b"));
    await openPanel(page, "clocks", await page.evaluate(() => location.search));
    assert.equal(await captionOf(page, "clocks-wavelengths"), plain);
  },

  async "clocks: play, and a config of one's own"(page) {
    await openPanel(page, "clocks");
    const position = () => page.$eval("#clocks [name=position]", (range) => Number(range.value));
    assert.equal(await position(), 3000);
    await page.click("#clocks [data-action=play]");
    await page.waitForFunction(() => Number(document.querySelector("#clocks [name=position]").value) > 3003);
    await page.click("#clocks [data-action=play]");
    assert.equal(await page.$eval("#clocks [data-action=play]", (button) => button.textContent), "Play");

    const drop = (name, text) =>
      page.evaluate(
        async (fileName, content) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([content], fileName));
          const section = document.querySelector("#clocks");
          section.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
        },
        name,
        text,
      );
    const config = JSON.parse(await readFile(join(root, "examples", "configs", "gemma-3-1b.json"), "utf8"));
    await drop("config.json", JSON.stringify(config));
    await page.waitForFunction(() =>
      /^config\.json/.test(document.querySelector("#clocks-wavelengths figcaption").textContent),
    );
    assert.match(await captionOf(page, "clocks-wavelengths"), /48 of 128 pairs/);
    const input = await page.$("#clocks [name=file]");
    await input.uploadFile(join(root, "examples", "small_model", "model.q8_0.gguf"));
    await page.waitForFunction(() =>
      /9 of 16 pairs/.test(document.querySelector("#clocks-wavelengths figcaption").textContent),
    );
    await drop("config.json", "{");
    await page.waitForFunction(() => document.querySelector("#clocks .problem")?.hidden === false);
  },

  async "pairings: the wrong one changes scores, and converted weights restore them"(page) {
    await openPanel(page, "pairings");
    const pictures = await page.$$eval("#pairings-pictures figcaption", (all) => all.map((one) => one.textContent));
    assert.match(pictures[0], /\(0, 1\) \(2, 3\) \(4, 5\) \(6, 7\)/);
    assert.match(pictures[1], /\(0, 4\) \(1, 5\) \(2, 6\) \(3, 7\)/);
    for (const trained of ["half", "interleaved"]) {
      const caption = await change(page, "pairings", "trained", trained, "scores");
      assert.match(caption, new RegExp(`^Right pairing \\(${trained}\\): the highest score is at distance 12\\.`));
      assert.ok(numberAfter(caption, "scores are off by up to") > 1);
      const [, restored] = /off by at most ([\d.e-]+\d)/.exec(caption);
      assert.ok(Number(restored) < 1e-5, caption);
    }
  },

  async "pairings: in a real model"(page) {
    await openPanel(page, "pairings");
    await page.click("#pairings [data-action=try]");
    await page.waitForFunction(() => document.querySelectorAll("#pairings-model tbody tr").length === 2);
    const rows = await page.$$eval("#pairings-model tbody tr", (all) =>
      all.map((row) => [...row.cells].map((cell) => cell.textContent)),
    );
    assert.match(rows[0][1], /^… garden\./);
    assert.ok(Number(rows[0][2]) < 2 && Number(rows[1][2]) > 4, rows.join("\n"));
  },

  async "distance: the first negative score"(page) {
    await openPanel(page, "distance");
    assert.match(await captionOf(page, "distance-scores"), /first below zero at distance 1,707, within .* 4,096/);
    const larger = await change(page, "distance", "base", 5.7, "scores");
    assert.match(larger, /^Base 500,000.*distance 16,384|^Base 500,000/);
    assert.equal(await page.$eval("#distance [name=config]", (list) => list.value), "own");
    const llama3 = await change(page, "distance", "config", "llama-3.1-8b", "scores");
    assert.match(llama3, /^Base 500,000, 128 elements\. .* distance 18,438, beyond the trained length of 8,192/);
    for (const curve of ["random", "bound"]) await change(page, "distance", "curve", curve, "scores");

    const x = await page.$eval("#distance-scores svg", (svg) => svg.scale("x").apply(8192));
    await drag(page, "distance-scores", [x, 100], [x - 40, 100]);
    const window = await page.$eval("#distance [name=window]", (range) => Number(range.value));
    assert.ok(window < 12.9, `2^${window} tokens`);
  },
};

for (const name of SITE_BROWSERS) {
  test(`the Lab in ${name}`, async (t) => {
    await withBrowser(name, async (browser) => {
      for (const [title, task] of Object.entries(tasks)) await t.test(title, () => inOwnPage(browser, task));
    });
  });
}
