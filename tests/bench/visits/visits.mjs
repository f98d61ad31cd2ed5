// The first and the second visit of a page in Chromium, each in a process of its own, the second with what the first has kept: scripts, wasm, and a model
// in the browser's cache. With the wasm compiled from bytes, as the package does, and while it streams, which Chromium keeps compiled.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open, withBrowser } from "../../browser/browsers.mjs";
import { serve } from "../../browser/server.mjs";
import { median } from "../measure.mjs";
import { modelFile } from "../models/model_file.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
const WAYS = { bytes: "compiled from bytes", streamed: "compiled while it streams" };
const STAGES = {
  imported: "import",
  loaded: "load()",
  opened: "model()",
  read: "a prompt of 32",
  together: "together",
};
const VISITS = ["first", "second"];
const ROUNDS = 15;
/** Chromium keeps compiled code some seconds after it was made. */
const KEEPING_MS = 3000;

async function visit(profile, origin, address, way) {
  let times;
  await withBrowser(
    "chromium",
    async (browser) => {
      const { page } = await open(browser, `${origin}/tests/bench/visits/index.html`);
      await page.waitForFunction(() => globalThis.isReady);
      times = await page.evaluate((...args) => globalThis.visit(...args), address, way);
      await new Promise((resolve) => setTimeout(resolve, KEEPING_MS));
    },
    { profile },
  );
  return times;
}

/** Returns lines with milliseconds, which have no goals. */
export async function benchVisits() {
  const { address } = await modelFile("smollm2-135m", "q4_0");
  const csp = "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; worker-src 'self' blob:";
  const server = await serve({ "/": { folder: root, csp, isCacheable: true } });
  const samples = {};
  try {
    for (let round = 0; round < ROUNDS; round++)
      for (const way of Object.keys(WAYS)) {
        const profile = await mkdtemp(join(tmpdir(), "ropewalk-visits-"));
        for (const number of VISITS)
          for (const [stage, ms] of Object.entries(await visit(profile, server.origin, address, way)))
            (samples[`${number} visit, ${WAYS[way]}: ${STAGES[stage]}`] ??= []).push(ms);
        await rm(profile, { recursive: true, force: true });
      }
  } finally {
    await server.close();
  }
  return Object.entries(samples).map(([name, each]) => ({ name, value: median(each), unit: "ms" }));
}
