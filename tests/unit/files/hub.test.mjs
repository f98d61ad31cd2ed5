// Models by name: which file of a repository is chosen, what each refusal says, and that a token goes to the Hub only.
import assert from "node:assert/strict";
import test from "node:test";
import { parseHubName, parseHubNameInPage } from "../../../build/package/runtime/files/hub/name.js";
import { chooseModel } from "../../../build/package/runtime/files/hub/choose.js";
import { hubAddress } from "../../../build/package/runtime/files/hub/access.js";
import { ggufBytes } from "../../files/gguf_writer.mjs";
import { commitOf, serveHub, TOKEN } from "../../files/hub.mjs";
import {
  cachedModels,
  deleteCachedModel,
  expectError,
  expectIntact,
  fetchOnly,
  openModel,
} from "../../files/reading.mjs";
import { fakeOpfs } from "../../files/stores.mjs";
import { ggufModel, ggufParts, safetensorsFolder, shardedFolder } from "../../files/tiny_models.mjs";

const gguf = ggufBytes(ggufModel({ large: 3 << 20 }));
const name = "org/tiny";
const field = `${name}: download`;

test("names, paths and addresses", () => {
  const named = (text) => {
    const { repository, quantization, file, revision } = parseHubName(text);
    return [repository, quantization, file, revision];
  };
  assert.deepEqual(named("org/a-model"), ["org/a-model", undefined, undefined, "main"]);
  assert.deepEqual(named("org/Model-1.5B_x:Q4_K_M"), ["org/Model-1.5B_x", "Q4_K_M", undefined, "main"]);
  assert.deepEqual(named("org/a:q8_0@v1.0"), ["org/a", "q8_0", undefined, "v1.0"]);
  assert.deepEqual(named("org/a@refs/pr/1"), ["org/a", undefined, undefined, "refs/pr/1"]);
  assert.deepEqual(named("org/a/sub/b c.gguf@main"), ["org/a", undefined, "sub/b c.gguf", "main"]);
  assert.deepEqual(named("org/a/config.json"), ["org/a", undefined, "config.json", "main"]);
  for (const text of [
    ...["model", "model.gguf", "models/tiny.gguf", "models/config.json", "models/", "org/a/b", "/org/a", "./org/a"],
    ...[
      "../a",
      "org/..",
      "org/a..b",
      "C:/models",
      "C:\\models\\a",
      "https://huggingface.co/org/a",
      "org/a?x",
      "org/a#x",
    ],
    ...[
      "org/a@",
      "org/a@../../x",
      "org/a@x/../y",
      "org/a/../b.gguf",
      "org/a:Q4/b.gguf",
      "",
      "/",
      "a/b:",
      "-a/b",
      ".a/b",
    ],
  ])
    assert.equal(parseHubName(text), undefined, text);
  // in a page, these have been addresses since before there were names
  assert.equal(parseHubNameInPage("models/small/model.gguf"), undefined);
  assert.equal(parseHubNameInPage("org/a/model.gguf@main").file, "model.gguf");
});

test("the address of the Hub", async () => {
  assert.equal(hubAddress(undefined), "https://huggingface.co");
  assert.equal(hubAddress("https://mirror.example/hub//"), "https://mirror.example/hub");
  for (const hub of ["mirror", "ftp://a.b", "https://a.b/?x", "https://u:p@a.b", 3])
    await expectError(openModel(fetchOnly, name, { hub }), "INVALID_ARGUMENT", "hub", /address of a Hub/);
  for (const token of ["", "a b", "a\nb", 3, null])
    await expectError(openModel(fetchOnly, name, { token }), "INVALID_ARGUMENT", "token");
  const both = { token: "hf_a", headers: { authorization: "Bearer b" } };
  await expectError(openModel(fetchOnly, name, both), "INVALID_ARGUMENT", "token", /pass one of them/);
});

