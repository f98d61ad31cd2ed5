// Downloads that are kept: on stand-ins for the private folder and the caches of an origin, which Node does not have.
import assert from "node:assert/strict";
import test from "node:test";
import { ggufBytes } from "../files/gguf_writer.mjs";
import {
  bare,
  cachedModels,
  deleteCachedModel,
  expectError,
  expectWhole,
  openModel,
  readWhole,
} from "../files/reading.mjs";
import { answer, serve } from "../files/server.mjs";
import { fakeCaches, fakeFolder } from "../files/stores.mjs";
import { ggufModel, safetensorsFolder } from "../files/tiny_models.mjs";

const PIECE = 16 << 20;
const bytes = ggufBytes(ggufModel({ large: 40 << 20 })); // three pieces
const piecesIn = (kept) => [...kept.keys()].filter((name) => /-\d+$/.test(name)).length;

const kinds = [
  ["the private folder", () => fakeFolder(), "opfs"],
  ["the private folder of a Worker without streams", () => fakeFolder({ streams: false }), "opfs"],
  ["the caches", () => fakeCaches(), "cache"],
  ["what there is", () => fakeFolder(), "browser"],
  ["what there is, without a folder", () => fakeCaches(), "browser"],
  [
    "what there is, with a folder that cannot be written",
    () => ({ ...fakeCaches(), privateFolder: fakeFolder({ streams: false, sync: false }).privateFolder }),
    "browser",
  ],
];

test("read once from the server, then from what is kept", async (t) => {
  for (const [what, make, cache] of kinds) {
    await t.test(what, async (t) => {
      const { kept, ...store } = make();
      const served = await serve(t, { "m.gguf": bytes });
      const open = () => openModel({ ...bare, ...store }, `${served.url}m.gguf`, { cache, onWarning: assert.fail });
      await expectWhole(await open());
      assert.equal(piecesIn(kept), 3);
      const sent = served.asked.reduce((sum, { start, end }) => sum + end - start, 0);
      assert.ok(sent < bytes.length + (2 << 20), `${sent} of ${bytes.length} bytes`);
      const before = served.asked.length;
      await expectWhole(await open());
      assert.deepEqual(
        served.asked.slice(before).map(({ start, end }) => [start, end]),
        [[0, 1 << 20]],
        "only whether it has changed",
      );
    });
  }
});

test("a download that breaks off goes on with the first piece that is missing", async (t) => {
  const { kept, ...store } = fakeFolder();
  const served = await serve(t, { "m.gguf": bytes });
  const open = () => openModel({ ...bare, ...store }, `${served.url}m.gguf`, { cache: "opfs" });
  const model = await open();
  const controller = new AbortController();
  let loaded = 0;
  const stop = (tensor, offset, chunk) =>
    (loaded += chunk.length) > PIECE + 1000000 && controller.abort(new Error("closed"));
  await assert.rejects(model.read(model.tensors.values(), stop, { signal: controller.signal }), /closed/);
  assert.equal(piecesIn(kept), 1);
  const before = served.asked.length;
  await expectWhole(await open());
  assert.ok(served.asked.slice(before).every(({ start, end }) => start >= PIECE || end === 1 << 20));
});

test("what the server has changed is fetched anew", async (t) => {
  const { kept: _, ...store } = fakeFolder();
  const served = await serve(t, { "m.gguf": bytes });
  const open = () => openModel({ ...bare, ...store }, `${served.url}m.gguf`, { cache: "opfs" });
  await expectWhole(await open());
  served.files["m.gguf"] = ggufBytes(ggufModel({ large: 20 << 20, metadata: { "general.name": "another" } }));
  const model = await open();
  assert.equal(model.metadata["general.name"], "another");
  await expectWhole(model);
});

test("a piece that is cut short is fetched again", async (t) => {
  const { kept, ...store } = fakeFolder();
  const served = await serve(t, { "m.gguf": bytes });
  const open = () => openModel({ ...bare, ...store }, `${served.url}m.gguf`, { cache: "opfs" });
  await expectWhole(await open());
  const second = [...kept.keys()].find((name) => name.endsWith("-1"));
  kept.set(second, kept.get(second).slice(0, 1000));
  const before = served.asked.length;
  await expectWhole(await open());
  assert.deepEqual(
    served.asked.slice(before + 1).map(({ start, end }) => [start, end]),
    [[PIECE, 2 * PIECE]],
  );
});

