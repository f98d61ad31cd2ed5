// Models by name in Node: kept in the folder and layout of huggingface_hub, resumed, shared by processes, and opened without a network.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { hubFolder, nodeDisk } from "../../../build/package/runtime/files/hub/disk.node.js";
import { openFiles } from "../../../build/package/runtime/files/model_files.js";
import { nodeFilePlatform } from "../../../build/package/runtime/files/platform.node.js";
import { readRange } from "../../../build/package/runtime/files/byte_source.js";
import { ggufBytes } from "../../files/gguf_writer.mjs";
import { commitOf, gitDigest, serveHub, sha256 } from "../../files/hub.mjs";
import { cachedModels, deleteCachedModel, expectError, expectIntact, openModel } from "../../files/reading.mjs";
import { ggufModel, safetensorsFolder } from "../../files/tiny_models.mjs";

const golden = JSON.parse(readFileSync(new URL("../../golden/hub_cache.json", import.meta.url)));
const gguf = ggufBytes(ggufModel({ large: 6 << 20 }));
const name = "org/tiny";

/** Node's platform with a folder of its own for downloads. */
async function platformIn(t, variables = {}) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-hub-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const environment = { HF_HUB_CACHE: folder, ...variables };
  return { ...nodeFilePlatform, hubDisk: async () => nodeDisk(environment), environment: () => environment, folder };
}

/** Every file and link below a folder, by path. */
async function treeOf(folder) {
  const tree = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const at = path.slice(folder.length + 1);
    if (entry.isSymbolicLink()) tree[at] = { link: await readlink(path) };
    else if (entry.isFile()) tree[at] = { sha256: sha256(await readFile(path)) };
  }
  return tree;
}

const downloaded = (requests) => requests.filter(({ path }) => !path.startsWith("/api/models/"));

test("the folder is that of huggingface_hub", () => {
  const of = (variables) => hubFolder(variables).replaceAll("\\", "/");
  assert.equal(of({ HF_HUB_CACHE: "/a", HF_HOME: "/b" }), "/a");
  assert.equal(of({ HUGGINGFACE_HUB_CACHE: "/a" }), "/a");
  assert.equal(of({ HF_HOME: "/b", XDG_CACHE_HOME: "/c" }), "/b/hub");
  assert.equal(of({ XDG_CACHE_HOME: "/c" }), "/c/huggingface/hub");
  assert.match(of({}), /[^~]\/\.cache\/huggingface\/hub$/);
  assert.doesNotMatch(of({ HF_HOME: "~/b" }), /~/);
});

test("what is left on disk is what huggingface_hub leaves", async (t) => {
  const files = Object.fromEntries(Object.entries(golden.files).map(([path, hex]) => [path, Buffer.from(hex, "hex")]));
  const at = { repository: golden.repository, revision: "main", commit: golden.commit, warn: assert.fail };
  const { folder, hubDisk } = await platformIn(t);
  const disk = await hubDisk();
  for (const [path, bytes] of Object.entries(files)) {
    const etag = path.endsWith(".gguf") ? sha256(bytes) : gitDigest(bytes);
    const fetched = async () => ({
      ...{ name: path, size: bytes.length, seekCost: 0 },
      async *stream(start, end) {
        yield bytes.subarray(start, end);
      },
    });
    const source = await disk.open({ ...at, file: { path, size: bytes.length, etag } }, path, fetched);
    await readRange(source.kept ?? source, 0, bytes.length);
  }
  assert.deepEqual(await treeOf(folder), golden.tree);
});

test("a file that huggingface_hub has downloaded isn't downloaded again", async (t) => {
  const files = { "m-Q8_0.gguf": gguf, "README.md": Buffer.from("#") };
  const { url: hub, requests } = await serveHub(t, { [name]: { files } });
  const platform = await platformIn(t);
  const root = join(platform.folder, "models--org--tiny");
  const path = join(root, "snapshots", commitOf(files), "m-Q8_0.gguf");
  for (const folder of [dirname(path), join(root, "blobs")]) await mkdir(folder, { recursive: true });
  await writeFile(join(root, "blobs", sha256(gguf)), gguf);
  await symlink(`../../blobs/${sha256(gguf)}`, path);
  await expectIntact(await openModel(platform, name, { hub }));
  assert.deepEqual(downloaded(requests), []);
  // nor for a commit that has the same file
  await rm(path);
  await expectIntact(await openModel(platform, name, { hub }));
  assert.deepEqual(downloaded(requests), []);
  assert.ok((await stat(path)).isFile());
});

