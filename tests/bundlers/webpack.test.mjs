// webpack 5 needs no settings. The tests disable only its warnings about file sizes, and keep what it has minified: the apps have chunks in common.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after } from "node:test";
import { promisify } from "node:util";
import webpack from "webpack";
import { makeFolder, removeFolder } from "../browser/tarball.mjs";
import { addPage, testApps } from "./apps.mjs";

const cacheDirectory = await makeFolder();
after(() => removeFolder(cacheDirectory));

async function build({ app, out }) {
  const options = {
    mode: "production",
    context: app,
    entry: join(app, "main.js"),
    output: { path: out, filename: "main.js" },
    cache: { type: "filesystem", cacheDirectory },
    performance: { hints: false }, // a wasm file is a few KB larger than the 244 KB that webpack advises for an asset
  };
  const compiler = webpack(options);
  const stats = await promisify(compiler.run).call(compiler);
  await promisify(compiler.close).call(compiler); // writes the cache
  assert.deepEqual(stats.toJson({ all: false, errors: true, warnings: true }), { errors: [], warnings: [] });
  await addPage({ app, out });
}

testApps("webpack", [
  { title: "the main entry", entry: "plain", build, wasm: /^[0-9a-f]{20}\.wasm [0-9a-f]{20}\.wasm$/ },
  { title: "the inline entry", entry: "inline", build },
  { title: "a worker", entry: "in_worker", build },
  { title: "a model in the Worker of ropewalk", entry: "model_worker", build },
  { title: "threads of the page and of the Worker", entry: "threads", build },
  { title: "only the config readers", entry: "config_only", build, files: ["index.html", "main.js"] },
]);
