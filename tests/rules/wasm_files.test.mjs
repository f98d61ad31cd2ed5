// npm run build -- --wasm-from takes the wasm of another build, from a folder or a local server, if it was made from the same sources.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import {
  copyWasmFiles,
  RECORD,
  sourcesChecksum,
  takeWasmFiles,
  wasmFilesFolder,
  writeWasmFiles,
} from "../../scripts/wasm_files.mjs";

const FILES = {
  "ropewalk.js": Buffer.from("export default () => {};"),
  "ropewalk.wasm": Buffer.from([0, 97, 115, 109, 1]),
  "ropewalk.relaxed.wasm": Buffer.from([0, 97, 115, 109, 2]),
};
const SOURCES = {
  "src/rope/plan.cpp": "int a;",
  "src/README.md": "text",
  "bindings/rope.cpp": "int b;",
  "cmake/flags.cmake": "",
  "CMakeLists.txt": "project(x)",
  "CMakePresets.json": "{}",
  "scripts/emscripten.cmake": "",
};

async function checkout(folder, changes = {}) {
  for (const [path, text] of Object.entries({ ...SOURCES, ...changes })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

/** Two checkouts of the same sources, the first with a build, whose files a server has, with those of `served` in their place. */
async function withBuild(use, served = {}) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-wasm-"));
  const built = await checkout(join(folder, "built"));
  const other = await checkout(join(folder, "other"));
  await writeWasmFiles(built, FILES, await sourcesChecksum(built));
  const server = createServer(async ({ url }, response) => {
    const name = url.replace("/dist/wasm/", "");
    const bytes =
      name in served ? served[name] : await readFile(join(wasmFilesFolder(built), name)).catch(() => undefined);
    response.writeHead(bytes === undefined ? 404 : 200).end(bytes);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use({ built, other, url: `http://127.0.0.1:${server.address().port}/dist/wasm` });
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
}

async function filesOf(root) {
  const folder = wasmFilesFolder(root);
  const names = await readdir(folder).catch(() => []);
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))])));
}

test("the files of a build of the same sources are taken from a server and from a folder, and shipped", () =>
  withBuild(async ({ built, other, url }) => {
    for (const from of [url, `${url}/`, wasmFilesFolder(built)]) {
      await rm(join(other, "build"), { recursive: true, force: true });
      await takeWasmFiles(other, from);
      assert.deepEqual(await filesOf(other), await filesOf(built), from);
    }
    const shipped = join(other, "dist", "wasm");
    assert.deepEqual((await copyWasmFiles(other, shipped)).sort(), ["ropewalk.relaxed.wasm", "ropewalk.wasm"]);
    for (const [name, bytes] of Object.entries(FILES)) assert.deepEqual(await readFile(join(shipped, name)), bytes);
    // what ships is a source for the next
    await takeWasmFiles(built, shipped);
  }));

test("files of other sources are refused, and those that are there stay", () =>
  withBuild(async ({ other, url }) => {
    await takeWasmFiles(other, url);
    const before = await filesOf(other);
    for (const changes of [{ "src/rope/plan.cpp": "int c;" }, { "src/rope/new.h": "" }, { "CMakeLists.txt": "" }]) {
      await checkout(other, changes);
      await assert.rejects(
        takeWasmFiles(other, url),
        /was made from other C\+\+ sources \(\w{12}\) than this checkout has/,
      );
      assert.deepEqual(await filesOf(other), before);
      await rm(join(other, "src/rope/new.h"), { force: true });
      await checkout(other);
    }
    await checkout(other, { "src/README.md": "other text" }); // which no compiler reads
    await takeWasmFiles(other, url);
  }));

test("missing and damaged files are refused", async () => {
  for (const [served, message] of [
    [{ "ropewalk.wasm": Buffer.from("x") }, /^ropewalk\.wasm in http.* is damaged/],
    [{ "ropewalk.wasm": undefined }, /ropewalk\.wasm answers 404; name the address of a folder/],
    [{ [RECORD]: undefined }, /wasm_files\.json answers 404/],
    [{ [RECORD]: "<html>" }, /isn't the record of a build/],
    [{ [RECORD]: JSON.stringify({ sources: "x", files: {} }) }, /isn't the record of a build/],
  ])
    await withBuild(async ({ other, url }) => {
      await assert.rejects(takeWasmFiles(other, url), { message });
      assert.deepEqual(await filesOf(other), {});
    }, served);
  await withBuild(async ({ other }) => {
    await assert.rejects(takeWasmFiles(other, join(other, "absent")), /absent.*can't be read \(ENOENT\)/);
  });
});

test("names in a record can't leave the folder", () =>
  withBuild(({ other, url }) => assert.rejects(takeWasmFiles(other, url), /isn't the record of a build/), {
    [RECORD]: JSON.stringify({
      sources: "0".repeat(64),
      files: { "ropewalk.js": "0".repeat(64), "../../x.wasm": "0".repeat(64) },
    }),
  }));

test("without an earlier build, the error says how to get one", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-wasm-"));
  await assert.rejects(
    copyWasmFiles(folder, join(folder, "dist")),
    /run npm run build, or npm run build -- --wasm-from/,
  );
  await rm(folder, { recursive: true });
});
