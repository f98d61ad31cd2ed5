// Rollup finds the package with @rollup/plugin-node-resolve, and ships the wasm with @web/rollup-plugin-import-meta-assets.
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { importMetaAssets } from "@web/rollup-plugin-import-meta-assets";
import assert from "node:assert/strict";
import { join } from "node:path";
import { rollup } from "rollup";
import { addPage, testApps } from "./apps.mjs";

async function build({ app, out }, plugins, others = {}) {
  const warnings = [];
  const bundle = await rollup({
    input: { main: join(app, "main.js"), ...others },
    plugins: [nodeResolve(), ...plugins],
    onwarn: ({ message }) => warnings.push(message),
  });
  await bundle.write({ dir: out, format: "es" });
  await bundle.close();
  assert.deepEqual(warnings, []);
  await addPage({ app, out });
}

function buildModelWorker(folders) {
  const dist = join(folders.app, "node_modules", "ropewalk", "dist");
  const assets = importMetaAssets({ exclude: join(dist, "worker.js") });
  return build(folders, [assets], { worker_thread: join(dist, "worker_thread.js") });
}

testApps("rollup", [
  {
    title: "the main entry",
    entry: "plain",
    build: (folders) => build(folders, [importMetaAssets()]),
    wasm: /^assets\/ropewalk-[\w-]{8}\.wasm assets\/ropewalk\.relaxed-[\w-]{8}\.wasm$/,
  },
  { title: "the inline entry, without a plugin for assets", entry: "inline", build: (folders) => build(folders, []) },
  { title: "a model in the Worker of ropewalk, as a second input", entry: "model_worker", build: buildModelWorker },
  { title: "threads of the page and of the Worker", entry: "threads", build: buildModelWorker },
  {
    title: "only the config readers",
    entry: "config_only",
    build: (folders) => build(folders, []),
  },
]);
