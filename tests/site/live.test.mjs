// The live model of the Lab in each browser. The first view is the committed result; the model that runs in the page must give the same answers.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { SITE_BROWSERS, hasNarrowWindow, open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";

const root = join(import.meta.dirname, "..", "..");
const TIMEOUT_MS = 120_000;
const committed = JSON.parse(await readFile(join(root, "examples/small_model/results/switched.json"), "utf8"));

let site;
before(async () => {
  // the pages have a policy of their own
  site = await serve({ "/": { folder: join(root, "build", "site"), csp: "object-src 'none'" } });
});
after(() => site?.close());

for (const name of SITE_BROWSERS)
  test(`the live model, in ${name}`, (t) =>
    withBrowser(name, (browser) => useLive(t, browser, name), { timeoutMs: TIMEOUT_MS }));

/** What the strip says of a run with a switch to `later`. */
function expectedText(later, label) {
  const all = [...committed.before.answers, ...committed.after[later].answers];
  const count = (from, to) => {
    const asked = all.filter(([at]) => at >= from && at < to);
    return `${asked.filter(([, , right]) => right === 1).length} of ${asked.length}`;
  };
  const { at, length } = committed;
  return [
    `Within its 256 tokens, with plain RoPE: ${count(0, 256)} answers right.`,
    `From token 256 to ${at}, with plain RoPE: ${count(256, at)} right.`,
    `From token ${at} to ${length}, with ${label}: ${count(at, length)} right.`,
  ].join(" ");
}