const GB = 2 ** 30;
const sized = (sizes) => Object.entries(sizes).map(([path, size]) => ({ path, size: size * GB }));
const many = sized({
  "README.md": 0,
  "m-BF16.gguf": 2.4,
  "m-IQ2_XXS.gguf": 0.4,
  "m-Q2_K.gguf": 0.5,
  "m-Q4_0.gguf": 0.7,
  "m-Q4_K_M.gguf": 0.8,
  "m-Q8_0.gguf": 1.3,
  "m-UD-Q4_K_XL.gguf": 0.85,
  "mmproj-m-Q4_K_M.gguf": 0.1,
  "m.imatrix.gguf": 0.01,
});
const chosen = (text, files, memory = 3) => chooseModel(parseHubName(text), files, memory * GB);

test("the file that is chosen", () => {
  const path = (...call) => chosen(...call).path;
  assert.equal(path("a/b", many), "m-Q4_K_M.gguf");
  assert.equal(path("a/b", many, 0.75), "m-Q4_0.gguf");
  assert.equal(path("a/b", many, 0.6), "m-Q2_K.gguf");
  assert.equal(path("a/b", many, 0.1), "m-IQ2_XXS.gguf");
  assert.match(chosen("a/b", many).reason, /first that fits of 7/);
  assert.match(chosen("a/b", many, 0.1).reason, /smallest of 7/);
  assert.equal(path("a/b:q8_0", many), "m-Q8_0.gguf");
  assert.equal(path("a/b:UD-Q4_K_XL", many), "m-UD-Q4_K_XL.gguf");
  assert.equal(path("a/b/mmproj-m-Q4_K_M.gguf", many), "mmproj-m-Q4_K_M.gguf"); // what the caller names is opened
  const both = sized({ "config.json": 0, "model.safetensors": 1, "f16.gguf": 1, "b-Q3_K_M.gguf": 0.3 });
  assert.equal(path("a/b", both), "model.safetensors"); // before f16, and before less than four bits
  assert.equal(path("a/b:f16", both), "f16.gguf");
  assert.equal(path("a/b:safetensors", [...both, ...many]), "model.safetensors");
  const sharded = sized({
    "model.safetensors.index.json": 0,
    "model-00001-of-00002.safetensors": 2,
    "model-00002-of-00002.safetensors": 2,
    "Q4_K_M/m-00001-of-00002.gguf": 1.6,
    "Q4_K_M/m-00002-of-00002.gguf": 1.6,
    "Q3_K_M/m-00001-of-00002.gguf": 1.2,
    "Q3_K_M/m-00002-of-00002.gguf": 1.2,
  });
  assert.equal(path("a/b", sharded, 3.5), "Q4_K_M/m-00001-of-00002.gguf");
  assert.equal(path("a/b", sharded), "Q3_K_M/m-00001-of-00002.gguf"); // the sum of the parts counts
  assert.equal(path("a/b:safetensors", sharded), "model.safetensors.index.json");
  assert.equal(chosen("a/b:safetensors", sharded).size, 4 * GB);
  assert.equal(path("a/b", [{ path: "m-Q8_0.gguf" }, { path: "m-Q5_K_M.gguf" }]), "m-Q5_K_M.gguf"); // sizes unknown
  const refused = (text, files, code, message) =>
    assert.throws(() => chosen(text, files), { name: "RopewalkError", code, message });
  refused("a/b:Q1_0", many, "INVALID_ARGUMENT", /no quantization Q1_0; it has Q4_K_M, .*BF16/);
  refused("a/b/x.gguf", many, "INVALID_ARGUMENT", /no file x\.gguf at main; it has m-Q4_K_M\.gguf/);
  refused(
    "a/b",
    sized({ "pytorch_model.bin": 1 }),
    "UNSUPPORTED_MODEL",
    /only pytorch_model\.bin; .*save it, which writes/,
  );
  refused("a/b", sized({ "onnx/model.onnx": 1 }), "UNSUPPORTED_MODEL", /only onnx\/model\.onnx; look for/);
  refused("a/b", sized({ "adapter_model.safetensors": 1 }), "UNSUPPORTED_MODEL", /adapter.*load its base model/);
  refused("a/b", [], "UNSUPPORTED_MODEL", /no GGUF file/);
});

const safetensors = safetensorsFolder();

