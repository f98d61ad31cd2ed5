// Cached downloads, on a fake OPFS and a fake Cache API, which Node doesn't have.
import assert from "node:assert/strict";
import test from "node:test";
import { ggufBytes } from "../../files/gguf_writer.mjs";
import {
  fetchOnly,
  cachedModels,
  deleteCachedModel,
  expectError,
  expectIntact,
  openModel,
  readWhole,
} from "../../files/reading.mjs";
import { answer, serve } from "../../files/server.mjs";
import { fakeCaches, fakeOpfs } from "../../files/stores.mjs";
import { ggufModel, safetensorsFolder } from "../../files/tiny_models.mjs";

const PIECE = 16 << 20;
const bytes = ggufBytes(ggufModel({ large: 40 << 20 })); // three pieces
const piecesIn = (stored) => [...stored.keys()].filter((name) => /-\d+$/.test(name)).length;

const kinds = [
  ["OPFS", () => fakeOpfs(), "opfs"],
  ["OPFS with sync access handles only", () => fakeOpfs({ streams: false }), "opfs"],
  ["the Cache API", () => fakeCaches(), "cache"],
  ["browser: OPFS", () => fakeOpfs(), "browser"],
  ["browser: Cache API without OPFS", () => fakeCaches(), "browser"],
  [
    "browser: Cache API if OPFS is read-only",
    () => ({ ...fakeCaches(), opfsRoot: fakeOpfs({ streams: false, sync: false }).opfsRoot }),
    "browser",
  ],
];

test("a model is downloaded once, then read from the cache", async (t) => {
  for (const [title, make, cache] of kinds) {
    await t.test(title, async (t) => {
      const { stored, ...store } = make();
      const served = await serve(t, { "m.gguf": bytes });
      const open = () =>
        openModel({ ...fetchOnly, ...store }, `${served.url}m.gguf`, { cache, onWarning: assert.fail });
      await expectIntact(await open());
      assert.equal(piecesIn(stored), 3);
      const sent = served.requests.reduce((sum, { start, end }) => sum + end - start, 0);
      assert.ok(sent < bytes.length + (2 << 20), `${sent} of ${bytes.length} bytes`);
      const before = served.requests.length;
      await expectIntact(await open());
      assert.deepEqual(
        served.requests.slice(before).map(({ start, end }) => [start, end]),
        [[0, 1]],
        "only the check for changes",
      );
    });
  }
});

test("an interrupted download resumes at the first missing piece", async (t) => {
  const { stored, ...store } = fakeOpfs();
  const served = await serve(t, { "m.gguf": bytes });
  const open = () => openModel({ ...fetchOnly, ...store }, `${served.url}m.gguf`, { cache: "opfs" });
  const model = await open();
  const controller = new AbortController();
  let loaded = 0;
  const stop = (tensor, offset, chunk) =>
    (loaded += chunk.length) > PIECE + 1000000 && controller.abort(new Error("closed"));
  await assert.rejects(model.read(model.tensors.values(), stop, { signal: controller.signal }), /closed/);
  assert.equal(piecesIn(stored), 1);
  const before = served.requests.length;
  await expectIntact(await open());
  assert.ok(served.requests.slice(before).every(({ start, end }) => start >= PIECE || end === 1));
});

test("a file that changed on the server is downloaded again", async (t) => {
  const { stored: _, ...store } = fakeOpfs();
  const served = await serve(t, { "m.gguf": bytes });
  const open = () => openModel({ ...fetchOnly, ...store }, `${served.url}m.gguf`, { cache: "opfs" });
  await expectIntact(await open());
  served.files["m.gguf"] = ggufBytes(ggufModel({ large: 20 << 20, metadata: { "general.name": "another" } }));
  const model = await open();
  assert.equal(model.metadata["general.name"], "another");
  await expectIntact(model);
});

test("a truncated piece is downloaded again", async (t) => {
  const { stored, ...store } = fakeOpfs();
  const served = await serve(t, { "m.gguf": bytes });
  const open = () => openModel({ ...fetchOnly, ...store }, `${served.url}m.gguf`, { cache: "opfs" });
  await expectIntact(await open());
  const second = [...stored.keys()].find((name) => name.endsWith("-1"));
  stored.set(second, stored.get(second).slice(0, 1000));
  const before = served.requests.length;
  await expectIntact(await open());
  assert.deepEqual(
    served.requests.slice(before + 1).map(({ start, end }) => [start, end]),
    [[PIECE, 2 * PIECE]],
  );
});

