// Serves the web page of docs/run_a_model.md with the Content-Security-Policy that the page requires, and uses it in each browser.
import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { BROWSERS, open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";
import { blocksOf, read, root } from "./guide_page.mjs";

const models = join(root, "examples", "small_model");

for (const name of BROWSERS) {
  test(`the page of run_a_model.md, in ${name}`, async (t) => {
    const folder = join(root, "build", "texts", `page_${process.pid}_${name}`);
    const guide = await read("docs/run_a_model.md");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "index.html"), blocksOf(guide, "html page").join("\n"));
    await writeFile(join(folder, "app.mjs"), blocksOf(guide, "js page").join("\n"));
    const site = await serve({
      "/app/": { folder, packages: { "ropewalk/worker": "/ropewalk/worker.js" } },
      "/ropewalk/": { folder: join(root, "dist") },
      "/models/": { folder: models },
    });
    try {
      await withBrowser(name, (browser) => usePage(t, browser, `${site.origin}/app/index.html`));
    } finally {
      await site.close();
      await rm(folder, { recursive: true });
    }
  });
}

async function usePage(t, browser, address) {
  const { page, complaints } = await open(browser, address);
  const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
  const about = (text) =>
    page.waitForFunction((wanted) => document.getElementById("about").textContent.includes(wanted), {}, text);

  await t.test("loads the model and shows progress", async () => {
    await about("model.q8_0.gguf, ");
    assert.equal(await page.$eval("progress", (bar) => bar.value), 1);
  });

  await t.test("continues the text", async () => {
    await page.click("form button");
    await page.waitForFunction(() => document.querySelector("output").textContent.split(" ").length > 20);
    assert.match(await textOf("output"), /^The red ball is in the garden\. [A-Z]/);
  });

  await t.test("opens the files of a folder", async () => {
    const input = await page.$("[type=file]");
    await input.uploadFile(...["config.json", "tokenizer.json", "model.safetensors"].map((file) => join(models, file)));
    await about("model.safetensors, ");
  });

  await t.test("logs no errors or policy violations", () => assert.deepEqual(complaints, []));
}