test("models of each kind are read whole", async (t) => {
  const split = Object.fromEntries(Object.entries(ggufParts()).map(([path, bytes]) => [`Q4_K_M/${path}`, bytes]));
  const { url: hub } = await serveHub(t, {
    [name]: { files: { "README.md": Buffer.from("#"), "m-Q8_0.gguf": gguf } },
    "org/split": { files: split },
    "org/one": { files: safetensors },
    "org/sharded": { files: shardedFolder() },
  });
  const open = async (source) => {
    const model = await openModel(fetchOnly, source, { hub, retries: 0 });
    await expectIntact(model);
    return model;
  };
  const tiny = await open(name);
  assert.equal(tiny.name, "m-Q8_0.gguf");
  assert.equal(tiny.hub.file, "m-Q8_0.gguf");
  assert.equal(tiny.hub.bytes, gguf.length);
  assert.equal((await open("org/split")).hub.file, "Q4_K_M/tiny-00001-of-00003.gguf");
  const one = await open("org/one");
  assert.equal(one.config.model_type, "llama");
  assert.equal(one.tokenizer.version, "1.0");
  assert.equal((await open("org/sharded")).hub.file, "model.safetensors.index.json");
  assert.equal((await open(`${name}/m-Q8_0.gguf@main`)).kind, "gguf");
});

test("a branch, and files of one commit", async (t) => {
  const old = { "m-Q8_0.gguf": ggufBytes(ggufModel()) };
  const repositories = { [name]: { files: { "m-Q8_0.gguf": gguf }, revisions: { "pr/1": old } } };
  const { url: hub, requests } = await serveHub(t, repositories);
  const model = await openModel(fetchOnly, `${name}@pr/1`, { hub });
  assert.equal(model.hub.commit, commitOf(old));
  await expectIntact(model);
  const files = requests.filter(({ path }) => path.includes("/resolve/"));
  assert.ok(files.length > 0 && files.every(({ path }) => path.includes(commitOf(old))));
  const again = await openModel(fetchOnly, `${name}@${commitOf(old)}`, { hub });
  assert.equal(again.hub.commit, commitOf(old));
});

test("a token goes to the Hub, and not to where it redirects", async (t) => {
  const { url: hub, requests } = await serveHub(t, { [name]: { files: safetensors, isPrivate: true, gated: "auto" } });
  const model = await openModel(fetchOnly, name, { hub, token: TOKEN, retries: 0 });
  await expectIntact(model); // the storage answers 400 to a token
  const tokens = (host) => new Set(requests.filter((request) => request.host === host).map(({ token }) => token));
  assert.deepEqual(tokens("127.0.0.1"), new Set([`Bearer ${TOKEN}`]));
  assert.deepEqual(tokens("localhost"), new Set([undefined]));
  // with an address on the Hub, too; and to no other server
  const address = `${hub}/${name}/resolve/main/model.safetensors`;
  await expectIntact(await openModel(fetchOnly, address, { hub, token: TOKEN, retries: 0 }));
  const elsewhere = requests.length;
  const other = await openModel(fetchOnly, address, { token: TOKEN, retries: 0 }).catch((error) => error);
  assert.match(other.message, /access denied/);
  assert.equal(requests.at(elsewhere).token, undefined);
});