test("a file with a damaged record is downloaded again", async (t) => {
  const { stored, ...store } = fakeOpfs();
  const served = await serve(t, { "m.gguf": bytes });
  const open = () =>
    openModel({ ...fetchOnly, ...store }, `${served.url}m.gguf`, { cache: "opfs", onWarning: assert.fail });
  await expectIntact(await open());
  const about = [...stored.keys()].find((name) => name.endsWith("-about"));
  for (const text of ["", "{", "null", "[]", '{"size":"x"}', '{"size":1}']) {
    stored.set(about, new Blob([text]));
    await expectIntact(await open());
    assert.equal(JSON.parse(await stored.get(about).text()).size, bytes.length, text);
  }
});

test("with a full store, reading continues after one warning", async (t) => {
  for (const [make, cache] of [
    [fakeOpfs, "opfs"],
    [fakeCaches, "cache"],
  ]) {
    const { stored, ...store } = make({ quota: PIECE + 1000 });
    const served = await serve(t, { "m.gguf": bytes });
    const warnings = [];
    const open = () =>
      openModel({ ...fetchOnly, ...store }, `${served.url}m.gguf`, {
        cache,
        onWarning: (message) => warnings.push(message),
      });
    await expectIntact(await open());
    assert.deepEqual(warnings.length, 1);
    assert.match(warnings[0], /m\.gguf: not cached from byte 16777216 on: .*quota/);
    assert.equal(piecesIn(stored), 1);
    await expectIntact(await open());
  }
});

test("an environment without OPFS and Cache API", async (t) => {
  const served = await serve(t, { "m.gguf": bytes });
  const expectError = () => Promise.reject(new DOMException("no", "SecurityError"));
  for (const store of [{}, { opfsRoot: expectError, caches: { open: expectError } }]) {
    for (const cache of ["opfs", "cache", "browser"]) {
      const warnings = [];
      await openModel({ ...fetchOnly, ...store }, `${served.url}m.gguf`, {
        cache,
        onWarning: (message) => warnings.push(message),
      });
      assert.equal(warnings.length, 1);
      assert.match(warnings[0], /not cached: this environment has no (OPFS|Cache API)/);
    }
  }
});

test("without the server, cached files are used, and missing optional files stay missing", async (t) => {
  const { stored, ...store } = fakeOpfs();
  const { "tokenizer.json": _, ...folder } = safetensorsFolder();
  const served = await serve(t, folder);
  const warnings = [];
  const open = () =>
    openModel({ ...fetchOnly, ...store }, served.url, {
      cache: "opfs",
      retries: 0,
      onWarning: (message) => warnings.push(message),
    });
  await expectIntact(await open());
  assert.deepEqual(warnings, []);
  served.server.closeAllConnections();
  await new Promise((resolve) => served.server.close(resolve));
  const model = await open();
  assert.ok(!("tokenizer" in model));
  assert.deepEqual(model.tokenizerConfig, { eos_token: "</s>" });
  await expectIntact(model);
  assert.match(warnings[0], /using the cached file/);
  for (const name of [...stored.keys()]) if (/-0$/.test(name) && stored.get(name).size > 200) stored.delete(name);
  await expectError(open(), "NETWORK", "model.safetensors: download", /only part of the file/);
  stored.clear();
  await expectError(open(), "NETWORK", "model.safetensors: download", /cannot reach the server/);
});

test("a server that sends no length", async (t) => {
  const { stored, ...store } = fakeOpfs();
  const { url } = await serve(
    t,
    { "m.gguf": bytes },
    ({ response }) => (answer(response, bytes, undefined, { headers: { "content-length": null } }), true),
  );
  const warnings = [];
  await expectIntact(
    await openModel({ ...fetchOnly, ...store }, `${url}m.gguf`, {
      cache: "opfs",
      onWarning: (message) => warnings.push(message),
    }),
  );
  assert.equal(stored.size, 0);
  assert.match(warnings.join(), /^m\.gguf: not cached: the server sends no length/);
});

