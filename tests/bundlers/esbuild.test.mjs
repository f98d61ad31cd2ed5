// esbuild leaves `new URL(…, import.meta.url)` unchanged. Three ways work: copy the wasm files to wasm/ next to the bundle, import the wasm with the
// `file` loader and pass its address to load(), or use ropewalk/inline.
import assert from "node:assert/strict";
import { build as esbuild } from "esbuild";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { addPage, testApps } from "./apps.mjs";

async function build({ app, out }, settings = {}) {
  const options = {
    absWorkingDir: app,
    entryPoints: ["main.js"],
    outdir: out,
    bundle: true,
    minify: true,
    format: "esm",
    logLevel: "silent",
  };
  const { warnings } = await esbuild({ ...options, ...settings });
  await addPage({ app, out });
  return warnings.map(({ text }) => text);
}

/** Builds without warnings, with these settings. */
const buildWith = (settings) => async (folders) => assert.deepEqual(await build(folders, settings), []);

/** Copies files of the package, as an app's build script does after esbuild. */
async function copyFiles({ app, out }, names) {
  for (const name of names) await cp(join(app, "node_modules", "ropewalk", "dist", name), join(out, name));
}

const copyWasm = (folders) => copyFiles(folders, ["wasm/ropewalk.wasm", "wasm/ropewalk.relaxed.wasm"]);

/** Makes a second entry point of the Worker's script. */
async function buildModelWorker(folders, splitting) {
  const thread = join(folders.app, "node_modules", "ropewalk", "dist", "worker_thread.js");
  const entryPoints = [
    { in: "main.js", out: "main" },
    { in: thread, out: "worker_thread" },
  ];
  await build(folders, { entryPoints, splitting });
  await copyWasm(folders);
}

const inChunks = [false, true].flatMap((splitting) => {
  const suffix = splitting ? ", in chunks" : "";
  return [
    {
      title: `the main entry, with the wasm copied to wasm/${suffix}`,
      entry: "plain",
      build: async (folders) => {
        await buildWith({ splitting })(folders);
        await copyWasm(folders);
      },
      wasm: /^wasm\/ropewalk\.relaxed\.wasm wasm\/ropewalk\.wasm$/,
    },
    {
      title: `a model in the Worker of ropewalk, whose file is a second entry point${suffix}`,
      entry: "model_worker",
      build: (folders) => buildModelWorker(folders, splitting),
    },
    {
      title: `threads of the page and of the Worker, whose files are copied${suffix}`,
      entry: "threads",
      build: async (folders) => {
        await buildModelWorker(folders, splitting);
        await copyFiles(folders, ["load/helper_thread.js"]);
      },
    },
  ];
});

testApps("esbuild", [
  ...inChunks,
  {
    title: "the wasm imported with the file loader",
    entry: "own_address",
    build: buildWith({ loader: { ".wasm": "file" } }),
    wasm: /^ropewalk-[0-9A-Z]{8}\.wasm$/,
  },
  { title: "the inline entry", entry: "inline", build: buildWith({}), files: ["index.html", "main.js"] },
  { title: "the inline entry in a classic script", entry: "inline", build: buildWith({ format: "iife" }) },
  {
    title: "a worker as a second entry point",
    entry: "in_worker",
    build: async (folders) => {
      await build(folders, { entryPoints: ["main.js", "worker.js"] });
      await copyWasm(folders);
    },
  },
  { title: "only the config readers", entry: "config_only", build: (folders) => build(folders) },
]);