test("what is known of a kept file, damaged: it is fetched anew", async (t) => {
  const { kept, ...store } = fakeFolder();
  const served = await serve(t, { "m.gguf": bytes });
  const open = () => openModel({ ...bare, ...store }, `${served.url}m.gguf`, { cache: "opfs", onWarning: assert.fail });
  await expectWhole(await open());
  const about = [...kept.keys()].find((name) => name.endsWith("-about"));
  for (const text of ["", "{", "null", "[]", '{"size":"x"}', '{"size":1}']) {
    kept.set(about, new Blob([text]));
    await expectWhole(await open());
    assert.equal(JSON.parse(await kept.get(about).text()).size, bytes.length, text);
  }
});

test("a store that is full: reading goes on, and says so once", async (t) => {
  for (const [make, cache] of [
    [fakeFolder, "opfs"],
    [fakeCaches, "cache"],
  ]) {
    const { kept, ...store } = make({ quota: PIECE + 1000 });
    const served = await serve(t, { "m.gguf": bytes });
    const warnings = [];
    const open = () =>
      openModel({ ...bare, ...store }, `${served.url}m.gguf`, {
        cache,
        onWarning: (message) => warnings.push(message),
      });
    await expectWhole(await open());
    assert.deepEqual(warnings.length, 1);
    assert.match(warnings[0], /m\.gguf: is not kept from byte 16777216 on: .*quota/);
    assert.equal(piecesIn(kept), 1);
    await expectWhole(await open());
  }
});

test("a place that keeps nothing", async (t) => {
  const served = await serve(t, { "m.gguf": bytes });
  const refuses = () => Promise.reject(new DOMException("no", "SecurityError"));
  for (const store of [{}, { privateFolder: refuses, caches: { open: refuses } }]) {
    for (const cache of ["opfs", "cache", "browser"]) {
      const warnings = [];
      await openModel({ ...bare, ...store }, `${served.url}m.gguf`, {
        cache,
        onWarning: (message) => warnings.push(message),
      });
      assert.equal(warnings.length, 1);
      assert.match(warnings[0], /nothing is kept/);
    }
  }
});

test("without the server, what is kept is read, and known to be absent what was", async (t) => {
  const { kept, ...store } = fakeFolder();
  const { "tokenizer.json": _, ...folder } = safetensorsFolder();
  const served = await serve(t, folder);
  const warnings = [];
  const open = () =>
    openModel({ ...bare, ...store }, served.url, {
      cache: "opfs",
      retries: 0,
      onWarning: (message) => warnings.push(message),
    });
  await expectWhole(await open());
  assert.deepEqual(warnings, []);
  served.server.closeAllConnections();
  await new Promise((resolve) => served.server.close(resolve));
  const model = await open();
  assert.ok(!("tokenizer" in model));
  assert.deepEqual(model.tokenizerConfig, { eos_token: "</s>" });
  await expectWhole(model);
  assert.match(warnings[0], /what was kept is read/);
  for (const name of [...kept.keys()]) if (/-0$/.test(name) && kept.get(name).size > 200) kept.delete(name);
  await expectError(open(), "NETWORK", "model.safetensors: download", /not all of it is kept/);
  kept.clear();
  await expectError(open(), "NETWORK", "model.safetensors: download", /cannot be reached/);
});

test("a server that does not tell the length", async (t) => {
  const { kept, ...store } = fakeFolder();
  const { url } = await serve(
    t,
    { "m.gguf": bytes },
    ({ response }) => (answer(response, bytes, undefined, { headers: { "content-length": null } }), true),
  );
  const warnings = [];
  await expectWhole(
    await openModel({ ...bare, ...store }, `${url}m.gguf`, {
      cache: "opfs",
      onWarning: (message) => warnings.push(message),
    }),
  );
  assert.equal(kept.size, 0);
  assert.match(warnings.join(), /^m\.gguf: is not kept: the server does not tell its length/);
});

