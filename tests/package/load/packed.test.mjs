// The contents of the package: its files, subpaths and sizes.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { scriptsOf } from "./page_scripts.mjs";

const folder = dirname(fileURLToPath(import.meta.resolve("ropewalk/package.json")));
const read = (name) => readFileSync(join(folder, name), "utf8");
const manifest = JSON.parse(read("package.json"));
const files = readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile());

test("this is the installed package, outside the repository", () => {
  assert.match(folder, /node_modules/);
  assert.ok(!existsSync(join(folder, "web")) && !existsSync(join(folder, "scripts")));
});

test("it contains only files that users need", () => {
  const expected = [
    /^package\.json$/,
    /^README\.md$/,
    /^LICENSE$/,
    /^CHANGELOG\.md$/,
    /^docs\/(?:(?:apps|background)\/)?\w+\.md$/,
    /^docs\/pictures\/\w+\.svg$/,
    /^examples\/small_model\/model\.q8_0\.gguf$/,
    /^dist\/third_party_licenses\.txt$/,
    /^dist\/[\w./-]+\.(?:js|d\.ts)$/,
    /^dist\/(?!wasm)[\w./-]+\.js\.map$/,
    /^dist\/wasm\/ropewalk(?:\.relaxed)?\.wasm$/,
    /^dist\/wasm\/wasm_files\.json$/, // for builds that take the wasm from here
  ];
  assert.deepEqual(
    files.filter((name) => !expected.some((pattern) => pattern.test(name))),
    [],
  );
  assert.equal(files.filter((name) => name.endsWith(".wasm")).length, 2);
});

test("it has no dependencies but optional types, no install scripts and no side effects", () => {
  for (const key of ["dependencies", "optionalDependencies"]) assert.deepEqual(manifest[key] ?? {}, {});
  // only types of ropewalk/ai-sdk name it, and any version may be installed for other uses
  assert.deepEqual(manifest.peerDependencies, { "@ai-sdk/provider": "*" });
  assert.deepEqual(manifest.peerDependenciesMeta, { "@ai-sdk/provider": { optional: true } });
  for (const script of ["preinstall", "install", "postinstall", "prepare"])
    assert.equal(manifest.scripts?.[script], undefined);
  assert.equal(manifest.sideEffects, false);
});

test("every file that package.json names exists", () => {
  const paths = (value) => (typeof value === "string" ? [value] : Object.values(value).flatMap(paths));
  const named = [manifest.main, manifest.types, ...paths(manifest.exports), ...paths(manifest.bin ?? {})];
  for (const path of named) assert.ok(existsSync(join(folder, path)), path);
});

test("the exported subpaths resolve, and no others", () => {
  const wasm = (name) => readFileSync(fileURLToPath(import.meta.resolve(`ropewalk/${name}`)));
  for (const name of ["ropewalk.wasm", "ropewalk.relaxed.wasm"])
    assert.ok(WebAssembly.validate(wasm(name)) || name.includes("relaxed"), name);
  assert.notDeepEqual(wasm("ropewalk.wasm"), wasm("ropewalk.relaxed.wasm"));
  assert.ok(import.meta.resolve("ropewalk").endsWith("/dist/index.node.js"));
  assert.ok(import.meta.resolve("ropewalk/inline").endsWith("/dist/inline.js"));
  assert.ok(import.meta.resolve("ropewalk/worker/inline").endsWith("/dist/worker_inline.js"));
  assert.ok(import.meta.resolve("ropewalk/worker_thread.js").endsWith("/dist/worker_thread.js"));
  assert.ok(import.meta.resolve("ropewalk/doctor").endsWith("/dist/doctor.node.js"));
  assert.ok(import.meta.resolve("ropewalk/openai").endsWith("/dist/openai.js"));
  assert.ok(import.meta.resolve("ropewalk/search").endsWith("/dist/search.js"));
  assert.ok(import.meta.resolve("ropewalk/ai-sdk").endsWith("/dist/ai_sdk.js"));
  for (const name of ["dist/index.js", "wasm/ropewalk.js", "config/flatten.js"])
    assert.throws(() => import.meta.resolve(`ropewalk/${name}`), { code: "ERR_PACKAGE_PATH_NOT_EXPORTED" });
});

const size = (name) => statSync(join(folder, name)).size;
const kilobytes = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;

