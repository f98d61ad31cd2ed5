// safetensors: single files, indices, the JSON files of a folder, and wrong headers.
import assert from "node:assert/strict";
import test from "node:test";
import { fetchOnly, expectError, expectIntact, fileOf, openModel } from "../../files/reading.mjs";
import { safetensorsBytes, withHeader } from "../../files/safetensors_writer.mjs";
import { serve } from "../../files/server.mjs";
import { folderFiles, safetensorsFolder, shardedFolder } from "../../files/tiny_models.mjs";

const files = (folder) => Object.entries(folder).map(([name, bytes]) => fileOf(name, bytes));
const open = (weights) => openModel(fetchOnly, files({ "model.safetensors": weights, ...folderFiles }));

test("a folder's tensors and JSON files, dropped on a page and served", async (t) => {
  for (const folder of [safetensorsFolder(), shardedFolder()]) {
    const { url } = await serve(t, folder);
    const first = Object.keys(folder)[0];
    for (const source of [files(folder), url, `${url}${first}`, new URL(`${url}${first}?download=true`)]) {
      const model = await openModel(fetchOnly, source);
      assert.deepEqual([model.kind, model.name, model.metadata], ["safetensors", first, {}]);
      assert.equal(model.config.hidden_size, 64);
      assert.deepEqual(
        [model.tokenizer, model.tokenizerConfig, model.generationConfig],
        [{ version: "1.0" }, { eos_token: "</s>" }, { temperature: 0.5 }],
      );
      assert.deepEqual(model.chatTemplates, { default: "{{ messages }}" });
      assert.ok(!model.tensors.has("attn.bias"), "the mask is ignored");
      assert.deepEqual(model.tensors.get("a.weight").shape, [4, 8]);
      await expectIntact(model);
    }
  }
});

test("config.json is required, the other JSON files are optional", async (t) => {
  const { "model.safetensors": weights, "config.json": config } = safetensorsFolder();
  const model = await openModel(fetchOnly, files({ "model.safetensors": weights, "config.json": config }));
  assert.deepEqual(
    ["tokenizer" in model, "tokenizerConfig" in model, "generationConfig" in model, "chatTemplates" in model],
    [false, false, false, false],
  );
  await expectError(openModel(fetchOnly, weights), "INVALID_FILE", "config.json: file", /array of Blobs/);
  await expectError(
    openModel(fetchOnly, fileOf("model.safetensors", weights)),
    "INVALID_FILE",
    "config.json: file",
    /not among/,
  );
  const { url } = await serve(t, { "model.safetensors": weights });
  await expectError(openModel(fetchOnly, url), "NETWORK", "config.json: file", /404/);
});

test("a server that sends an HTML page for missing files", async (t) => {
  const { "model.safetensors": weights, "config.json": config } = safetensorsFolder();
  const folder = { "model.safetensors": weights, "config.json": config };
  const { url } = await serve(t, folder, ({ bytes, response }) => {
    if (bytes !== undefined) return false;
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("<!doctype html>");
    return true;
  });
  const model = await openModel(fetchOnly, url);
  assert.ok(!("tokenizer" in model));
  delete folder["config.json"];
  await expectError(openModel(fetchOnly, url), "NETWORK", "config.json: file", /HTML page/);
});

const f32 = (begin, end, shape = [(end - begin) / 4]) => ({ dtype: "F32", shape, data_offsets: [begin, end] });
const data = (length) => [new Uint8Array(length)];