async function useLive(t, browser, name) {
  const { page, complaints } = await open(browser, `${site.origin}/index.html?live.speed=0#live`);
  page.setDefaultTimeout(TIMEOUT_MS);
  const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
  const isShown = (selector) => page.$eval(selector, (element) => element.checkVisibility());
  const strip = () => textOf("#live-strip figcaption");
  // a hidden strip keeps the text of the last run that it showed
  const waitForStrip = (text) =>
    page.waitForFunction(
      (wanted) =>
        document.querySelector("#live-strip").checkVisibility() &&
        document.querySelector("#live-strip figcaption").textContent === wanted,
      {},
      text,
    );
  const click = (selector) => page.$eval(selector, (element) => element.click());
  const set = (control, value) =>
    page.$eval(
      `#live [name=${control}]`,
      (input, to) => {
        input.value = to;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      },
      value,
    );

  await t.test("shows the committed result without the model", async () => {
    await page.$eval("#live", (section) => section.scrollIntoView());
    await page.waitForSelector("#live[data-state=ready]");
    assert.equal(await strip(), expectedText("yarn", "YaRN"));
    const marks = await page.$$eval("#live-strip text", (texts) => texts.map((text) => text.textContent));
    const right = [...committed.before.answers, ...committed.after.yarn.answers].filter(([, , is]) => is === 1).length;
    assert.equal(marks.filter((mark) => mark === "✓").length, right);
    const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
    assert.deepEqual(
      loaded.filter((address) => address.includes(".gguf")),
      [],
    );
  });

  await t.test("shows the committed result of another scaling", async () => {
    await set("later", "linear");
    await waitForStrip(expectedText("linear", "PI"));
    await set("later", "yarn");
    await waitForStrip(expectedText("yarn", "YaRN"));
  });

  await t.test("shows the measured recall of a run that wasn't measured", async () => {
    await set("first", "ntk");
    await page.waitForFunction(() => !document.querySelector("#live-strip").checkVisibility());
    assert.match(
      await textOf("#live-recall figcaption"),
      /From 1024 words on: \d+\s% with NTK-aware, \d+\s% with YaRN\.$/,
    );
    assert.equal(await isShown("#live-recall"), true);
    await set("first", "none");
    await waitForStrip(expectedText("yarn", "YaRN"));
  });

  await t.test("a dropped file doesn't replace the page", async () => {
    const isKept = (type) =>
      page.evaluate((type) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["{}"], "config.json"));
        const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
        return !document.querySelector("h1").dispatchEvent(event);
      }, type);
    for (const type of ["dragover", "drop"]) assert.equal(await isKept(type), true, type);
  });

  await t.test(
    "a story number becomes a whole number from 1, and an own story shows no charts before it is told",
    async () => {
      for (const [typed, becomes] of [
        ["0", "1"],
        ["-3", "1"],
        ["2.6", "3"],
        ["", "1"],
      ]) {
        await set("seed", typed);
        await page.$eval("#live [name=seed]", (input) => input.dispatchEvent(new Event("change", { bubbles: true })));
        assert.equal(await page.$eval("#live [name=seed]", ({ value }) => value), becomes);
      }
      await waitForStrip(expectedText("yarn", "YaRN"));
      await set("text", "tell");
      await page.waitForFunction(() => !document.querySelector("#live-strip").checkVisibility());
      for (const part of ["loss", "recall", "attention-part"])
        assert.equal(await isShown(`#live-${part}`), false, part);
      await set("text", "read");
      await page.waitForFunction(() => document.querySelector("#live-strip").checkVisibility());
    },
  );

  await t.test("a download that fails ends in a message, and the button tries again", async () => {
    await page.evaluate(() => {
      const real = globalThis.fetch;
      globalThis.fetch = (address, options) =>
        String(address).includes(".gguf") ? Promise.reject(new TypeError("no network")) : real(address, options);
      globalThis.restoreFetch = () => (globalThis.fetch = real);
    });
    await click("#live-load");
    await page.waitForFunction(() => document.querySelector("#live-problem").checkVisibility());
    assert.match(await textOf("#live-problem"), /^model\.q8_0\.gguf can't be downloaded/);
    assert.equal(await textOf("#live-load"), "Try again");
    await page.evaluate(() => globalThis.restoreFetch());
  });

  await t.test("reads the story here, with the same answers", async () => {
    await click("#live-load");
    await page.waitForFunction(() => document.querySelector("#live-again").checkVisibility());
    assert.equal(await isShown("#live-problem"), false);
    assert.equal(await strip(), expectedText("yarn", "YaRN"));
    assert.match(
      await textOf("#live-state"),
      /^2,048 of 2,048 tokens, [\d,.]+ tokens\/s\. Switched to YaRN at token 768: 12,288 cached keys rotated in [\d.]+ ms, no token read again\.$/,
    );
    assert.match(await textOf("#live-loss figcaption"), /^Perplexity of each 32 tokens/);
    await page.$eval("#live details", (details) => (details.open = true));
    await set("position", 400);
    await page.waitForFunction(() => document.querySelectorAll("#live-story mark").length > 0);
    const marks = await page.$$eval("#live-story mark", (all) => all.map(({ className }) => className));
    assert.equal(marks.length, committed.before.answers.length + committed.after.yarn.answers.length);
  });

  await t.test("switches in mid-sentence, while it reads", async () => {
    await set("at", 2048); // the switch comes by hand
    await page.waitForFunction(() => /^[2-9]\d\d of/.test(document.querySelector("#live-state").textContent));
    await click("#live-here");
    await page.waitForFunction(() => document.querySelector("#live-again").checkVisibility());
    const [, at] = /Switched to YaRN at token (\d+): /.exec(await textOf("#live-state"));
    assert.ok(Number(at) >= 200 && Number(at) < 2048, at);
  });

  await t.test("tells a story of its own", async () => {
    await set("at", 768);
    await set("text", "tell");
    await page.waitForFunction(() => /^[1-9]\d\d of/.test(document.querySelector("#live-state").textContent));
    await click("#live-pause");
    await page.waitForFunction(() => document.querySelector("#live-pause").textContent === "Read on");
    assert.match(await textOf("#live-story"), /^The red ball is in the garden\. [A-Z]/);
    assert.match(await strip(), /^Within its 256 tokens, with plain RoPE: \d+ of \d+ answers right\./);
    await set("text", "read");
  });

  await t.test("shows a head that finds the fact with YaRN, and not without", async () => {
    await click("#live-attention-part summary");
    await click("#live-attend");
    await page.waitForFunction(() => document.querySelector("#live-attention").checkVisibility());
    const text = await textOf("#live-weights figcaption");
    const [, plain, yarn] =
      /On the word to find, “shed” at token 418: (?:under )?([\d.]+)\s% before \(plain RoPE\), ([\d.]+)\s% after \(YaRN\)/.exec(
        text,
      );
    assert.ok(Number(plain) < 5 && Number(yarn) > 95, text);
    // the word that the head reads without YaRN is the wrong answer
    assert.match(text, new RegExp(`With plain RoPE it mostly reads “${committed.before.answers.at(-1)[3]}”`));
    await set("head", 4);
    await page.waitForFunction(() =>
      document.querySelector("#live-weights figcaption").textContent.startsWith("Layer 2, head 4"),
    );
  });

  await t.test("fits a narrow window", { skip: !hasNarrowWindow(name) }, async () => {
    await page.setViewport({ width: 360, height: 740 });
    await page.waitForFunction(() => document.documentElement.scrollWidth <= 360);
  });

  await t.test("logs no errors or policy violations", () => assert.deepEqual(complaints, []));
}
