// The story page, which generates one story with three models, in browsers with its strict Content-Security-Policy.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "../../examples/serve.mjs";
import { BROWSERS, hasNarrowWindow, open, withBrowser } from "../browser/browsers.mjs";

/** Three Workers generate at the same time, possibly on one processor. */
const TIMEOUT_MS = 120_000;

for (const name of BROWSERS) {
  test(`the story page, in ${name}`, async (t) => {
    const { server, address } = await serve(0);
    try {
      await withBrowser(name, (browser) => useStoryPage(t, browser, new URL("../story_page/", address).href, name), {
        timeoutMs: TIMEOUT_MS,
      });
    } finally {
      server.close();
    }
  });
}

async function useStoryPage(t, browser, address, name) {
  const { page, complaints } = await open(browser, address);
  page.setDefaultTimeout(TIMEOUT_MS);
  const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
  const isIdle = () => page.waitForFunction(() => !document.querySelector("#generate").disabled);
  /** The progress line is updated once a frame, so it may lag behind the text. */
  const waitForState = (id, text) =>
    page.waitForFunction(
      (state, begin) => document.querySelector(state).textContent.startsWith(begin),
      {},
      `#${id} .state`,
      text,
    );
  /** The contents of a column: its RoPE, `[right, asked]` for each 256 words, marked words, and heights of the bars. */
  const column = async (id) => ({
    rope: await textOf(`#${id} .rope`),
    answers: [...(await textOf(`#${id} .answers-text`)).matchAll(/(\d+) of (\d+)/g)].map(([, right, asked]) => [
      Number(right),
      Number(asked),
    ]),
    marked: await page.$$eval(`#${id} mark`, (marks) =>
      marks.map(({ className, textContent }) => `${className} ${textContent}`),
    ),
    heights: await page.$$eval(`#${id} .answers .right`, (bars) =>
      bars.map((bar) => Number(bar.getAttribute("height"))),
    ),
    state: await textOf(`#${id} .state`),
  });
  const sum = (answers, i) => answers.reduce((total, one) => total + one[i], 0);
  const share = (answers) => sum(answers, 0) / sum(answers, 1);

  await t.test("starts by itself, and YaRN recalls facts that the plain model forgets", async () => {
    await isIdle();
    const [plain, stretched, tuned] = [await column("plain"), await column("stretched"), await column("tuned")];
    assert.deepEqual(
      [plain.rope, stretched.rope, tuned.rope],
      ["RoPE plain, base 10,000", "RoPE yarn, base 10,000, factor 4", "RoPE yarn, base 10,000, factor 4"],
    );
    for (const { answers } of [plain, stretched, tuned]) {
      assert.equal(answers.length, 4);
      assert.ok(share(answers.slice(0, 1)) > 0.8, `within the trained length: ${answers[0]}`);
    }
    assert.ok(share(plain.answers.slice(2)) < 0.5, `${plain.answers}`);
    for (const { answers } of [stretched, tuned]) assert.ok(share(answers.slice(2)) > 0.7, `${answers}`);
  });

  await t.test("marks each answer, and draws their counts", async () => {
    for (const id of ["plain", "stretched", "tuned"]) {
      await waitForState(id, "1,024 of 1,024 words");
      const { answers, marked, heights, state } = await column(id);
      assert.equal(marked.length, sum(answers, 1));
      assert.equal(marked.filter((mark) => mark.startsWith("right ")).length, sum(answers, 0));
      for (const mark of marked) assert.match(mark, /^(right|wrong) [a-z]+$/);
      assert.deepEqual(
        heights.map((height) => Math.round(height)),
        answers.map(([right, asked]) => Math.round((56 * right) / asked)),
      );
      assert.match(state, /^1,024 of 1,024 words, [\d,.]+ tokens\/s$/);
      assert.equal(await textOf(`#${id} .limit`), "256 words: trained length");
    }
  });

  await t.test("follows the settings", async () => {
    await page.select("select[name=words]", "512");
    await page.select("select[name=scaling]", "linear");
    const before = await textOf("#plain .story");
    await page.$eval("input[name=seed]", (input) => (input.value = 2));
    await page.click("#generate");
    await isIdle();
    const [stretched, tuned] = [await column("stretched"), await column("tuned")];
    assert.deepEqual(
      [stretched.rope, tuned.rope],
      ["RoPE linear, base 10,000, factor 2", "RoPE yarn, base 10,000, factor 4"],
    );
    assert.equal(stretched.answers.length, 2);
    assert.ok(sum(stretched.answers, 0) <= 2, `PI without fine-tuning should fail: ${stretched.answers}`);
    assert.ok(share(tuned.answers) > 0.8, `${tuned.answers}`);
    assert.notEqual((await textOf("#plain .story")).slice(0, 200), before.slice(0, 200));
  });

  await t.test("stops, and generates again", async () => {
    await page.select("select[name=words]", "4096");
    await page.click("#generate");
    await page.waitForFunction(() => / of 4,096 words/.test(document.querySelector("#plain .state").textContent));
    await page.click("#stop");
    await isIdle();
    assert.ok((await textOf("#plain .story")).length < 15_000, "the story was stopped early");
    await page.select("select[name=words]", "512");
    await page.click("#generate");
    await isIdle();
    await waitForState("plain", "512 of 512 words");
    assert.equal(await page.$eval("#problem", (problem) => problem.checkVisibility()), false);
  });

  await t.test("fits a narrow window", { skip: !hasNarrowWindow(name) }, async () => {
    await page.setViewport({ width: 390, height: 800 });
    assert.ok(await page.evaluate(() => innerWidth === 390 && document.documentElement.scrollWidth <= 390));
  });

  await t.test("logs no errors or policy violations", () => assert.deepEqual(complaints, []));
}