test("kept while it is read, then opened without a network", async (t) => {
  const {
    url: hub,
    requests,
    stop,
  } = await serveHub(t, { [name]: { files: safetensorsFolder() }, "org/gguf": { files: { "m.gguf": gguf } } });
  const platform = await platformIn(t);
  const warnings = [];
  const open = (source) =>
    openModel(platform, source, { hub, retries: 0, onWarning: (message) => warnings.push(message) });
  const headers = await open("org/gguf");
  assert.deepEqual(await cachedModels(platform), []); // headers alone keep no weights
  await expectIntact(headers);
  await expectIntact(await open(name));
  const [largest, ...others] = (await cachedModels(platform)).sort((a, b) => b.bytes - a.bytes);
  assert.deepEqual(largest, { source: "org/gguf", cache: "disk", bytes: gguf.length, size: gguf.length });
  assert.deepEqual(
    others.map(({ source }) => source),
    [name],
  );
  const before = downloaded(requests).length;
  await expectIntact(await open("org/gguf"));
  assert.equal(downloaded(requests).length, before);
  assert.deepEqual(warnings, []);
  stop();
  await expectIntact(await open("org/gguf"));
  const model = await open(name);
  await expectIntact(model);
  assert.equal(model.tokenizer.version, "1.0");
  assert.match(warnings[0], /org\/gguf: using what is kept of commit [0-9a-f]{40} \(.*cannot reach the server/);
  await expectError(open("org/other"), "NETWORK", "org/other: download", /cannot reach the server/);
  assert.equal(await deleteCachedModel(platform, "org/gguf"), true);
  assert.equal(await deleteCachedModel(platform, "org/gguf"), false);
  assert.deepEqual(
    (await cachedModels(platform)).map(({ source }) => source),
    [name],
  );
});

test("HF_HUB_OFFLINE asks nothing for what is kept", async (t) => {
  const { url: hub, requests } = await serveHub(t, { [name]: { files: { "m.gguf": gguf } } });
  const platform = await platformIn(t);
  await expectIntact(await openModel(platform, name, { hub }));
  const before = requests.length;
  const offline = { ...platform, environment: () => ({ HF_HUB_OFFLINE: "1" }) };
  await expectIntact(await openModel(offline, name, { hub }));
  assert.equal(requests.length, before);
});

test("HF_HUB_OFFLINE asks nothing for what isn't kept", async (t) => {
  const { url: hub, requests } = await serveHub(t, { [name]: { files: { "m.gguf": gguf } } });
  const platform = await platformIn(t);
  const offline = { ...platform, environment: () => ({ HF_HUB_OFFLINE: "1" }) };
  for (const cache of ["disk", "none"])
    await expectError(
      openModel(offline, name, { hub, cache }),
      "NETWORK",
      `${name}: download`,
      /HF_HUB_OFFLINE is set/,
    );
  assert.deepEqual(requests, []);
});

test("where only some files are kept, others aren't said to be missing", async (t) => {
  const files = { "m-Q8_0.gguf": gguf, "m-Q4_0.gguf": gguf };
  const { url: hub } = await serveHub(t, { [name]: { files } });
  const platform = await platformIn(t);
  await expectIntact(await openModel(platform, `${name}:Q8_0`, { hub }));
  const online = openModel(platform, `${name}:safetensors`, { hub });
  await expectError(online, "INVALID_ARGUMENT", "source", /it has Q4_0 and Q8_0|it has Q4_0, Q8_0/);
  const far = { hub: "http://127.0.0.1:1", retries: 0 };
  const offline = (source, wanted) => openFiles(platform, source, far, wanted);
  const refused = (source, wanted) =>
    expectError(offline(source, wanted), "NETWORK", `${name}: download`, /isn't kept on disk.*cannot reach the server/);
  await refused(`${name}:Q4_0`);
  await refused(`${name}/m-Q4_0.gguf`);
  await refused(`${name}:Q4_0`, "adapter");
  assert.equal((await offline(`${name}:Q8_0`)).requested, "m-Q8_0.gguf");
});

test("texts that are almost names, and addresses of pages, are told what a name is", async (t) => {
  const platform = await platformIn(t);
  for (const source of ["gpt2", "org/name@", "org/name:", "huggingface.co/org/name"])
    await assert.rejects(openModel(platform, source), {
      code: "INVALID_FILE",
      message: /no such file: .*; name a model of the Hub as org\/name/,
    });
  for (const source of ["./gpt2", "no-such.gguf"])
    await assert.rejects(openModel(platform, source), {
      code: "INVALID_FILE",
      message: /no such file: (?!.*org\/name)/,
    });
  for (const page of ["org/name", "org/name/", "org/name/tree/main"])
    await expectError(
      openModel(platform, `https://huggingface.co/${page}`),
      "INVALID_ARGUMENT",
      "source",
      /page of the Hub; pass the name org\/name/,
    );
});

test("HF_ENDPOINT is the Hub, unless the caller names one", async (t) => {
  const { url } = await serveHub(t, { [name]: { files: { "m.gguf": gguf } } });
  const platform = await platformIn(t, { HF_ENDPOINT: url });
  assert.equal((await openModel(platform, name)).name, "m.gguf");
});

test("cache none keeps nothing", async (t) => {
  const { url: hub } = await serveHub(t, { [name]: { files: { "m.gguf": gguf } } });
  const platform = await platformIn(t);
  await expectIntact(await openModel(platform, name, { hub, cache: "none" }));
  assert.deepEqual(await readdir(platform.folder), []);
});

test("an interrupted download continues where it ended", async (t) => {
  const { url: hub, requests } = await serveHub(t, { [name]: { files: { "m.gguf": gguf } } });
  const platform = await platformIn(t);
  const controller = new AbortController();
  const model = await openModel(platform, name, { hub });
  const onProgress = ({ loaded }) => loaded > gguf.length / 2 && controller.abort();
  await assert.rejects(model.read(model.tensors.values(), () => {}, { signal: controller.signal, onProgress }));
  const [{ bytes, size }] = await cachedModels(platform);
  assert.ok(bytes >= gguf.length / 2 && bytes < gguf.length && size === gguf.length, `${bytes} of ${size}`);
  requests.length = 0;
  await expectIntact(await openModel(platform, name, { hub }));
  const starts = requests.filter(({ host }) => host === "localhost").map(({ range }) => Number(/\d+/.exec(range)[0]));
  assert.deepEqual(starts, [0, bytes]); // the header, and the rest
  assert.equal((await cachedModels(platform))[0].bytes, gguf.length);
});

test("several readers at once leave one intact file", async (t) => {
  const { url: hub } = await serveHub(t, { [name]: { files: { "m.gguf": gguf } } });
  const platform = await platformIn(t);
  const warnings = [];
  const read = async () =>
    expectIntact(await openModel(platform, name, { hub, onWarning: (message) => warnings.push(message) }));
  await Promise.all([read(), read(), read(), read()]);
  assert.deepEqual(warnings, []);
  const tree = await treeOf(platform.folder);
  assert.deepEqual(tree[`models--org--tiny/blobs/${sha256(gguf)}`], { sha256: sha256(gguf) });
  assert.equal(Object.keys(tree).length, 3); // the blob, its link and the ref
});

test("a damaged download is removed and not used", async (t) => {
  const { url: hub } = await serveHub(t, { [name]: { files: { "m.gguf": gguf } } });
  const platform = await platformIn(t);
  const partial = join(
    platform.folder,
    "models--org--tiny",
    "blobs",
    `${sha256(gguf)}.${gguf.length}.ropewalk.incomplete`,
  );
  await mkdir(dirname(partial), { recursive: true });
  await writeFile(partial, new Uint8Array(5 << 20));
  const model = await openModel(platform, name, { hub });
  await expectError(
    model.read(model.tensors.values(), () => {}),
    "INVALID_FILE",
    "m.gguf: file",
    /digest that the Hub lists: the download was damaged; open the model again/,
  );
  await expectIntact(await openModel(platform, name, { hub }));
});

test("a folder that can't be written: a warning, and the model is read", async (t) => {
  const { url: hub } = await serveHub(t, { [name]: { files: safetensorsFolder() } });
  const platform = await platformIn(t);
  await writeFile(join(platform.folder, "file"), "");
  const disk = async () => nodeDisk({ HF_HUB_CACHE: join(platform.folder, "file") });
  const warnings = [];
  const model = await openModel({ ...platform, hubDisk: disk }, name, {
    hub,
    onWarning: (message) => warnings.push(message),
  });
  await expectIntact(model);
  assert.ok(warnings.length > 0 && warnings.every((message) => /not kept on disk/.test(message)), warnings.join("\n"));
});

test("a path that exists wins over a name", async (t) => {
  const { url: hub, requests } = await serveHub(t, { [name]: { files: { "m.gguf": gguf } } });
  const platform = await platformIn(t);
  await mkdir(join(platform.folder, name), { recursive: true });
  const before = process.cwd();
  process.chdir(platform.folder);
  t.after(() => process.chdir(before));
  await expectError(openModel(platform, name, { hub }), "INVALID_FILE", "folder: files", /it is empty/);
  assert.deepEqual(requests, []);
  const files = await openFiles(platform, `${name}/m.gguf`, { hub }); // there is no such file, so it is a name
  assert.equal(files.hub.file, "m.gguf");
});