const wrong = [
  ["a length beyond the file", withHeader({ a: f32(0, 8) }, data(8), { length: 2 ** 20 }), "header", /truncated/],
  [
    "a length of 2^64 - 1",
    withHeader({ a: f32(0, 8) }, data(8), { length: 2n ** 64n - 1n }),
    "header length",
    /more than any file/,
  ],
  ["a length of 0", withHeader("{", data(8), { length: 0 }), "header", /starts with \{/],
  ["a truncated header", withHeader('{"a":{"dtype":"F32"', data(8)), "header", /not JSON/],
  ["a header that is not UTF-8", withHeader("{}", data(0)).fill(0xff, 9, 10), "header", /UTF-8/],
  ["a tensor that is not an object", withHeader({ a: 3 }, data(0)), "a", /object with dtype/],
  ["no dtype", withHeader({ a: { ...f32(0, 8), dtype: 3 } }, data(8)), "a", /dtype/],
  [
    "an unsupported dtype",
    withHeader({ a: { ...f32(0, 8), dtype: "F64", shape: [1] } }, data(8)),
    "a",
    /F64 is not supported; use a version of the model in F32, F16, BF16/,
    "UNSUPPORTED_MODEL",
  ],
  [
    "a dtype that is a property of Object.prototype",
    withHeader({ a: { ...f32(0, 8), dtype: "constructor" } }, data(8)),
    "a",
    /constructor is not supported/,
    "UNSUPPORTED_MODEL",
  ],
  [
    "weights as integers",
    withHeader({ "a.weight": { dtype: "U8", shape: [8], data_offsets: [0, 8] } }, data(8)),
    "a.weight",
    /U8 is not supported/,
    "UNSUPPORTED_MODEL",
  ],
  ["a shape that is not an array", withHeader({ a: { ...f32(0, 8), shape: 2 } }, data(8)), "a", /shape/],
  ["a negative length", withHeader({ a: f32(0, 8, [-1, -2]) }, data(8)), "a", /shape/],
  ["a fractional length", withHeader({ a: f32(0, 8, [0.5, 4]) }, data(8)), "a", /shape/],
  ["lengths whose product overflows", withHeader({ a: f32(0, 8, [2 ** 50, 2 ** 50]) }, data(8)), "a", /too many bytes/],
  [
    "a shape that does not match data_offsets",
    withHeader({ a: f32(0, 8, [3]) }, data(8)),
    "a",
    /takes 12 bytes, but data_offsets span 8/,
  ],
  ["offsets backwards", withHeader({ a: { ...f32(0, 8), data_offsets: [8, 0] } }, data(8)), "a", /data_offsets/],
  ["one offset", withHeader({ a: { ...f32(0, 8), data_offsets: [8] } }, data(8)), "a", /data_offsets/],
  ["a tensor outside the file", withHeader({ a: f32(0, 16) }, data(8)), "a", /truncated/],
  ["tensors that overlap", withHeader({ a: f32(0, 8), b: f32(4, 12) }, data(12)), "b", /inside a/],
  ["a gap", withHeader({ a: f32(0, 8), b: f32(12, 16) }, data(16)), "data_offsets", /gap/],
  [
    "a name twice",
    withHeader(
      '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}',
      data(16),
    ),
    "a",
    /./,
  ],
  ["bytes left over", withHeader({ a: f32(0, 8) }, data(9)), "size", /end at byte/],
];

test("errors name what is wrong in a header", async (t) => {
  for (const [title, bytes, part, message, code = "INVALID_FILE"] of wrong) {
    await t.test(title, async () => {
      if (title === "a name twice") await assert.rejects(open(bytes), { code, message: /gap/ });
      else await expectError(open(bytes), code, `model.safetensors: ${part}`, message);
    });
  }
});

test("a file truncated at any byte is rejected", async () => {
  const bytes = safetensorsBytes({ a: { dtype: "F32", shape: [2], data: new Uint8Array(8) } });
  for (let length = 0; length < bytes.length; length++) {
    await assert.rejects(open(bytes.slice(0, length)), { code: "INVALID_FILE" }, `${length} bytes`);
  }
  await open(bytes);
});

const index = (value) => new TextEncoder().encode(JSON.stringify(value));

test("a wrong index, or one that names wrong files", async (t) => {
  const name = "model.safetensors.index.json";
  const withMap = (weight_map) => openModel(fetchOnly, files({ ...shardedFolder(), [name]: index({ weight_map }) }));
  const second = "model-00002-of-00002.safetensors";
  await expectError(withMap(undefined), "INVALID_FILE", `${name}: weight_map`);
  await expectError(withMap({}), "INVALID_FILE", `${name}: weight_map`);
  for (const bad of [
    name,
    "../model.safetensors",
    "a/b.safetensors",
    "..\\x.safetensors",
    "http:x.safetensors",
    ".safetensors",
    3,
    null,
  ]) {
    await expectError(withMap({ a: bad }), "INVALID_FILE", `${name}: weight_map.a`, /in the folder of the index/);
  }
  await expectError(
    withMap({ a: "gone.safetensors" }),
    "INVALID_FILE",
    "gone.safetensors: file",
    /not among.*index\.json lists it/,
  );
  await expectError(withMap({ "a.weight": second }), "INVALID_FILE", `${second}: a.weight`, /is missing/);
  await expectError(
    openModel(fetchOnly, files({ ...shardedFolder(), [name]: new TextEncoder().encode("{]") })),
    "INVALID_FILE",
    `${name}: JSON`,
    /not JSON/,
  );
  const folder = shardedFolder();
  delete folder[second];
  const { url } = await serve(t, folder);
  await expectError(openModel(fetchOnly, url), "NETWORK", `${second}: file`, /404.*index\.json lists it/);
});

test("damaged JSON files", async () => {
  const latin = (name) =>
    openModel(fetchOnly, files({ ...safetensorsFolder(), [name]: Uint8Array.of(0x7b, 0x22, 0xe9, 0x22, 0x7d) }));
  for (const name of Object.keys(folderFiles)) {
    await expectError(latin(name), "INVALID_FILE", `${name}: ${name.endsWith("jinja") ? "text" : "JSON"}`, /UTF-8/);
  }
  await expectError(
    openModel(fetchOnly, files({ ...safetensorsFolder(), "config.json": index([1]) })),
    "INVALID_FILE",
    "config.json: JSON",
    /object/,
  );
});
