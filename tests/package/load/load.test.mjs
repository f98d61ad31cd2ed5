// load(): loads each build once, again after a failure, from any source of wasm, in every entry of the package.
import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import test from "node:test";
import { RopewalkError } from "ropewalk";
import { build, freshLoad, serving, wasmBytes, wasmPath, wasmUrl, works } from "../helpers/loading.mjs";
import { inNewProcess } from "../helpers/processes.mjs";

test("loading again returns the same module, and each build has a separate one", async () => {
  const load = await freshLoad();
  const rw = await load({ build });
  assert.ok(works(rw));
  assert.equal(await load({ build }), rw);
  const scalar = await load({ build: "scalar" });
  assert.notEqual(scalar, rw);
  assert.deepEqual([rw.build, scalar.build], [build, "scalar"]);
  assert.equal(await load({ build }), rw);
});

test("concurrent calls share one module, fetched once", async () => {
  await serving({ "/ropewalk.wasm": { body: wasmBytes } }, async (host, requests) => {
    const load = await freshLoad();
    const wasm = `${host}/ropewalk.wasm`;
    const modules = await Promise.all([load({ build, wasm }), load({ build, wasm }), load({ build })]);
    assert.ok(works(modules[0]));
    assert.ok(modules.every((rw) => rw === modules[0]));
    assert.deepEqual(requests, ["/ropewalk.wasm"]);
  });
});

test("auto is the relaxed build if the engine supports it", async () => {
  const rw = await (await freshLoad())();
  assert.ok(works(rw));
  // f32x4.relaxed_madd on zeros
  const probe = [
    0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 20, 1, 18, 0, 65, 0, 253, 17, 65, 0, 253, 17, 65, 0,
    253, 17, 253, 133, 2, 26, 11,
  ];
  assert.equal(rw.build, WebAssembly.validate(Uint8Array.from(probe)) ? "relaxed" : "simd");
  if (build === "relaxed") assert.equal(rw.build, "relaxed");
});

const sources = {
  "a URL": () => wasmUrl,
  "a file: address": () => wasmUrl.href,
  "a path": () => wasmPath,
  bytes: () => Uint8Array.from(wasmBytes),
  "bytes in the middle of a buffer": () => {
    const larger = new Uint8Array(wasmBytes.length + 20);
    larger.set(wasmBytes, 10);
    return larger.subarray(10, 10 + wasmBytes.length);
  },
  "an ArrayBuffer": () => Uint8Array.from(wasmBytes).buffer,
  "a DataView": () => new DataView(Uint8Array.from(wasmBytes).buffer),
  "a compiled module": () => WebAssembly.compile(wasmBytes),
  "a Response": () => new Response(wasmBytes),
  "a promise of a Response": () => Promise.resolve(new Response(wasmBytes)),
};

for (const [name, source] of Object.entries(sources)) {
  test(`wasm given as ${name}`, async () => {
    const load = await freshLoad();
    const wasm = name.startsWith("a compiled") ? await source() : source();
    const rw = await load({ build, wasm });
    assert.ok(works(rw));
    assert.equal(rw.build, build);
  });
}

test("wasm given as a URL, with any content type, and as a fetch", async () => {
  await serving(
    { "/a.wasm": { body: wasmBytes }, "/b": { body: wasmBytes, type: "application/octet-stream" } },
    async (host) => {
      for (const wasm of [`${host}/a.wasm`, new URL(`${host}/b`)])
        assert.ok(works(await (await freshLoad())({ build, wasm })));
      assert.ok(works(await (await freshLoad())({ build, wasm: fetch(`${host}/b`) })));
    },
  );
});

test("several loaders share a compiled module, each with its own memory", async () => {
  const wasm = await WebAssembly.compile(wasmBytes);
  const [a, b] = [await (await freshLoad())({ build, wasm }), await (await freshLoad())({ build, wasm })];
  assert.notEqual(a, b);
  const [x, y] = [a.tensor([4]).set([1, 2, 3, 4]), b.tensor([4])];
  assert.deepEqual(
    [[...x.data], [...y.data]],
    [
      [1, 2, 3, 4],
      [0, 0, 0, 0],
    ],
  );
  const rope = b.rope({ head_dim: 4, pairing: "half" });
  assert.throws(() => rope.rotate(x, { layout: "thd", shape: [4], positions: 0 }), RopewalkError);
});

test("loads again after a failure", async () => {
  const load = await freshLoad();
  await assert.rejects(load({ build, wasm: new Uint8Array() }), { code: "WASM_LOAD" });
  await assert.rejects(load({ build, wasm: `${wasmPath}.absent` }), { code: "WASM_LOAD" });
  assert.ok(works(await load({ build })));
});

test("a failed load fails concurrent calls, but not later ones", async () => {
  const load = await freshLoad();
  const failing = [load({ build, wasm: new Uint8Array() }), load({ build })];
  for (const { status, reason } of await Promise.allSettled(failing))
    assert.deepEqual([status, reason?.code], ["rejected", "WASM_LOAD"]);
  assert.ok(works(await load({ build })));
});

