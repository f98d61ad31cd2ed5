// What of the package's JavaScript an app carries that brings its own config: everything but the readers of model files.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

const whatIsImportedLater = {
  name: "what is imported later lies in files of its own",
  setup: ({ onResolve }) =>
    onResolve({ filter: /./ }, ({ kind, path }) => (kind === "dynamic-import" ? { path, external: true } : undefined)),
};

/** Bytes that an app with these contents loads at its start; models, their tokenizers and templates come later. */
async function bundled(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    external: ["./wasm/*"],
    plugins: [whatIsImportedLater],
  });
  return outputFiles[0].contents.length;
}

// 60 KB for RoPE, and what attention, caches, linear attention and opening a model may add, which are methods of the same object.
const LIMIT = 60 + 16;

test(`an app that loads carries at most ${LIMIT} KB, Emscripten's glue included`, async (t) => {
  const glue = statSync(new URL("../../dist/wasm/ropewalk.js", import.meta.url)).size;
  const kilobytes = ((await bundled('export { load } from "./dist/index.js";')) + glue) / 1024;
  t.diagnostic(`${kilobytes.toFixed(1)} KB`);
  assert.ok(kilobytes <= LIMIT, `${kilobytes.toFixed(1)} KB`);
});

test("an app that only reads model configs carries none of the rest", async (t) => {
  const kilobytes = (await bundled('export { ropeConfig } from "./dist/index.js";')) / 1024;
  t.diagnostic(`${kilobytes.toFixed(1)} KB`);
  assert.ok(kilobytes <= 45, `${kilobytes.toFixed(1)} KB`);
});