test("each refusal says what to do", async (t) => {
  const { url: hub } = await serveHub(t, {
    "org/gated": { files: { "m-Q8_0.gguf": gguf }, gated: "manual" },
    "org/private": { files: { "m-Q8_0.gguf": gguf }, isPrivate: true },
    [name]: { files: { "m-Q8_0.gguf": gguf } },
  });
  const refused = (source, options, at, message) =>
    expectError(openModel(fetchOnly, source, { hub, retries: 0, ...options }), "NETWORK", at, message);
  await refused(
    "org/gated",
    {},
    "m-Q8_0.gguf: download",
    /gated; accept its licence on http.*org\/gated, then make a token/,
  );
  await refused("org/gated", { token: "hf_noAccess" }, "m-Q8_0.gguf: download", /account of the token has no access/);
  await refused("org/gated", { token: "hf_wrong" }, "org/gated: download", /refuses the token/);
  await refused("org/private", {}, "org/private: download", /no model org\/private, or it is private.*make a token/);
  await refused("org/none", { token: TOKEN }, "org/none: download", /no model org\/none.*the token may read it/);
  await refused(`${name}@v9`, {}, field, /no revision v9; check the branch, tag or commit/);
  await expectError(
    openModel(fetchOnly, `${name}:Q2_K`, { hub }),
    "INVALID_ARGUMENT",
    "source",
    /no quantization Q2_K; it has Q8_0/,
  );
  // a server that isn't a Hub
  const notHub = {
    ...fetchOnly,
    fetch: async () => new Response("{}", { headers: { "content-type": "application/json" } }),
  };
  await expectError(openModel(notHub, name, { hub }), "NETWORK", field, /isn't that of a Hub/);
});

test("too many requests: waits as asked, then gives up with advice", async (t) => {
  const limit = ({ path, response, count }) => {
    if (!path.startsWith("/api/models") || count > 1) return false;
    response.writeHead(429, { "retry-after": "1" }).end();
    return true;
  };
  const repositories = { [name]: { files: { "m-Q8_0.gguf": gguf } } };
  const once = await serveHub(t, repositories, limit);
  assert.equal((await openModel(fetchOnly, name, { hub: once.url })).name, "m-Q8_0.gguf");
  const always = await serveHub(t, repositories, (call) => limit({ ...call, count: 1 }));
  const open = (options) => openModel(fetchOnly, name, { hub: always.url, retries: 0, ...options });
  await expectError(open(), "NETWORK", field, /429.*asked to wait 1 s.*more are allowed with a token/);
  await expectError(open({ token: TOKEN }), "NETWORK", field, /429(?!.*with a token)/);
});

test("paths that lead outside a repository are left out", async () => {
  const siblings = ["../../x.gguf", "/x.gguf", "a/../x.gguf", "a\\x.gguf", "C:x.gguf", "a//x.gguf"];
  const fetch = async () =>
    new Response(JSON.stringify({ sha: "0".repeat(40), siblings: siblings.map((rfilename) => ({ rfilename })) }));
  await expectError(
    openModel({ fetch }, name, { hub: "http://a.b" }),
    "UNSUPPORTED_MODEL",
    `${name}: files`,
    /no GGUF file/,
  );
});

test("in a page: kept in OPFS, opened without a network, listed and removed by name", async (t) => {
  const repositories = { [name]: { files: { "README.md": Buffer.from("#"), "m-Q8_0.gguf": gguf } } };
  const { url: hub, requests, stop } = await serveHub(t, repositories);
  const platform = { ...fetchOnly, opfsRoot: fakeOpfs().opfsRoot };
  const warnings = [];
  const options = { hub, cache: "opfs", retries: 0, onWarning: (message) => warnings.push(message) };
  await expectIntact(await openModel(platform, name, options));
  // another commit with the same weights doesn't download them again
  repositories[name].files = { ...repositories[name].files, "README.md": Buffer.from("# changed") };
  const before = requests.length;
  const changed = await openModel(platform, name, options);
  assert.equal(changed.hub.commit, commitOf(repositories[name].files));
  await expectIntact(changed);
  assert.ok(requests.slice(before).every(({ range = "" }) => !/bytes=[1-9]/.test(range)));
  assert.deepEqual(warnings, []);
  stop();
  await expectIntact(await openModel(platform, name, options));
  assert.match(warnings.join("\n"), /using the cached file because the download failed/);
  const models = await cachedModels(platform);
  const source = `${hub}/${name}/resolve/main/m-Q8_0.gguf`; // opened by its address, the same pieces are used
  assert.deepEqual(models, [{ source, cache: "opfs", bytes: gguf.length, size: gguf.length }]);
  await expectIntact(await openModel(platform, source, options));
  await expectError(deleteCachedModel(platform, `${name}:Q8_0`), "INVALID_ARGUMENT", "source", /pass org\/tiny/);
  assert.equal(await deleteCachedModel(platform, name), true);
  assert.deepEqual(await cachedModels(platform), []);
  assert.equal(await deleteCachedModel(platform, name), false);
});

test("a cache that a page doesn't have", async (t) => {
  const { url: hub } = await serveHub(t, { [name]: { files: { "m-Q8_0.gguf": gguf } } });
  const warnings = [];
  await openModel(fetchOnly, name, { hub, cache: "disk", onWarning: (message) => warnings.push(message) });
  assert.match(warnings[0], /not cached: .*only Node has one/);
});
