// Three panels of the Lab in each browser: Past the window, How exact, Other positions. The numbers on the page are compared with the papers'
// formulas. The site is in build/site/.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { SITE_BROWSERS, open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";

const root = join(import.meta.dirname, "..", "..");

let site;

before(async () => {
  // the pages have a policy of their own
  site = await serve({ "/": { folder: join(root, "build", "site"), csp: "object-src 'none'" } });
});

after(() => site?.close());

const panels = { "past the window": useScaling, "how exact": useExact, "other positions": useSchemes };

for (const name of SITE_BROWSERS) {
  test(name, (t) =>
    withBrowser(name, async (browser) => {
      for (const [title, use] of Object.entries(panels))
        await t.test(title, async () => {
          const { page, complaints } = await open(browser, `${site.origin}/index.html`);
          await use(page);
          assert.deepEqual(complaints, []);
          await page.close();
        });
    }),
  );
}

/** Scrolls to a panel and waits until it has drawn. */
async function start(page, id) {
  await page.$eval(`#${id}`, (section) => section.scrollIntoView());
  await page.waitForFunction(
    (panel) => ["ready", "failed"].includes(document.getElementById(panel).dataset.state),
    {},
    id,
  );
  assert.equal(await page.$eval(`#${id}`, (section) => section.dataset.state), "ready");
}

/** Waits until a panel has drawn what its form says. */
const drawn = (page) =>
  page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