// RoPE alone would be below 150 KB. The file also has the kernels of 28 weight formats and the transformer. 4 KB are strides, given
// tables, axial plans and PyTorch's power, and the checks of images; 5 KB are jobs in parts; 4 KB are walks of large tensors, lost threads and
// sampling in SIMD; 6 KB are quantization, with ggml's search for scales. Second kernels for bytes, for processors that can't add four
// products at once, are 13 KB, only in the relaxed file. Recurrent layers are 23 KB, those beside attention with
// their multipliers 3 KB, RWKV 9 KB, and whole texts 8 KB. 3 KB are activations compiled for speed,
// and 17 KB the sampler's penalties and ways to drop tokens. 2 KB are the forward pass in steps, for traces and hooks.
// 3 KB are several texts in one run, and 3 KB the low-rank terms of adapters.
// 1 KB is the pages that copies of a text share. 6 KB are caches of q4_0, whose rows are read and stored in SIMD and, for comparison, in scalar code.
// Products with two tokens are 15 KB, and those with four 14 KB; 25 and 34 KB in the relaxed file, which has them for each way in which
// engines add products.
// 6 KB are scales that are stored times a power of two, and 1 KB is reading blocks of K formats ahead. 1 KB takes the attention
// factor away after norms, and half a KB are an adapter's terms of the gate of a shared expert. 1 KB more
// are Embind's objects of a model's config, one for each subject. 1 KB more are the parts of a forward pass and of a cache, each an
// object of its own, and the checks that each scaling type has. 6 KB more are rotations in place with a constant number of pairs, and walks of
// cached keys. 1 KB more are gates of heads, biases of distances and learned positions in models. 8 KB more are norms in SIMD,
// attention of several texts as one job, and products with rows of f16 as a cache stores them. 1 KB more are exponentials that are
// computed with multiply-adds. 11 KB are caches of q4_channel: closing, opening and moving groups, their pages and images, and reading them.
// 4 KB more are tiles of formats with and without minimums, each in a loop of its own, and offsets that are subtracted when weights are
// unpacked. 1 KB more, 2 in the relaxed file, fetch weights while tiles are multiplied and unpack both halves of a q8_0 block in code of their own.
// 3 KB more rotate interleaved pairs as they are stored, eight heads or two at a time, and tokens in place without a call between them.
// 3 KB more read keys of q4_channel rotated and without a transposition, and let several threads rotate raw keys. 9 KB less in the simd file: products
// of one token have fewer operations, and loops. 9 KB more, 0.1 KB with gzip, are whole heads rotated without a loop.
// 1 KB more packs rows on all threads.
test("sizes: each wasm file", (t) => {
  for (const name of files.filter((file) => file.endsWith(".wasm"))) {
    t.diagnostic(`${name}: ${kilobytes(size(name))}`);
    assert.ok(size(name) <= (name.includes("relaxed") ? 594 : 521) * 1024, `${name} has ${kilobytes(size(name))}`);
  }
});

// Without a bundler a page loads everything but models, with readable identifiers and lines, so that stacks are useful. An app with a bundler
// loads half of it (tests/unit/size.test.mjs). The checks of options and of hostile values are 9 KB of it, threads 5 KB. The modules that
// ropewalk/doctor shares are files of their own, which is half a KB. Quantizing rows is half a KB, and
// so are Workers of another origin. The names of sampling options, which messages list, are 1 KB, and writing arrays to files is 1.5 KB. Adapters in options
// and batches are 1 KB; loading an adapter comes on demand. Errors that say what is disposed, and why a name isn't found, are half a KB.
// Which keys of a config each class of transformers reads is 2.5 KB. Embind's objects of a model's config are half a KB. What
// errors advise, as data, and the rows of the scaling types are 3 KB. The names that other packages give to options and keys are 2 KB.
// Finding decision checkpoints and tokens that files ban are half a KB.
test("sizes: the scripts that a page without a bundler loads", (t) => {
  const scripts = scriptsOf(folder, "dist/index.js");
  assert.ok(scripts.includes("dist/wasm/ropewalk.js"), "they include Emscripten's glue");
  const total = scripts.reduce((sum, name) => sum + size(name), 0);
  const compressed = scripts.reduce((sum, name) => sum + gzipSync(read(name)).length, 0);
  const listed = `${kilobytes(total)}, ${kilobytes(compressed)} with gzip: ${scripts.join(", ")}`;
  t.diagnostic(listed);
  assert.ok(compressed <= 96.5 * 1024, listed);
});

test("the scripts of a page import no Node modules, and don't evaluate strings", () => {
  const entries = ["index", "inline", "worker_inline", "doctor", "openai", "ai_sdk"];
  for (const entry of entries.map((name) => `dist/${name}.js`)) {
    for (const name of scriptsOf(folder, entry, () => true)) {
      const code = read(name);
      assert.ok(
        !/\b(?:from|import|require)\s*\(?\s*["'](?:node:|fs["']|module["'])/.test(
          code.replace(/"node:" *\+|getBuiltinModule\?\.\(\\?"node:/g, ""),
        ),
        `${name} imports a module of Node`,
      );
      assert.ok(!/\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\(/.test(code), `${name} evaluates strings`);
    }
  }
});

test("scripts and source maps contain no path of the build machine", () => {
  for (const name of files.filter((file) => /\.js(?:\.map)?$/.test(file)))
    assert.ok(!/\/(?:home|root|Users|work|tmp)\//.test(read(name)), name);
});

test("bundlers can find the URLs of files: none is split by a line break", () => {
  const addresses = files
    .filter((file) => file.endsWith(".js"))
    .flatMap((name) => [...read(name).matchAll(/new URL\("(\.[^"]*)"/g)].map(([, address]) => [name, address]));
  assert.ok(addresses.length >= 6);
  for (const [name, address] of addresses)
    assert.ok(existsSync(join(folder, dirname(name), address)), `${name}: ${address}`);
});

test("every declaration file that another one imports exists", () => {
  for (const name of files.filter((file) => file.endsWith(".d.ts"))) {
    for (const [, specifier] of read(name).matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)) {
      const target = join(folder, dirname(name), specifier.replace(/\.js$/, ".d.ts"));
      assert.ok(existsSync(target), `${name} imports ${specifier}`);
    }
  }
});
