// The apps of the bundler tests: app/ with one of its entries as main.js and the packed package installed, in a folder of its own.

import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { open } from "../browser/browsers.mjs";
import { WORKED_EXAMPLE } from "../browser/pages/worked_example.mjs";
import { serve } from "../browser/server.mjs";
import { installPackage, makeFolder, removeFolder, root } from "../browser/tarball.mjs";

const ENTRIES = ["plain", "inline", "in_worker", "own_address", "config_only"];

/** What an app shows for a build. */
export const rotatedBy = (build) => [build, ...WORKED_EXAMPLE].join(" ");

/** What an app shows that loads both builds. */
export const BOTH_BUILDS = { simd: rotatedBy("simd"), relaxed: rotatedBy("relaxed") };

/** Calls `use` with the folder of an app and an output folder beside it. */
export async function withApp(entry, use) {
  const parent = await makeFolder();
  const [app, out] = [join(parent, "app"), join(parent, "out")];
  try {
    await cp(join(root, "tests", "bundlers", "app"), app, { recursive: true, filter: (path) => !ENTRIES.some((name) => path.endsWith(`${name}.js`)) });
    await cp(join(root, "tests", "bundlers", "app", `${entry}.js`), join(app, "main.js"));
    await cp(join(root, "tests", "browser", "pages", "worked_example.mjs"), join(app, "worked_example.js"));
    await writeFile(join(app, "package.json"), JSON.stringify({ private: true, type: "module" }));
    await installPackage(app);
    await use({ app, out });
  } finally {
    await removeFolder(parent);
  }
}

/** Puts the page beside a main.js that was built, for bundlers that know nothing of pages. */
export async function addPage({ app, out }) {
  await cp(join(app, "index.html"), join(out, "index.html"));
}

/** The files of a folder and those below it, by relative path. */
export async function filesOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1)).sort();
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
    return Object.fromEntries(Array.from(document.querySelectorAll("dt"), (term) => [term.textContent, term.nextSibling.textContent]));
  });
  await page.close();
  return { shown, complaints };
}

/** Serves what was built under the strict policy, and reads off what it shows. `wasm` lists the wasm files that were fetched. */
export async function run(browser, out) {
  const site = await serve({ "/": { folder: out } });
  try {
    const { shown, complaints } = await read(browser, `${site.origin}/`);
    return { shown, complaints, wasm: site.requests.filter((path) => path.endsWith(".wasm")).map((path) => path.slice(1)).sort() };
  } finally {
    await site.close();
  }
}
