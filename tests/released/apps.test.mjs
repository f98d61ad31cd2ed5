// Released models in the command line, and on the site's models page in Chromium.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { capture } from "../../scripts/run.mjs";
import { open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";
import { released } from "./files.mjs";

const root = join(import.meta.dirname, "..", "..");
const name = "SmolLM2-135M-Instruct.Q4_1.gguf";
const path = join(released.smollm2, name);
const QUESTION = "Write a Python function that adds two numbers.";
const ANSWER = /return \w+ \+ \w+/;

const ropewalk = (...args) => capture("node", [join(root, "dist", "cli.node.js"), ...args]);

test("inspect: its parameters and its RoPE", async () => {
  const { model, ropes } = JSON.parse(await ropewalk("inspect", path, "--json"));
  assert.equal(model.parameters, 134_515_008);
  assert.equal(model.trainedLength, 8192);
  assert.equal(ropes.length, 1);
  const { rope_theta, head_dim, pairing } = ropes[0].config;
  assert.deepEqual({ rope_theta, head_dim, pairing }, { rope_theta: 100_000, head_dim: 64, pairing: "interleaved" });
});

test("generate: a greedy answer to a chat", async () => {
  const text = await ropewalk("generate", path, QUESTION, "--chat", "--max-tokens", "48", "--temperature", "0");
  assert.match(text, ANSWER);
});

test("embed: a sentence is nearer to its paraphrase", async () => {
  const texts = ["A cat sits on the mat.", "On the rug there is a kitten.", "The stock market fell on Tuesday."];
  const { dimensions, embeddings } = JSON.parse(await ropewalk("embed", released.minilm, ...texts, "--json"));
  assert.equal(dimensions, 384);
  const [cat, kitten, market] = embeddings.map(({ vector }) => vector);
  const cosine = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  assert.ok(cosine(cat, kitten) > cosine(cat, market) + 0.3);
});

let site;
before(async () => {
  site = await serve({
    "/": { folder: join(root, "build", "site"), csp: "object-src 'none'" },
    "/smollm2/": { folder: released.smollm2 },
    "/minilm/": { folder: released.minilm },
  });
});
after(() => site?.close());

test("the models page, in Chromium", { timeout: 900_000 }, (t) =>
  withBrowser("chromium", async (browser) => {
    const { page, complaints } = await open(browser, `${site.origin}/models/index.html`);
    page.setDefaultTimeout(300_000);
    const click = (selector) => page.$eval(selector, (element) => element.click());
    const set = (control, value) =>
      page.$eval(
        `[name=${control}]`,
        (input, to) => {
          input.value = to;
          input.dispatchEvent(new Event("input", { bubbles: true }));
        },
        value,
      );
    const has = (selector, text) =>
      page.waitForFunction(
        (one, wanted) => document.querySelector(one).textContent.includes(wanted),
        {},
        selector,
        text,
      );
    const download = async (address) => {
      await set("address", site.origin + address);
      await click("#by-address button");
    };

    await t.test("downloads SmolLM2 and chats", async () => {
      await download(`/smollm2/${name}`);
      await has("#model-facts", "llama · 134,515,008 parameters in q4_1, q8_0");
      await set("maxTokens", 48);
      await set("temperature", 0);
      await page.$eval("#message", (message, text) => (message.value = text), QUESTION);
      await click("#send");
      await has("#speed", "tokens/s");
      await page.waitForFunction(() => !document.querySelector("#send").disabled);
      const answers = await page.$$eval("#log .assistant", (lines) => lines.map((line) => line.textContent));
      assert.equal(answers.length, 1);
      assert.match(answers[0], ANSWER);
      t.diagnostic(await page.$eval("#speed", (element) => element.textContent));
    });

    await t.test("extends its context", async () => {
      await set("context", "16384");
      await has("#rope", "yarn, base 100,000, factor 2");
      await has("#log", "The cached keys of ");
    });

    await t.test("searches with MiniLM", async () => {
      await download("/minilm/");
      await has("#texts-facts", "It embeds texts in 384 dimensions.");
      await page.$eval("#query", (input) => (input.value = "Where is the kitten?"));
      await page.$eval("#searched", (input) => (input.value = "The stock market fell.\n\nA cat sits on the mat."));
      await click("#search .main");
      await has("#search-state", "2 texts in ");
      const rows = await page.$$eval("#found tr td:last-child", (cells) => cells.map((cell) => cell.textContent));
      assert.equal(rows[0], "A cat sits on the mat.");
    });

    assert.deepEqual(complaints, []);
  }),
);
