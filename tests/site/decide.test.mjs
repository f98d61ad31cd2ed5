// The typed questions of the page of models: answered again as one types, and shown for models that can be asked.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "ropewalk";
import { tinyModelBytes } from "../../examples/make_tiny_model.mjs";
import { open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";

const root = join(import.meta.dirname, "..", "..");

test("typed questions on the page of models, in chromium", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-decide-"));
  const file = join(folder, "chat.gguf");
  await writeFile(file, tinyModelBytes());
  const site = await serve({ "/": { folder: join(root, "build", "site"), csp: "object-src 'none'" } });
  try {
    await withBrowser("chromium", async (browser) => {
      const { page, complaints } = await open(browser, `${site.origin}/models/index.html`);
      await useQuestions(page, file);
      assert.deepEqual(complaints, []);
    });
  } finally {
    await site.close();
    await rm(folder, { recursive: true });
  }
});

async function useQuestions(page, file) {
  const upload = async (path) => (await page.$("#files")).uploadFile(path);
  const has = (selector, text) =>
    page.waitForFunction((one, wanted) => document.querySelector(one).textContent.includes(wanted), {}, selector, text);
  const rows = (question) =>
    page.$$eval(`#decide-${question} tr`, (all) =>
      all.map((row) => [row.cells[0].textContent, row.querySelector("meter").value]),
    );
  const names = async (question) => (await rows(question)).map(([name]) => name);
  const set = (control, value) =>
    page.$eval(
      `#decide-form [name=${control}]`,
      (field, to) => {
        field.value = to;
        field.dispatchEvent(new Event("input", { bubbles: true }));
      },
      value,
    );
  const isShown = () => page.$eval("#decide", (section) => section.checkVisibility());

  await page.click("#small");
  await has("#model-name", "model.q8_0.gguf");
  assert.equal(await isShown(), false); // it has no chat template
  await upload(file);
  await has("#decide-state", " tokens read in ");
  assert.equal(await isShown(), true);
  assert.deepEqual(await names("choice"), ["billing", "delivery", "bug", "other"]);
  assert.deepEqual(await names("score"), ["0 can wait", "1 this week", "2 today"]);

  const rw = await load();
  const model = await rw.model(file);
  const state = await page.$eval("#decide-text", ({ value }) => value);
  const { answers } = await model.decide(state, { wet: { type: "boolean", instructions: "Is the writer angry?" } });
  model.dispose();
  const [[yes, probability]] = await rows("boolean");
  assert.equal(yes, "yes");
  assert.ok(Math.abs(probability - answers.wet.probability) < 1e-6); // the page may have the relaxed build

  await set("options", "rope: about a rope\nother");
  await page.waitForFunction(() => document.querySelectorAll("#decide-choice tr").length === 2);
  assert.deepEqual(await names("choice"), ["rope", "other"]);
  await set("levels", "one");
  await has("#decide-state", "must have 2 to 10 levels");
}
