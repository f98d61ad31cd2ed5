// Runs models with the shapes of released ones and random weights as a user would: `ropewalk inspect`, `generate` or `embed`, and the models
// page in Chromium. Prints a row for each, and fails if one doesn't work.
//
//   npm run build && npm run site
//   node tests/bench/try_released.mjs            all shapes
//   node tests/bench/try_released.mjs lfm2-350m  only these
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { runMain } from "../../scripts/run.mjs";
import { open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";
import { modelFile } from "./models/model_file.mjs";
import { SHAPES } from "./random_model/shapes.mjs";

const root = join(import.meta.dirname, "..", "..");
const TOKENS = 8;
const PAGE_MS = 10 * 60_000;

async function ropewalk(...args) {
  const { stdout } = await promisify(execFile)("node", [join(root, "dist", "cli.node.js"), ...args], {
    maxBuffer: 2 ** 26,
  });
  return stdout;
}

/** The number of parameters that `inspect` prints, and whether the model generates text. */
async function inspect(path) {
  return JSON.parse(await ropewalk("inspect", path, "--json")).model;
}

async function generate(path) {
  const text = await ropewalk(
    "generate",
    path,
    "Once",
    "--max-tokens",
    String(TOKENS),
    "--temperature",
    "0",
    "--context",
    "64",
  );
  assert.ok(text.trim().length > "Once".length, text);
}

async function embed(path) {
  const { dimensions, embeddings } = JSON.parse(await ropewalk("embed", path, "Once", "--json"));
  const [{ vector }] = embeddings;
  assert.ok(vector.length === dimensions && vector.every(Number.isFinite));
}

/** A chat, or a search among texts, in the models page. */
async function useInPage(browser, origin, { address, generates }) {
  const { page, complaints } = await open(browser, `${origin}/models/index.html`);
  page.setDefaultTimeout(PAGE_MS);
  const click = (selector) => page.$eval(selector, (element) => element.click());
  await page.$eval("[name=address]", (input, to) => (input.value = to), origin + address);
  await click("#by-address button");
  await page.waitForFunction(() =>
    ["#problem", "#chat", "#texts"].some((part) => document.querySelector(part).checkVisibility()),
  );
  const problem = await page.$eval("#problem", (part) => (part.checkVisibility() ? part.textContent.trim() : ""));
  assert.equal(problem, "");
  if (generates) {
    await page.$eval("[name=maxTokens]", (input, count) => (input.value = count), String(TOKENS));
    await page.$eval("#message", (message) => (message.value = "Once"));
    await click("#send");
    await page.waitForFunction(() => document.querySelector("#speed").textContent.includes("tokens/s"));
  } else {
    await click("#search .main");
    await page.waitForFunction(() => document.querySelector("#search-state").textContent.includes(" texts in "));
  }
  assert.deepEqual(complaints, []);
  await page.close();
}

await runMain(import.meta.url, async (names) => {
  const unknown = names.filter((name) => !(name in SHAPES));
  if (unknown.length > 0)
    throw new Error(`the shapes are ${Object.keys(SHAPES).join(", ")} (got ${unknown.join(", ")})`);
  const site = await serve({
    "/": { folder: join(root, "build", "site"), csp: "object-src 'none'" },
    "/build/models/": { folder: join(root, "build", "models") },
  });
  try {
    await withBrowser(
      "chromium",
      async (browser) => {
        for (const shape of names.length > 0 ? names : Object.keys(SHAPES)) {
          const type = SHAPES[shape].layers * SHAPES[shape].hidden > 20_000 ? "q4_k_m" : "q8_0";
          const { path, address } = await modelFile(shape, type);
          const { parameters, generates } = await inspect(path);
          if (SHAPES[shape].parameters !== undefined) assert.equal(parameters, SHAPES[shape].parameters);
          await (generates ? generate : embed)(path);
          await useInPage(browser, site.origin, { address, generates });
          const megabytes = ((await stat(path)).size / 2 ** 20).toFixed(0);
          console.log(
            `${shape}, ${type}: ${parameters.toLocaleString("en")} parameters, ${megabytes} MiB: inspect, ${generates ? "generate" : "embed"}, page`,
          );
        }
      },
      { timeoutMs: PAGE_MS },
    );
  } finally {
    await site.close();
  }
});
