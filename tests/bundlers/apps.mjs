// The apps of the bundler tests: app/ with one of its entries as main.js and the packed package installed, in a folder of its own.

import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { open } from "../browser/browsers.mjs";
import { WORKED_EXAMPLE } from "../browser/pages/worked_example.mjs";
import { serve } from "../browser/server.mjs";
import { installPackage, makeFolder, removeFolder, root } from "../browser/tarball.mjs";

const ENTRIES = ["plain", "inline", "in_worker", "own_address", "config_only", "model_worker"];

/** What an app shows for a build. */
export const rotatedBy = (build) => [build, ...WORKED_EXAMPLE].join(" ");

/** What an app shows that loads both builds. */
export const BOTH_BUILDS = { simd: rotatedBy("simd"), relaxed: rotatedBy("relaxed") };

/** Calls `use` with the folder of an app and an output folder beside it. */
export async function withApp(entry, use) {
  const parent = await makeFolder();
  const [app, out] = [join(parent, "app"), join(parent, "out")];
  try {
    await cp(join(root, "tests", "bundlers", "app"), app, {
      recursive: true,
      filter: (path) => !ENTRIES.some((name) => path.endsWith(`${name}.js`)),
    });
    await cp(join(root, "tests", "bundlers", "app", `${entry}.js`), join(app, "main.js"));
    await cp(join(root, "tests", "browser", "pages", "worked_example.mjs"), join(app, "worked_example.js"));
    await mkdir(join(app, "public")); // files as they are, Vite's name for them
    if (entry === "model_worker")
      await cp(join(root, "tests", "golden", "tiny_models", "llama", "model.gguf"), join(app, "public", "model.gguf"));
    await writeFile(join(app, "package.json"), JSON.stringify({ private: true, type: "module" }));
    await installPackage(app);
    await use({ app, out });
  } finally {
    await removeFolder(parent);
  }
}

/** Puts the page, and what it fetches by itself, beside a main.js that was built, for bundlers that know nothing of pages. */
export async function addPage({ app, out }) {
  await cp(join(app, "index.html"), join(out, "index.html"));
  await cp(join(app, "public"), out, { recursive: true });
}

/** What the app with a model in a Worker shows, by the package in Node: on the simd build a seed gives the same text everywhere. */
export async function generatedIn(app) {
  const { load } = await import(pathToFileURL(join(app, "node_modules", "ropewalk", "dist", "index.node.js")).href);
  const model = await (await load({ build: "simd" })).model(join(app, "public", "model.gguf"));
  let text = "";
  for await (const piece of model.generate("the cat", { maxTokens: 20, seed: 7, ignoreEnd: true })) text += piece.text;
  model.dispose();
  return text;
}

/** The files of a folder and those below it, by relative path. */
export async function filesOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1))
    .sort();
}

/** All JavaScript that was built. */
export async function scriptsOf(out) {
  const names = (await filesOf(out)).filter((name) => name.endsWith(".js"));
  return (await Promise.all(names.map((name) => readFile(join(out, name), "utf8")))).join("\n");
}

/** Opens an app and reads off what it shows, by name. */
export async function read(browser, address) {
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

/** Serves what was built under the strict policy, and reads off what it shows. `wasm` lists the wasm files that were fetched. */
export async function run(browser, out) {
  const site = await serve({ "/": { folder: out } });
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
