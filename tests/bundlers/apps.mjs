// Builds the apps in app/ with a bundler, runs them in a browser, and checks what they show. Each app gets a folder with the packed package
// installed, which is installed once for all of them and copied.
import assert from "node:assert/strict";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { transform } from "esbuild";
import { CONFIG_LIMIT } from "../unit/startup_size.mjs";
import { open, withBrowser } from "../browser/browsers.mjs";
import { WORKED_EXAMPLE } from "../browser/pages/worked_example.mjs";
import { serve } from "../browser/server.mjs";
import { installPackage, makeFolder, removeFolder, root } from "../browser/tarball.mjs";

/** What an app shows for a build. */
const rotatedBy = (build) => [build, ...WORKED_EXAMPLE].join(" ");

/** What an app shows that loads both builds. */
const BOTH_BUILDS = { simd: rotatedBy("simd"), relaxed: rotatedBy("relaxed") };

/** What an app shows that asks for three threads. */
const THREADS = { "in the page": "3", "in a worker": "3" };

/** Calls `use` with a folder in which the package is installed. */
async function withPackage(use) {
  const folder = await makeFolder();
  try {
    await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
    await installPackage(folder);
    await use(folder);
  } finally {
    await removeFolder(folder);
  }
}

/** Calls `use` with the folder of an app, in which all of `installed` is, and an output folder next to it. */
async function withApp(entry, installed, use) {
  const parent = await makeFolder();
  const [app, out] = [join(parent, "app"), join(parent, "out")];
  try {
    await cp(join(root, "tests", "bundlers", "app"), app, {
      recursive: true,
      filter: (path) => !ENTRIES.some((name) => path.endsWith(`${name}.js`)),
    });
    await cp(join(root, "tests", "bundlers", "app", `${entry}.js`), join(app, "main.js"));
    await cp(join(root, "tests", "browser", "pages", "worked_example.mjs"), join(app, "worked_example.js"));
    await mkdir(join(app, "public")); // Vite copies the files of this folder unchanged
    if (entry === "model_worker")
      await cp(join(root, "tests", "golden", "tiny_models", "llama", "model.gguf"), join(app, "public", "model.gguf"));
    await cp(installed, app, { recursive: true });
    await use({ app, out });
  } finally {
    await removeFolder(parent);
  }
}

/** Copies the page and the files it fetches next to the built main.js, for bundlers that don't handle HTML. */
export async function addPage({ app, out }) {
  await cp(join(app, "index.html"), join(out, "index.html"));
  await cp(join(app, "public"), out, { recursive: true });
}

/** The text that the app with a model in a Worker shows, generated in Node: with the simd build a seed gives the same text everywhere. */
async function generatedIn(app) {
  const { load } = await import(pathToFileURL(join(app, "node_modules", "ropewalk", "dist", "index.node.js")).href);
  const model = await (await load({ build: "simd" })).model(join(app, "public", "model.gguf"));
  let text = "";
  for await (const piece of model.generate("the cat", { maxTokens: 20, seed: 7, ignoreEnd: true })) text += piece.text;
  model.dispose();
  return text;
}

/** The relative paths of all files in a folder. */
async function filesOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1))
    .sort();
}

/** The text of each JavaScript file that was built. */
async function scriptsOf(out) {
  const names = (await filesOf(out)).filter((name) => name.endsWith(".js"));
  return Promise.all(names.map((name) => readFile(join(out, name), "utf8")));
}

/** Opens an app and returns what it shows, by name, and the browser's complaints. */
async function read(browser, address) {
  const { page, complaints } = await open(browser, address);
  const shown = await page.evaluate(async () => {
    await globalThis.finished;
    return Object.fromEntries(
      Array.from(document.querySelectorAll("dt"), (term) => [term.textContent, term.nextSibling.textContent]),
    );
  });
  await page.close();
  return { shown, complaints };
}

/** Serves the built app under the strict policy, and returns what it shows and which wasm files it fetched. */
async function run(browser, entry, out) {
  const site = await serve({ "/": { folder: out, isIsolated: entry === "threads" } });
  try {
    const { shown, complaints } = await read(browser, `${site.origin}/`);
    return {
      shown,
      complaints,
      wasm: site.requests
        .filter((path) => path.endsWith(".wasm"))
        .map((path) => path.slice(1))
        .sort(),
    };
  } finally {
    await site.close();
  }
}

const isWasm = (name) => name.endsWith(".wasm");

/** The checks of each app. `wasm` is the pattern of the wasm files' names, `files` lists the built files, and `limit` is the size of the scripts. */
const checks = {
  async plain({ shown, complaints, ...site }, { built, wasm }) {
    assert.deepEqual({ shown, complaints }, { shown: BOTH_BUILDS, complaints: [] });
    assert.deepEqual(site.wasm, built.filter(isWasm));
    assert.match(site.wasm.join(" "), wasm);
  },

  async inline(site, { built, files = built }) {
    assert.deepEqual(site, { shown: BOTH_BUILDS, complaints: [], wasm: [] });
    assert.deepEqual(built.filter(isWasm), []);
    assert.deepEqual(built, files);
  },

  async own_address({ shown, complaints, ...site }, { wasm }) {
    assert.deepEqual({ shown, complaints }, { shown: { simd: rotatedBy("simd") }, complaints: [] });
    assert.match(site.wasm.join(" "), wasm);
  },

  async in_worker({ shown }) {
    assert.deepEqual(shown, { worker: rotatedBy("simd") });
  },

  async model_worker({ shown }, { app }) {
    assert.deepEqual(shown, { text: await generatedIn(app) });
  },

  async threads({ shown, complaints }) {
    assert.deepEqual({ shown, complaints }, { shown: THREADS, complaints: [] });
  },

  async config_only(site, { out, built, files = built }) {
    const scripts = await scriptsOf(out);
    assert.doesNotMatch(scripts.join("\n"), /instantiateWasm/);
    // not every bundler minifies
    const minified = await Promise.all(scripts.map((script) => transform(script, { minify: true, format: "esm" })));
    const bytes = minified.reduce((sum, { code }) => sum + code.length, 0);
    // every bundler adds a little of its own
    assert.ok(bytes < CONFIG_LIMIT * 1024 + 1500, `${bytes} bytes`);
    assert.deepEqual(built, files);
    assert.deepEqual(site, { shown: { rope_theta: "1000000" }, complaints: [], wasm: [] });
  },
};

const ENTRIES = Object.keys(checks);

/**
 * Tests a bundler. Each row has a title, the entry of an app, a function that builds the app, and what its check expects of the output. A row with
 * `serve` instead of `build` returns the address of a development server, and a function that closes it.
 */
export function testApps(bundler, rows) {
  test(bundler, (t) =>
    withPackage((installed) =>
      withBrowser("chromium", async (browser) => {
        for (const { title, entry, build, serve: develop, ...expected } of rows) {
          const runRow = async ({ app, out }) => {
            if (develop !== undefined) return checkServed(browser, entry, app, develop);
            await build({ app, out });
            await checks[entry](await run(browser, entry, out), { app, out, built: await filesOf(out), ...expected });
          };
          await t.test(title, () => withApp(entry, installed, runRow));
        }
      }),
    ),
  );
}

/** The development server's page shows what the built one does. */
async function checkServed(browser, entry, app, develop) {
  const { address, close } = await develop(app);
  try {
    const { shown } = await read(browser, address);
    if (entry === "threads") assert.deepEqual(shown, THREADS);
    else assert.deepEqual(shown, entry === "model_worker" ? { text: await generatedIn(app) } : BOTH_BUILDS);
  } finally {
    await close();
  }
}
