// The examples as a user runs them: the scripts as programs, the page in browsers under its strict policy.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { serve } from "../../examples/serve.mjs";
import { capture } from "../../scripts/run.mjs";
import { BROWSERS, open, withBrowser } from "../browser/browsers.mjs";

const examples = join(import.meta.dirname, "..", "..", "examples");
const runExample = (name, ...args) => capture(process.execPath, [join(examples, name), ...args]);
const config = (name) => join(examples, "configs", `${name}.json`);

describe("rotate.mjs", () => {
  test("shows what a rotation keeps", async () => {
    const output = await runExample("rotate.mjs");
    assert.match(output, /^llama: 64 pairs in heads of 128, half pairing/);
    assert.match(output, /\|Rq\| \/ \|q\| = 1\.00000/);
    const scores = [...output.matchAll(/q · k = (\S+)/g)].map(([, score]) => score);
    assert.equal(scores.length, 4);
    assert.equal(new Set(scores).size, 1, `scores at other places differ: ${scores}`);
    assert.match(output, /without copies: largest difference 0\./);
  });

  for (const name of ["qwen2.5-7b", "phi-3.5-mini", "deepseek-v3", "gpt-oss-20b"]) {
    test(`takes the config of ${name}`, async () => {
      const output = await runExample("rotate.mjs", config(name));
      const [, kept, factor] = /\|q\| = (\S+), the attention factor (\S+)\./.exec(output);
      assert.equal(kept, factor);
    });
  }

  test("names the kinds of layer where a model has several", async () => {
    await assert.rejects(runExample("rotate.mjs", config("gemma-3-1b")), /layer_type: .*full_attention, sliding_attention/);
    assert.match(await runExample("rotate.mjs", config("gemma-3-1b"), "sliding_attention"), /^gemma3_text: 128 pairs/);
  });
});

describe("extend_context.mjs", () => {
  test("compares the ways to stretch Qwen2.5 by 4", async () => {
    const output = await runExample("extend_context.mjs");
    assert.match(output, /trained on 32768 positions, stretched by 4 to 131072/);
    assert.match(output, /multiplied by 1\.138629, so logits by 1\.296477/); // the YaRN paper's 0.1 ln 4 + 1, and its square
    assert.match(output, /^ {2}yarn +4 +24 \/ +16 \/ +24 +1\.1386 /m);
    const [, difference] = /against fresh ones: largest difference (\S+)/.exec(output);
    assert.ok(Number(difference) < 1e-6, difference); // two roundings to f32 against one, of values up to 1.14
    assert.doesNotMatch(output, /\u001b/, "no colours when piped");
  });

  test("takes any config and factor", async () => {
    for (const name of ["llama-3.1-8b", "gemma-3-1b", "deepseek-v3"]) {
      assert.match(await runExample("extend_context.mjs", config(name), "8"), /stretched by 8/);
    }
  });
});

test("onnxruntime.mjs: another engine turns by our tables to the same bits", async () => {
  const lines = (await runExample("onnxruntime.mjs")).trim().split("\n");
  assert.equal(lines.length, 4);
  for (const line of lines) assert.match(line, /largest difference 0$/);
});

for (const name of BROWSERS) {
  test(`the page, in ${name}`, async (t) => {
    const { server, address } = await serve(0);
    try {
      await withBrowser(name, (browser) => usePage(t, browser, address));
    } finally {
      server.close();
    }
  });
}

async function usePage(t, browser, address) {
  const { page, complaints } = await open(browser, address);
  const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
  const heightsOf = (selector) => page.$$eval(selector, (bars) => bars.map((bar) => Number(bar.getAttribute("height"))));
  await page.waitForSelector("#decay path");

  await t.test("draws both curves, a bar a pair, and arrows", async () => {
    const curves = await page.$$eval("#decay .curve", (paths) => paths.map((path) => path.getAttribute("d").split("L").length));
    assert.equal(curves.length, 2);
    for (const points of curves) assert.ok(points > 100, `${points} points`);
    assert.equal((await heightsOf("#pairs rect")).length, 64);
    assert.equal((await page.$$("#turning figure")).length, 8);
    assert.equal(await textOf("#pairs-text"), "Of 64 pairs: 24 kept, 16 blended, 24 interpolated.");
    assert.equal(await textOf("#decay-text"), "Unscaled, the score is first below zero at distance 27,115; scaled, it is first below zero at distance 66,234.");
  });

  await t.test("follows the settings", async () => {
    await page.select("select[name=type]", "linear");
    assert.equal(await textOf("#pairs-text"), "Of 64 pairs: 64 interpolated.");
    await page.select("select[name=model]", "deepseek-v3");
    await page.select("select[name=type]", "released");
    assert.match(await textOf("#facts"), /stretched positions163,840stretch of the plan× 40/);
    assert.ok(new Set(await heightsOf("#pairs rect")).size > 5);
  });

  await t.test("turns the pairs as the position moves", async () => {
    await page.$eval("#position", (slider) => {
      slider.value = 0;
      slider.dispatchEvent(new Event("input"));
    });
    assert.equal(await textOf("#position-shown"), "0");
    const labels = await page.$$eval("#turning svg", (drawings) => drawings.map((drawing) => drawing.getAttribute("aria-label")));
    for (const label of labels) assert.match(label, /becomes \(1\.000, 0\.000\)/);
  });

  await t.test("fits a narrow window", async () => {
    await page.setViewport({ width: 390, height: 800 });
    assert.ok(await page.evaluate(() => innerWidth === 390 && document.documentElement.scrollWidth <= 390));
  });

  await t.test("gives no cause for complaint", () => assert.deepEqual(complaints, []));
}

test("the server keeps to its folders and sends a strict policy", async () => {
  const { server, address } = await serve(0);
  try {
    const { status, headers } = await fetch(address);
    assert.equal(status, 200);
    assert.equal(headers.get("content-security-policy"), "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'");
    for (const path of ["/package.json", "/examples/..%2fpackage.json", "/examples/%", "/dist/none.js", "/examples/rotate.mjs"]) {
      assert.equal((await fetch(new URL(path, address))).status, 404, path);
    }
  } finally {
    server.close();
  }
});