test("one tensor keeps its pieces only", async (t) => {
  const { kept, ...store } = fakeFolder();
  const served = await serve(t, { "m.gguf": bytes });
  const model = await openModel({ ...bare, ...store }, `${served.url}m.gguf`, { cache: "opfs" });
  await readWhole(model, [model.tensors.get("scalar")]);
  assert.deepEqual(
    [...kept.keys()]
      .filter((name) => /-\d+$/.test(name))
      .map((name) => name.at(-1))
      .sort(),
    ["0", "2"],
  );
});

test("what is kept is listed by the address of its model, and removed", async (t) => {
  const [folder, cached] = [fakeFolder(), fakeCaches()];
  const platform = { ...bare, privateFolder: folder.privateFolder, caches: cached.caches };
  assert.deepEqual(await cachedModels(platform), []);
  assert.equal(await deleteCachedModel(platform, "http://localhost/m.gguf"), false);

  const files = { ...safetensorsFolder(), "m.gguf": bytes };
  const { url } = await serve(t, files);
  await expectWhole(await openModel(platform, `${url}m.gguf#part`, { cache: "opfs" }));
  await expectWhole(await openModel(platform, url, { cache: "opfs" }));
  const small = await openModel(platform, `${url}m.gguf`, { cache: "cache" });
  await readWhole(small, [small.tensors.get("scalar")]); // in the third piece of three
  const { "m.gguf": _, ...beside } = files;
  const size = Object.values(beside).reduce((sum, { length }) => sum + length, 0);
  const [gguf, part] = [
    { source: `${url}m.gguf`, cache: "opfs", bytes: bytes.length, size: bytes.length },
    bytes.length - PIECE,
  ];
  assert.deepEqual(await cachedModels(platform), [
    gguf,
    { source: url, cache: "opfs", bytes: size, size },
    { ...gguf, cache: "cache", bytes: part },
  ]);

  assert.equal(await deleteCachedModel(platform, new URL(`${url}m.gguf#other`)), true);
  assert.deepEqual(
    (await cachedModels(platform)).map(({ source }) => source),
    [url],
  );
  assert.equal(cached.kept.size, 0);
  assert.equal(await deleteCachedModel(platform, `${url}m.gguf`), false);
  assert.equal(await deleteCachedModel(platform, url), true);
  assert.equal(folder.kept.size, 0);
  await expectWhole(await openModel(platform, `${url}m.gguf`, { cache: "opfs", onWarning: assert.fail }));
  await expectError(deleteCachedModel(platform, "::"), "INVALID_ARGUMENT", "source", /not an address/);
});

test("a file of two models counts with the one opened last", async (t) => {
  const { kept, ...store } = fakeFolder();
  const platform = { ...bare, ...store };
  const { url, asked } = await serve(t, safetensorsFolder());
  for (const source of [url, `${url}model.safetensors`])
    await expectWhole(await openModel(platform, source, { cache: "opfs" }));
  assert.deepEqual(
    (await cachedModels(platform)).map(({ source, bytes, size }) => [source, bytes === size]),
    [[`${url}model.safetensors`, true]],
  );
  assert.ok(
    asked.every(({ start }) => start === 0),
    "asked whether it has changed",
  );
});

test("pieces without what is known of them are not taken for another file's", async (t) => {
  const { kept, ...store } = fakeFolder();
  const served = await serve(t, { "m.gguf": bytes });
  const open = () => openModel({ ...bare, ...store }, `${served.url}m.gguf`, { cache: "opfs", onWarning: assert.fail });
  await expectWhole(await open());
  kept.delete([...kept.keys()].find((name) => name.endsWith("-about")));
  const other = Uint8Array.from(bytes).fill(1, bytes.length - 40); // as long, so that its pieces are too
  served.files["m.gguf"] = other;
  const model = await open();
  const scalar = model.tensors.get("scalar");
  const read = await readWhole(model, [scalar]);
  assert.deepEqual([...read.get("scalar")], [...other.subarray(scalar.offset, scalar.offset + scalar.bytes)]);
});