test("reading one tensor caches only its pieces", async (t) => {
  const { stored, ...store } = fakeOpfs();
  const served = await serve(t, { "m.gguf": bytes });
  const model = await openModel({ ...fetchOnly, ...store }, `${served.url}m.gguf`, { cache: "opfs" });
  await readWhole(model, [model.tensors.get("scalar")]);
  assert.deepEqual(
    [...stored.keys()]
      .filter((name) => /-\d+$/.test(name))
      .map((name) => name.at(-1))
      .sort(),
    ["0", "2"],
  );
});

test("cached models are listed by URL and removed", async (t) => {
  const [folder, cached] = [fakeOpfs(), fakeCaches()];
  const platform = { ...fetchOnly, opfsRoot: folder.opfsRoot, caches: cached.caches };
  assert.deepEqual(await cachedModels(platform), []);
  assert.equal(await deleteCachedModel(platform, "http://localhost/m.gguf"), false);

  const files = { ...safetensorsFolder(), "m.gguf": bytes };
  const { url } = await serve(t, files);
  await expectIntact(await openModel(platform, `${url}m.gguf#part`, { cache: "opfs" }));
  await expectIntact(await openModel(platform, url, { cache: "opfs" }));
  const small = await openModel(platform, `${url}m.gguf`, { cache: "cache" });
  await readWhole(small, [small.tensors.get("scalar")]); // in the third piece of three
  const { "m.gguf": _, ...others } = files;
  const size = Object.values(others).reduce((sum, { length }) => sum + length, 0);
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
  assert.equal(cached.stored.size, 0);
  assert.equal(await deleteCachedModel(platform, `${url}m.gguf`), false);
  assert.equal(await deleteCachedModel(platform, url), true);
  assert.equal(folder.stored.size, 0);
  await expectIntact(await openModel(platform, `${url}m.gguf`, { cache: "opfs", onWarning: assert.fail }));
  await expectError(deleteCachedModel(platform, "::"), "INVALID_ARGUMENT", "source", /must be a URL/);
});

const MISSING_WEIGHTS = "model.safetensors or model.safetensors.index.json: file";

test("a download that fails before its first piece isn't listed", async (t) => {
  const { stored: _, ...store } = fakeOpfs();
  const platform = { ...fetchOnly, ...store };
  const { url } = await serve(t, {});
  await expectError(openModel(platform, `${url}nothing/`, { cache: "opfs" }), "NETWORK", MISSING_WEIGHTS);
  assert.deepEqual(await cachedModels(platform), []);
});

test("a file shared by two models counts for the one opened last", async (t) => {
  const { stored: _, ...store } = fakeOpfs();
  const platform = { ...fetchOnly, ...store };
  const { url, requests } = await serve(t, safetensorsFolder());
  for (const source of [url, `${url}model.safetensors`])
    await expectIntact(await openModel(platform, source, { cache: "opfs" }));
  assert.deepEqual(
    (await cachedModels(platform)).map(({ source, bytes, size }) => [source, bytes === size]),
    [[`${url}model.safetensors`, true]],
  );
  assert.ok(
    requests.every(({ start }) => start === 0),
    "only checks for changes",
  );
});

test("pieces without a record are not used for another file", async (t) => {
  const { stored, ...store } = fakeOpfs();
  const served = await serve(t, { "m.gguf": bytes });
  const open = () =>
    openModel({ ...fetchOnly, ...store }, `${served.url}m.gguf`, { cache: "opfs", onWarning: assert.fail });
  await expectIntact(await open());
  stored.delete([...stored.keys()].find((name) => name.endsWith("-about")));
  const other = Uint8Array.from(bytes).fill(1, bytes.length - 40); // of the same length, so its pieces are too
  served.files["m.gguf"] = other;
  const model = await open();
  const scalar = model.tensors.get("scalar");
  const read = await readWhole(model, [scalar]);
  assert.deepEqual([...read.get("scalar")], [...other.subarray(scalar.offset, scalar.offset + scalar.bytes)]);
});
