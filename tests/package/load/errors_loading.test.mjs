// Errors of load(), each with its code and field, and that a later load() works.
import assert from "node:assert/strict";
import test from "node:test";
import { describe, RopewalkError } from "ropewalk";
import { build, freshLoad, serving, wasmBytes, wasmPath, works } from "../helpers/loading.mjs";
import { inNewProcess } from "../helpers/processes.mjs";

test("describe before the first load()", () => {
  assert.throws(() => describe({ head_dim: 64, pairing: "half" }), {
    name: "RopewalkError",
    code: "NOT_LOADED",
    field: "",
  });
});

const load = await freshLoad();

/** Asserts the error and its message, and that the same loader works afterwards. */
async function expectError(options, code, field, message = /./) {
  await assert.rejects(load({ build, ...options }), (error) => {
    assert.ok(error instanceof RopewalkError, String(error));
    assert.deepEqual([error.code, error.field], [code, field]);
    assert.match(error.message, message);
    return true;
  });
}

/** The smallest wasm module, and one with memory but none of our functions. */
const emptyModule = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
const foreignModule = Uint8Array.of(
  0,
  0x61,
  0x73,
  0x6d,
  1,
  0,
  0,
  0,
  5,
  3,
  1,
  0,
  1,
  7,
  10,
  1,
  6,
  109,
  101,
  109,
  111,
  114,
  121,
  2,
  0,
);
const importingModule = Uint8Array.of(
  0,
  0x61,
  0x73,
  0x6d,
  1,
  0,
  0,
  0,
  1,
  4,
  1,
  0x60,
  0,
  0,
  2,
  7,
  1,
  1,
  0x78,
  1,
  0x79,
  0,
  0,
); // imports x.y

test("these modules are valid wasm", async () => {
  for (const bytes of [emptyModule, foreignModule, importingModule]) assert.ok(WebAssembly.validate(bytes));
});

const html = new TextEncoder().encode("\n<!doctype html><title>Not found</title>");
const bad = [
  ["no bytes", new Uint8Array(), /is empty/],
  ["an HTML page", html, /is an HTML page/],
  ["text", new TextEncoder().encode("module.exports"), /is not wasm/],
  ["the first three bytes", wasmBytes.subarray(0, 3), /is not wasm/],
  ["the first half", wasmBytes.subarray(0, wasmBytes.length / 2), /could not be loaded/],
  ["all but the last byte", wasmBytes.subarray(0, -1), /could not be loaded/],
  [
    "a byte changed in the code",
    Uint8Array.from(wasmBytes, (byte, i) => (i === 200 ? byte ^ 0xff : byte)),
    /could not be loaded|not this version/,
  ],
  ["an empty module", emptyModule, /not this version of ropewalk/],
  ["another program's module", foreignModule, /not this version of ropewalk/],
  ["a module with unknown imports", importingModule, /not this version of ropewalk/],
];

for (const [title, bytes, message] of bad) {
  test(`invalid wasm: ${title}`, { timeout: 10000 }, async () => {
    await expectError({ wasm: bytes }, "WASM_LOAD", "wasm", message);
    await expectError({ wasm: new Response(bytes) }, "WASM_LOAD", "wasm", message);
    await serving({ "/x.wasm": { body: bytes } }, (host) =>
      expectError({ wasm: `${host}/x.wasm` }, "WASM_LOAD", "wasm", message),
    );
  });
}

test("another module, already compiled", { timeout: 10000 }, async () => {
  for (const bytes of [emptyModule, foreignModule, importingModule]) {
    await expectError({ wasm: await WebAssembly.compile(bytes) }, "WASM_LOAD", "wasm", /not this version of ropewalk/);
  }
});

test("responses 404 and 500, and HTML pages", async () => {
  await serving({ "/500": { status: 500, body: wasmBytes } }, async (host) => {
    await expectError({ wasm: `${host}/ropewalk.wasm` }, "WASM_LOAD", "wasm", /answered 404 for .*\/ropewalk\.wasm/);
    await expectError({ wasm: new URL(`${host}/500`) }, "WASM_LOAD", "wasm", /answered 500/);
    await expectError(
      { wasm: fetch(`${host}/ropewalk.wasm`) },
      "WASM_LOAD",
      "wasm",
      /answered 404 for .*\/ropewalk\.wasm/,
    );
  });
});