/** Sets controls of a panel as a user would, in one drawing. A boolean checks or unchecks one. */
async function set(page, id, values) {
  const change = (section, wanted) => {
    for (const [name, value] of Object.entries(wanted)) {
      const control = section.querySelector(`[name=${name}]`);
      if (typeof value === "boolean") control.checked = value;
      else control.value = String(value);
      control.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };
  await page.$eval(`#${id}`, change, values);
  await drawn(page);
}

/** Presses a key in a control. */
async function press(page, id, name, key) {
  await page.$eval(`#${id} [name=${name}]`, (control) => control.focus());
  await page.keyboard.press(key);
  await drawn(page);
}

/** The texts of a panel's table, by a data attribute of its rows. */
const rowsOf = (page, id, attribute) =>
  page.$$eval(
    `#${id} tbody tr`,
    (rows, data) =>
      Object.fromEntries(
        rows.map((row) => [row.dataset[data], [...row.querySelectorAll("td")].map((cell) => cell.textContent)]),
      ),
    attribute,
  );

const textOf = (page, selector) => page.$eval(selector, (element) => element.textContent);
const near = (actual, expected, share, what) =>
  assert.ok(Math.abs(actual - expected) <= share * Math.abs(expected), `${what}: ${actual}, expected ${expected}`);
const parsed = (text) => Number(text.replaceAll(",", ""));

// Qwen2.5 7B
const [BASE, DIM, TRAINED] = [1e6, 128, 32768];
const PAIRS = Array.from({ length: DIM / 2 }, (_, j) => j);
const rotations = (j) => (TRAINED * BASE ** ((-2 * j) / DIM)) / (2 * Math.PI);
/** YaRN, section 3.2: the pair with so many rotations in the trained length. */
const pairWith = (beta) => (DIM * Math.log(TRAINED / (beta * 2 * Math.PI))) / (2 * Math.log(BASE));

async function useScaling(page) {
  await start(page, "scaling");
  const rows = async () => {
    const names = ["factor", "kept", "between", "divided", "newAngles", "attentionFactor", "scores"];
    const texts = await rowsOf(page, "scaling", "scaling");
    return Object.fromEntries(
      Object.entries(texts).map(([id, cells]) => [
        id,
        Object.fromEntries(cells.map((cell, i) => [names[i], parsed(cell)])),
      ]),
    );
  };
  const lineOf = (id) =>
    page.$$eval(
      "#scaling-ramp path",
      (paths, stroke) => {
        const path = paths.find((one) => (one.closest("[stroke]") ?? one).getAttribute("stroke") === stroke);
        return [...path.getAttribute("d").matchAll(/(-?[\d.]+),(-?[\d.]+)/g)].map((point) => Number(point[2]));
      },
      `var(--${id})`,
    );

  const first = await rows();
  assert.deepEqual(Object.keys(first), ["plain", "linear", "ntk", "yarn"]);
  const slow = PAIRS.filter((j) => rotations(j) < 1);
  assert.equal(first.plain.newAngles, slow.length);
  assert.deepEqual(first.linear, {
    factor: 4,
    kept: 0,
    between: 0,
    divided: 64,
    newAngles: 0,
    attentionFactor: 1,
    scores: 1,
  });
  checkYarn(first.yarn, 4, 32, 1);
  // with the base b · s^(d/(d−2)), all slow pairs but the last go past their trained angles
  const ntkBase = BASE * 4 ** (DIM / (DIM - 2));
  const reached = slow.filter(
    (j) => 4 * TRAINED * ntkBase ** ((-2 * j) / DIM) > TRAINED * BASE ** ((-2 * j) / DIM) * (1 + 1e-9),
  );
  assert.equal(first.ntk.newAngles, reached.length);
  assert.match(await textOf(page, "#scaling-ramp figcaption"), new RegExp(`pairs ${reached[0]} to ${reached.at(-1)} `));

  // PI divides every pair by the factor; NTK-aware goes in a straight line from 1 to that
  const [linear, ntk] = [await lineOf("linear"), await lineOf("ntk")];
  for (const y of linear) near(y, linear[0], 1e-3, "PI");
  for (const j of PAIRS)
    near(ntk[j], ntk[0] + ((linear[0] - ntk[0]) * j) / (PAIRS.length - 1), 1e-2, `NTK-aware, pair ${j}`);
  await set(page, "scaling", { custom: true, power: 0 });
  (await lineOf("custom")).forEach((y, j) => near(y, linear[j], 1e-3, "custom, power 0"));
  await set(page, "scaling", { power: 1 });
  (await lineOf("custom")).forEach((y, j) => near(y, ntk[j], 1e-3, "custom, power 1"));

  await set(page, "scaling", { custom: false, factor: "8" });
  checkYarn((await rows()).yarn, 8, 32, 1);
  await page.waitForFunction(() => location.search.includes("scaling.factor=8"));

  await set(page, "scaling", { factor: "4", llama3: true, dynamic: true });
  const { llama3, dynamic } = await rows();
  assert.equal(llama3.kept, PAIRS.filter((j) => rotations(j) > 4).length);
  assert.equal(llama3.divided, slow.length);
  assert.equal(dynamic.factor, 4 * 4 - 3);
  await set(page, "scaling", { length: 25 });
  assert.equal((await rows()).dynamic.kept, 64);
  await set(page, "scaling", { length: 100, llama3: false, dynamic: false });

  await press(page, "scaling", "beta_fast", "End");
  assert.equal(await textOf(page, "#scaling [data-of=beta_fast]"), "64 rotations");
  await set(page, "scaling", { beta_fast: 16, beta_slow: 4 });
  checkYarn((await rows()).yarn, 4, 16, 4);
  if (page.mouse) await dragLimit(page);

  assert.match(await textOf(page, "#scaling-weights figcaption"), /Attention factor 1\.139: scores are 1\.296 times/);
  assert.match(await textOf(page, "#scaling-decay figcaption"), /unscaled [\d,]+; PI .*; YaRN /);

  await set(page, "scaling", { config: "phi-3.5-mini", longrope: true });
  // LongRoPE: √(1 + ln s / ln L), with the released model's s = 32
  near((await rows()).longrope.attentionFactor, Math.sqrt(1 + Math.log(32) / Math.log(4096)), 1e-3, "LongRoPE");
  await set(page, "scaling", { config: "qwen2.5-7b" });
  assert.equal((await rows()).longrope, undefined);
}

function checkYarn(row, factor, fast, slow) {
  const [low, high] = [Math.floor(pairWith(fast)), Math.ceil(pairWith(slow))];
  assert.equal(row.kept, low + 1);
  assert.equal(row.divided, DIM / 2 - high);
  const attentionFactor = 0.1 * Math.log(factor) + 1;
  near(row.attentionFactor, attentionFactor, 1e-3, "attention factor");
  near(row.scores, attentionFactor ** 2, 1e-3, "factor of scores");
}

/** Drags the line of beta_fast from 16 rotations to the left, where pairs have more. */
async function dragLimit(page) {
  const line = await page.$$eval("#scaling-ramp svg line", (lines) => {
    lines[0].scrollIntoView({ block: "center" });
    const limit = lines.find((one) => (one.closest("[stroke]") ?? one).getAttribute("stroke") === "var(--yarn)");
    const { x, y, height } = limit.getBoundingClientRect();
    return { x, y: y + height / 2 };
  });
  await page.mouse.move(line.x, line.y);
  await page.mouse.down();
  await page.mouse.move(line.x - 60, line.y, { steps: 3 });
  await page.mouse.up();
  await drawn(page);
  const dragged = await page.$eval("#scaling [name=beta_fast]", ({ value }) => Number(value));
  assert.ok(dragged > 20, `beta_fast is ${dragged}`);
}

async function useExact(page) {
  await start(page, "exact");
  const documented = (await readFile(join(root, "docs", "accuracy.md"), "utf8"))
    .match(/<!-- accuracy -->([\s\S]*)<!-- \/accuracy -->/)[1]
    .matchAll(/^\| (\d+) \|(.*)\|$/gm);
  const rows = await rowsOf(page, "exact", "position");
  for (const [, position, cells] of documented) {
    const [exact, hf, , ggml] = cells.split("|").map(Number);
    const expected = [exact, hf, ggml];
    rows[position].forEach((cell, i) => near(Number(cell), expected[i], 0.07, `error at ${position}`));
  }
  await press(page, "exact", "position", "Home");
  assert.equal(await textOf(page, "#exact [data-of=position]"), "64");
  await press(page, "exact", "position", "End");
  assert.equal(await textOf(page, "#exact [data-of=position]"), "16,777,216");
  const said = await textOf(page, "#exact-by_position figcaption");
  near(Number(/Ropewalk ([\d.e-]+)/.exec(said)[1]), 2 ** -25, 0.02, "the error of Ropewalk");
}

async function useSchemes(page) {
  await start(page, "schemes");
  const rows = async () => {
    const texts = await rowsOf(page, "schemes", "scheme");
    return Object.fromEntries(
      Object.entries(texts).map(([id, [seen, own, , distance]]) => [
        id,
        { seen: Number(seen), own: parseFloat(own) / 100, distance: Number(distance) },
      ]),
    );
  };
  /** The weight of a query's own token and its mean distance, from the scores by distance. */
  const softmax = (score, count = 64) => {
    const weights = Array.from({ length: count }, (_, distance) => Math.exp(score(distance)));
    const sum = weights.reduce((a, b) => a + b);
    const distance = weights.reduce((total, weight, d) => total + (weight / sum) * d, 0);
    return { own: weights[0] / sum, distance };
  };
  const alibi = (distance) => -distance / 8; // the third slope of eight heads, 2^(−8 · 3/8)
  const rope = (distance) =>
    (2 *
      0.7 ** 2 *
      Array.from({ length: 32 }, (_, j) => Math.cos(distance * 10000 ** (-j / 32))).reduce((a, b) => a + b)) /
    8;
  const check = (row, expected, what) => {
    near(row.own, expected.own, 6e-3, `${what}: own weight`);
    near(row.distance, expected.distance, 1e-2, `${what}: mean distance`);
  };

  const first = await rows();
  for (const { seen } of Object.values(first)) assert.equal(seen, 64);
  check(
    first.none,
    softmax(() => 0),
    "none",
  );
  check(first.alibi, softmax(alibi), "ALiBi");
  check(first.rope, softmax(rope), "RoPE");

  await set(page, "schemes", { window: 12 });
  const windowed = await rows();
  for (const [id, { seen }] of Object.entries(windowed)) assert.equal(seen, id === "linear" ? 64 : 12, id);
  check(windowed.rope, softmax(rope, 12), "RoPE in a window");
  /** Number of cells of the map that aren't transparent. */
  const cells = () =>
    page.$eval("#schemes-map image", async (image) => {
      const picture = Object.assign(new Image(), { src: image.href.baseVal });
      await picture.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 64 });
      const context = canvas.getContext("2d");
      context.drawImage(picture, 0, 0);
      return context.getImageData(0, 0, 64, 64).data.filter((value, i) => i % 4 === 3 && value > 0).length;
    });
  const visible = (sinks) => {
    const seen = (query) => Math.min(query + 1, 12) + Math.min(sinks, Math.max(0, query - 11));
    return Array.from({ length: 64 }, (_, query) => seen(query)).reduce((a, b) => a + b);
  };
  assert.equal(await cells(), visible(0));
  await press(page, "schemes", "sinks", "End");
  assert.equal((await rows()).alibi.seen, 20);
  assert.equal(await cells(), visible(8));
  await set(page, "schemes", { scheme: "linear" });
  assert.match(await textOf(page, "#schemes-map figcaption"), /linear, RoPE\. Query 63 attends to 64 tokens/);

  await set(page, "schemes", { window: 64, scheme: "rope", query: 20 });
  assert.equal((await rows()).rope.seen, 21);
  if (page.mouse) {
    const map = await page.$eval("#schemes-map svg", (svg) => {
      svg.scrollIntoView({ block: "center" });
      const { x, y, width, height } = svg.getBoundingClientRect();
      return { x: x + width / 2, y: y + height / 2 };
    });
    await page.mouse.click(map.x, map.y);
    await drawn(page);
    const query = await page.$eval("#schemes [name=query]", ({ value }) => Number(value));
    assert.ok(query > 25 && query < 40, `query ${query}`);
  }

  await page.$eval("#schemes .more", (details) => (details.open = true));
  const memory = () => page.$eval("#schemes-memory", ({ dataset }) => ({ ...dataset }));
  const before = await memory();
  await press(page, "schemes", "length", "End");
  const longest = await memory();
  assert.equal(longest.linear, before.linear);
  assert.equal(longest.window, before.window);
  near(Number(longest.cache), 2 ** 20 * 2 * 32 * 8 * 128 * 2, 1e-3, "the KV cache");
  near(Number(longest.linear), 32 * 8 * 128 * 129 * 8, 1e-3, "the state of linear attention");
}
