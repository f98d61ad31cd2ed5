// The guide: its header and faces are the site's, its first page says how to install, and its search finds pages by the words people type.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { serveSite } from "../../scripts/site/serve.mjs";
import { siteFolder } from "../../scripts/site.mjs";
import { open, withBrowser } from "../browser/browsers.mjs";
import { openForAxe, seriousFaults } from "./axe.mjs";

let server, address;
before(async () => ({ server, address } = await serveSite(siteFolder)));
after(() => server.close());

/** What people type, and the page that should be first. */
const SEARCHES = {
  install: "Ropewalk guide",
  npm: "Ropewalk guide",
  "getting started": "Ropewalk guide",
  COOP: "Use threads",
  COEP: "Use threads",
  SharedArrayBuffer: "Use threads",
  crossOriginIsolated: "Use threads",
  CSP: "Load the package",
  "unsafe-eval": "Load the package",
  n_ctx: "Models",
  max_tokens: "Models",
  max_new_tokens: "Models",
  "context length": "Models",
  temperature: "Models",
  gguf: "Models",
  "chat template": "Models",
  embeddings: "Search by meaning",
  rerank: "Search by meaning",
  RAG: "Search by meaning",
  "tool calls": "OpenAI's shapes",
  "function calling": "OpenAI's shapes",
  ollama: "OpenAI's shapes",
  "json schema": "Structured output",
  grammar: "Structured output",
  huggingface: "Models by name",
  react: "Frameworks and bundlers",
  vite: "Frameworks and bundlers",
  rope_scaling: "Scaling types",
  neox: "Pairings",
  rotate_half: "Pairings",
  rope_theta: "Find out which RoPE a model uses",
  webgpu: "Limits",
  lora: "LoRA adapters",
  "transformers.js": "Coming from transformers.js, wllama, llama.cpp or transformers",
  wllama: "Coming from transformers.js, wllama, llama.cpp or transformers",
  mamba: "Recurrent layers",
  "tokens per second": "Speed of whole models",
  CLI: "Command line",
  abort: "Run a model",
  "kv cache": "KV caches",
  garbage: "Fix gibberish",
  OUT_OF_MEMORY: "Errors",
};

test("the search finds the right page first", () =>
  withBrowser("chromium", async (browser) => {
    const { page, complaints } = await open(browser, `${address}guide/index.html`);
    await page.click("#tsd-search-trigger");
    await page.waitForFunction(() => document.querySelector("#tsd-search-status")?.textContent.trim() === "");
    const found = {};
    for (const words of Object.keys(SEARCHES)) {
      await page.$eval(
        "#tsd-search-input",
        (input, text) => {
          document.querySelector("#tsd-search-results").replaceChildren();
          input.value = text;
          input.dispatchEvent(new Event("input"));
        },
        words,
      );
      found[words] = await page
        .waitForSelector("#tsd-search-results li")
        .then((first) => first.evaluate(({ textContent }) => textContent.trim()))
        .catch(() => "nothing");
    }
    assert.deepEqual(found, SEARCHES);
    assert.deepEqual(complaints, []);
  }));

test("the header is that of the other pages, in the same faces", () =>
  withBrowser("chromium", async (browser) => {
    const header = async (path) => {
      const { page } = await open(browser, address + path);
      await page.evaluate(() => document.fonts.ready);
      return page.$eval("header.site", (element) => ({
        links: Array.from(element.querySelectorAll(".name, nav a"), ({ href, textContent }) => [
          textContent.trim(),
          href,
        ]),
        font: getComputedStyle(element.querySelector(".name")).font,
        color: getComputedStyle(element.querySelector(".name")).color,
        left: element.querySelector(".name").getBoundingClientRect().left,
        faces: [...new Set([...document.fonts].filter(({ status }) => status === "loaded").map(({ family }) => family))]
          .filter((family) => !family.includes("fallback"))
          .sort(),
        ground: getComputedStyle(document.body).backgroundColor,
      }));
    };
    const models = await header("models/index.html");
    assert.equal(models.links.length, 6);
    for (const path of ["guide/index.html", "guide/documents/KV_caches.html", "guide/modules/ropewalk.html"])
      assert.deepEqual(await header(path), models, path);
  }));

test("the first page begins with the command that installs the package", () =>
  withBrowser("chromium", async (browser) => {
    const { page } = await open(browser, `${address}guide/index.html#install`);
    const commands = await page.$eval("h2", ({ id, nextElementSibling }) => {
      let text = "";
      for (let next = nextElementSibling; next?.localName !== "h2"; next = next.nextElementSibling)
        text += next.textContent;
      return id === "install" ? text : id;
    });
    assert.match(commands, /npm pack[^]*npm install \S*ropewalk-[\d.]+\.tgz/);
  }));

test("every page of docs/ fits a phone", () =>
  withBrowser("chromium", async (browser) => {
    const pages = (await readdir(join(siteFolder, "guide", "documents"))).map((name) => `guide/documents/${name}`);
    assert.ok(pages.length > 30);
    const { page } = await open(browser, `${address}guide/index.html`);
    await page.setViewport({ width: 360, height: 740 });
    for (const path of ["guide/index.html", ...pages]) {
      await page.goto(address + path, { waitUntil: "load" });
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(overflow, 0, path);
    }
  }));

for (const scheme of ["light", "dark"])
  test(`axe finds nothing serious, ${scheme}`, async () => {
    await withBrowser("chromium", async (browser) => {
      for (const path of ["guide/index.html", "guide/documents/KV_caches.html", "guide/documents/Scaling_types.html"]) {
        const page = await openForAxe(browser, address + path, scheme);
        await sleep(500);
        assert.deepEqual(await seriousFaults(page), [], path);
      }
    });
  });
