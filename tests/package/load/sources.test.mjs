// load() with several sources of wasm: which calls share a module, and what happens where no file can be found.
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import test from "node:test";
import { build, freshLoad, serving, wasmBytes, wasmPath, wasmUrl, works } from "../helpers/loading.mjs";
import { inNewProcess } from "../helpers/processes.mjs";
import { rejects } from "../helpers/runtime.mjs";

test("the same address, bytes or object is loaded once", async () => {
  const compiled = await WebAssembly.compile(wasmBytes);
  await serving({ "/a.wasm": { body: wasmBytes } }, async (host) => {
    const same = {
      address: () => `${host}/a.wasm`,
      URL: () => new URL(`${host}/a.wasm`),
      response: () => fetch(`${host}/a.wasm`),
      path: () => wasmPath,
      bytes: () => Uint8Array.from(wasmBytes),
      buffer: () => Uint8Array.from(wasmBytes).buffer,
      module: () => compiled,
    };
    for (const [name, source] of Object.entries(same)) {
      const load = await freshLoad();
      const first = await load({ build, wasm: source() });
      assert.ok(works(first), name);
      assert.equal(await load({ build, wasm: source() }), first, name);
      assert.equal(await load({ build }), first, `${name}: without \`wasm\`, what is loaded is used`);
    }
    const load = await freshLoad();
    const byAddress = await load({ build, wasm: `${host}/a.wasm` });
    assert.equal(await load({ build, wasm: fetch(`${host}/a.wasm`) }), byAddress, "a response has an address");
  });
  const load = await freshLoad();
  assert.equal(await load({ build }), await load({ build, wasm: wasmUrl }), "the package's own file, by its address");
});

test("another source gets a module of its own, with memory of its own", async () => {
  const load = await freshLoad();
  const first = await load({ build });
  const second = await load({ build, wasm: wasmBytes });
  assert.notEqual(second, first);
  assert.ok(works(second));
  assert.equal(await load({ build, wasm: Uint8Array.from(wasmBytes) }), second);
  assert.equal(await load({ build }), first);
  const tensor = first.tensor([1, 1, 4]);
  const rope = second.rope({ head_dim: 4, pairing: "half" });
  assert.throws(() => rope.rotate(tensor, { layout: "thd", positions: 0 }), { code: "INVALID_ARGUMENT", field: "x" });
});

test("a second source that isn't wasm is an error, and the first module still works", async () => {
  const load = await freshLoad();
  const first = await load({ build });
  await rejects(load({ build, wasm: new Uint8Array(8) }), "WASM_LOAD", "wasm");
  await rejects(load({ build, wasm: Promise.reject(new Error("no")) }), "WASM_LOAD", "wasm");
  assert.equal(await load({ build }), first);
  assert.ok(works(first));
});

test("options that aren't options", async () => {
  const load = await freshLoad();
  for (const options of [null, 5, "simd", [], Symbol("s")]) await rejects(load(options), "INVALID_ARGUMENT", "options");
  for (const value of [Symbol("s"), 5n, {}]) await rejects(load({ build: value }), "INVALID_ARGUMENT", "build");
  for (const signal of [null, 5, {}]) await rejects(load({ signal }), "INVALID_ARGUMENT", "signal");
  await rejects(load({ bulid: build }), "UNKNOWN_KEY", "bulid");
});

// Some bundles leave import.meta.url undefined, and there is no file to fetch.
test("where scripts have no address, load() says what to pass, and load({ wasm }) works", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-"));
  t.after(() => rm(folder, { recursive: true }));
  const dist = dirname(fileURLToPath(import.meta.resolve("ropewalk")));
  for (const file of await readdir(dist, { recursive: true })) {
    if (!file.endsWith(".js")) continue;
    const script = await readFile(join(dist, file), "utf8");
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), script.replaceAll("import.meta.url", "undefined"));
  }
  await cp(join(dist, "..", "package.json"), join(folder, "package.json"));
  const output = await inNewProcess(`
    import { readFile } from "node:fs/promises";
    globalThis.fetch = () => { throw new TypeError("fetch of a file"); };
    const { load, RopewalkError } = await import(${JSON.stringify(pathToFileURL(join(folder, "index.js")).href)});
    const error = await load({ build: "simd" }).catch((error) => error);
    const compiled = await WebAssembly.compile(await readFile(${JSON.stringify(fileURLToPath(new URL(import.meta.resolve("ropewalk/ropewalk.wasm"))))}));
    const rw = await load({ build: "simd", wasm: compiled });
    console.log(JSON.stringify([error instanceof RopewalkError, error.code, error.field, error.message, rw.build]));`);
  const [isRopewalkError, code, field, message, loaded] = JSON.parse(output);
  assert.deepEqual([isRopewalkError, code, field, loaded], [true, "WASM_LOAD", "wasm", "simd"]);
  assert.match(message, /load\(\{ wasm \}\)/);
});