test("a wasm file of the package that isn't served: what to do", async () => {
  const file = "/node_modules/ropewalk/dist/wasm/ropewalk.wasm";
  await serving({ [file]: { status: 200, body: html } }, async (host) => {
    const missing = (path, message) => expectError({ wasm: host + path }, "WASM_LOAD", "wasm", message);
    const forVite = /; set optimizeDeps: \{ exclude: \["ropewalk"\] \} in the config of Vite$/;
    await missing(file, /HTML page: the file isn't served at this address; set optimizeDeps/);
    await missing(file, forVite);
    await missing("/.vite/deps/wasm/ropewalk.wasm", forVite);
    const forOthers = /answered 404 .*; copy the package's wasm files there, or import from ropewalk\/inline$/;
    await missing("/assets/wasm/ropewalk.wasm", forOthers);
    await missing("/assets/wasm/ropewalk.relaxed.wasm", forOthers);
    await missing("/assets/wasm/another.wasm", /answered 404 for .*another\.wasm$/);
  });
});

test("no server, no file, an incomplete response", async () => {
  const host = await serving({}, (address) => address); // the server is closed
  await expectError({ wasm: `${host}/ropewalk.wasm` }, "WASM_LOAD", "wasm", /could not be loaded/);
  await expectError({ wasm: fetch(`${host}/ropewalk.wasm`) }, "WASM_LOAD", "wasm", /could not be loaded/);
  await expectError({ wasm: `${wasmPath}.absent` }, "WASM_LOAD", "wasm", /absent could not be loaded/);
  const abortResponse = (response) =>
    response.writeHead(200, { "content-length": 1000 }).write("\0asm", () => response.destroy());
  await serving({ "/x.wasm": abortResponse }, (address) =>
    expectError({ wasm: `${address}/x.wasm` }, "WASM_LOAD", "wasm", /could not be loaded/),
  );
});

test("a response whose body was already read", async () => {
  const response = new Response(wasmBytes);
  await response.arrayBuffer();
  await expectError({ wasm: response }, "WASM_LOAD", "wasm", /could not be loaded/);
});

test("values that aren't sources of wasm", async () => {
  for (const wasm of [5, {}, true, [0, 1]]) await expectError({ wasm }, "INVALID_ARGUMENT", "wasm");
});

test("an unknown build", async () => {
  for (const unknown of ["fast", null, 1]) await expectError({ build: unknown }, "INVALID_ARGUMENT", "build");
});

test("the loader works after these failures", async () => assert.ok(works(await load({ build }))));

/** Modifies the engine before importing the package. Returns the error of load(), and the result of load() after the engine is restored. */
async function inEngine(change, restore, options = {}) {
  const output = await inNewProcess(`
    const { validate } = WebAssembly;
    const original = WebAssembly;
    ${change}
    const { load } = await import("ropewalk");
    const report = {};
    await load(${JSON.stringify(options)}).then(
      (rw) => { report.build = rw.build; },
      (error) => { Object.assign(report, { name: error.name, code: error.code, field: error.field, message: error.message }); },
    );
    ${restore}
    report.then = (await load({ build: "simd" })).build;
    console.log(JSON.stringify(report));`);
  return JSON.parse(output);
}

test("an engine without SIMD", async () => {
  for (const [change, restore] of [
    ["WebAssembly.validate = () => false;", "WebAssembly.validate = validate;"],
    ["delete globalThis.WebAssembly;", "globalThis.WebAssembly = original;"],
  ]) {
    for (const options of [{}, { build: "simd" }, { build: "scalar" }, { build: "relaxed" }]) {
      const { message, ...report } = await inEngine(change, restore, options);
      assert.deepEqual(report, { name: "RopewalkError", code: "UNSUPPORTED_ENGINE", field: "", then: "simd" }, change);
      assert.match(message, /simd128.*Chrome 91/);
    }
  }
});

test("an engine with SIMD but without relaxed SIMD", async () => {
  // the probe for relaxed instructions is longer than the probe for simd128
  const change = "WebAssembly.validate = (bytes) => bytes.length < 45 && validate(bytes);";
  assert.deepEqual(await inEngine(change, ""), { build: "simd", then: "simd" });
  const { message, ...report } = await inEngine(change, "", { build: "relaxed" });
  assert.deepEqual(report, { name: "RopewalkError", code: "UNSUPPORTED_ENGINE", field: "build", then: "simd" });
  assert.match(message, /relaxed SIMD/);
});

test("the entry for pages in Node says which one is for Node", async () => {
  const page = new URL("index.js", import.meta.resolve("ropewalk"));
  const { load: loadInPage } = await import(page.href);
  await assert.rejects(loadInPage(), {
    code: "WASM_LOAD",
    message:
      /ropewalk.*\.wasm could not be loaded: .*; in Node, import "ropewalk" by its name, or dist\/index\.node\.js/,
  });
});
