// The size of an app that loads the package without reading model files, and of one that only reads configs.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import test from "node:test";
import { CONFIG_LIMIT, programBytes, startupBytes } from "./startup_size.mjs";

// 68 KB for RoPE, by ropes and by given tables, of whole arrays and of their parts, with frequencies of every kind; 18 KB
// for attention, caches, linear attention and opening a model, which are methods of the same object; 12 KB for checking
// the names of all options, values of hostile types, and what is read once; 8 KB for threads, of other origins too; 1 KB for quantizing rows; 1 KB in
// the glue for the objects of a model's config, one for each subject; 1 KB for what errors advise, as data.
// 1 KB is the rows of the scaling types, with the words of advice; 1 KB is names of other packages, and what they are here. 2 KB are position maps and
// log-n scaling: their keys, what they mean in a description, and the config of Dual Chunk Attention.
const LIMIT = 68 + 18 + 12 + 8 + 1 + 1 + 1 + 1 + 1 + 2;

test(`an app that calls load() is at most ${LIMIT} KB, including Emscripten's glue`, async (t) => {
  const glue = statSync(new URL("../../dist/wasm/ropewalk.js", import.meta.url)).size;
  const kilobytes = ((await startupBytes('export { load } from "./dist/index.js";')) + glue) / 1024;
  t.diagnostic(`${kilobytes.toFixed(1)} KB`);
  assert.ok(kilobytes <= LIMIT, `${kilobytes.toFixed(1)} KB`);
});

test("an app that only reads configs contains nothing else", async (t) => {
  const kilobytes = (await startupBytes('export { ropeConfig } from "./dist/index.js";')) / 1024;
  t.diagnostic(`${kilobytes.toFixed(1)} KB`);
  assert.ok(kilobytes <= CONFIG_LIMIT, `${kilobytes.toFixed(1)} KB`);
});

// Without 57 KB of the doctor, which `ropewalk doctor` imports when it runs.
const PROGRAM_LIMIT = 717;

test(`the command line imports at most ${PROGRAM_LIMIT} KB at its start`, async (t) => {
  const kilobytes = (await programBytes()) / 1024;
  t.diagnostic(`${kilobytes.toFixed(1)} KB`);
  assert.ok(kilobytes <= PROGRAM_LIMIT, `${kilobytes.toFixed(1)} KB`);
});