test("a signal that is already aborted, and one that aborts while loading", async () => {
  const load = await freshLoad();
  const why = new Error("enough");
  await assert.rejects(load({ build, signal: AbortSignal.abort(why) }), why);
  await serving({ "/never.wasm": () => {} }, async (host) => {
    const controller = new AbortController();
    const waiting = (await freshLoad())({ build, wasm: `${host}/never.wasm`, signal: controller.signal });
    setTimeout(() => controller.abort(why), 20);
    await assert.rejects(waiting, why);
  });
  await assert.rejects(load({ build, signal: AbortSignal.timeout(0) }), { name: "TimeoutError" });
  assert.ok(works(await load({ build })));
});

test("one caller aborts, and the others still get the module", async () => {
  let answer;
  await serving({ "/slow.wasm": (response) => (answer = response) }, async (host) => {
    const load = await freshLoad();
    const controller = new AbortController();
    const wasm = `${host}/slow.wasm`;
    const [first, second] = [load({ build, wasm, signal: controller.signal }), load({ build, wasm })];
    first.catch(() => {});
    for (let i = 0; answer === undefined && i < 2000; i++) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(answer, "the server gets a request");
    controller.abort();
    await assert.rejects(first, { name: "AbortError" });
    answer.writeHead(200, { "content-type": "application/wasm" }).end(wasmBytes);
    assert.ok(works(await second));
    assert.equal(await load({ build }), await second);
  });
});

test("an abort after loading has no effect", async () => {
  const controller = new AbortController();
  const load = await freshLoad();
  const rw = await load({ build, signal: controller.signal });
  controller.abort();
  assert.ok(works(rw));
  assert.equal(await load({ build }), rw);
});

test("ropewalk/inline, without a file: the same API and the same bits", async () => {
  const inline = await import("ropewalk/inline");
  const main = await import("ropewalk");
  assert.deepEqual(Object.keys(inline), Object.keys(main));
  assert.equal(inline.RopewalkError, main.RopewalkError, "both entries share their classes");
  const rw = await inline.load({ build });
  assert.ok(works(rw));
  assert.equal(await inline.load({ build }), rw);
  const options = { layout: "thd", shape: [1, 1, 64], positions: 12345 };
  const rotated = [rw, await main.load({ build })].map((runtime) =>
    runtime.rope({ head_dim: 64, pairing: "half" }).rotate(new Float32Array(64).fill(1), options),
  );
  assert.deepEqual(rotated[0], rotated[1]);
});

test("ropewalk/inline works without its wasm files, and fetches nothing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-inline-"));
  const dist = dirname(fileURLToPath(import.meta.resolve("ropewalk/inline")));
  await cp(dist, folder, { recursive: true, filter: (path) => !path.endsWith(".wasm") });
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const output = await inNewProcess(`
    globalThis.fetch = () => { throw new Error("fetched"); };
    const { load } = await import(${JSON.stringify(pathToFileURL(join(folder, "inline.js")))});
    const rw = await load({ build: ${JSON.stringify(build)} });
    console.log(rw.build, rw.rope({ head_dim: 4, pairing: "half" }).plan().inv_freq.join());`);
  assert.equal(output, `${build} 1,0.01`);
  await rm(folder, { recursive: true });
});

test("all exports of the shapes that apps know", async () => {
  const exportsOf = async (entry) => Object.keys(await import(entry)).sort();
  assert.deepEqual(await exportsOf("ropewalk/openai"), ["errorResponse", "openai"]);
  assert.deepEqual(await exportsOf("ropewalk/ai-sdk"), ["createRopewalk"]);
  assert.deepEqual(await exportsOf("ropewalk/search"), ["needleTexts", "searchRope"]);
});

test("all exports of the package", async () => {
  assert.deepEqual(Object.keys(await import("ropewalk")).sort(), [
    "AXES_LAYOUTS",
    "BUILDS",
    "CACHE_DTYPES",
    "COMPATS",
    "DECAY_CURVES",
    "DTYPES",
    "FULL_POLICIES",
    "KEY_MODES",
    "KvCache",
    "LAYOUTS",
    "LinearState",
    "MROPE_LAYOUTS",
    "PAIRINGS",
    "POSITION_MAP_TYPES",
    "PRECISIONS",
    "QUANTIZE_FORMATS",
    "QUERY_TEMPERATURE_LAYERS",
    "RAMPS",
    "RESTORED_ROPES",
    "ROLES",
    "ROPE_TYPES",
    "Rope",
    "Ropewalk",
    "RopewalkError",
    "SAMPLER_ORDERS",
    "TABLE_LAYOUTS",
    "TRACED",
    "Tensor",
    "describe",
    "load",
    "overrideRopeConfig",
    "ropeConfig",
    "ropeLayers",
    "toNpy",
    "toSafetensors",
  ]);
});
