// safetensors: single files, indices, what lies beside them, and headers that are wrong.
import assert from "node:assert/strict";
import test from "node:test";
import { bare, expectError, expectWhole, fileOf, openModel } from "../files/reading.mjs";
import { safetensorsBytes, withHeader } from "../files/safetensors_writer.mjs";
import { serve } from "../files/server.mjs";
import { besides, safetensorsFolder, shardedFolder } from "../files/tiny_models.mjs";

const files = (folder) => Object.entries(folder).map(([name, bytes]) => fileOf(name, bytes));
const open = (weights) => openModel(bare, files({ "model.safetensors": weights, ...besides }));

test("a folder's tensors and the files beside them, dropped and served", async (t) => {
  for (const folder of [safetensorsFolder(), shardedFolder()]) {
    const { url } = await serve(t, folder);
    const first = Object.keys(folder)[0];
    for (const source of [files(folder), url, `${url}${first}`, new URL(`${url}${first}?download=true`)]) {
      const model = await openModel(bare, source);
      assert.deepEqual([model.kind, model.name, model.metadata], ["safetensors", first, {}]);
      assert.equal(model.config.hidden_size, 64);
      assert.deepEqual(
        [model.tokenizer, model.tokenizerConfig, model.generationConfig],
        [{ version: "1.0" }, { eos_token: "</s>" }, { temperature: 0.5 }],
      );
      assert.equal(model.chatTemplate, "{{ messages }}");
      assert.ok(!model.tensors.has("attn.bias"), "a mask is no weight");
      assert.deepEqual(model.tensors.get("a.weight").shape, [4, 8]);
      await expectWhole(model);
    }
  }
});

test("what may be left out beside the weights, and what may not", async (t) => {
  const { "model.safetensors": weights, "config.json": config } = safetensorsFolder();
  const model = await openModel(bare, files({ "model.safetensors": weights, "config.json": config }));
  assert.deepEqual(
    ["tokenizer" in model, "tokenizerConfig" in model, "generationConfig" in model, "chatTemplate" in model],
    [false, false, false, false],
  );
  await expectError(openModel(bare, weights), "INVALID_FILE", "config.json: file", /array of Blobs/);
  await expectError(
    openModel(bare, fileOf("model.safetensors", weights)),
    "INVALID_FILE",
    "config.json: file",
    /not among/,
  );
  const { url } = await serve(t, { "model.safetensors": weights });
  await expectError(openModel(bare, url), "NETWORK", "config.json: file", /404/);
});

test("a server that answers HTML for files it does not have", async (t) => {
  const { "model.safetensors": weights, "config.json": config } = safetensorsFolder();
  const folder = { "model.safetensors": weights, "config.json": config };
  const { url } = await serve(t, folder, ({ bytes, response }) => {
    if (bytes !== undefined) return false;
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("<!doctype html>");
    return true;
  });
  const model = await openModel(bare, url);
  assert.ok(!("tokenizer" in model));
  delete folder["config.json"];
  await expectError(openModel(bare, url), "NETWORK", "config.json: file", /HTML page/);
});

const f32 = (begin, end, shape = [(end - begin) / 4]) => ({ dtype: "F32", shape, data_offsets: [begin, end] });
const data = (length) => [new Uint8Array(length)];

const wrong = [
  ["a length beyond the file", withHeader({ a: f32(0, 8) }, data(8), { length: 2 ** 20 }), "header", /cut short/],
  [
    "a length of 2^64 - 1",
    withHeader({ a: f32(0, 8) }, data(8), { length: 2n ** 64n - 1n }),
    "header length",
    /more than any file/,
  ],
  ["a length of 0", withHeader("{", data(8), { length: 0 }), "header", /begins with \{/],
  ["a header that is cut", withHeader('{"a":{"dtype":"F32"', data(8)), "header", /not JSON/],
  ["a header that is not UTF-8", withHeader("{}", data(0)).fill(0xff, 9, 10), "header", /UTF-8/],
  ["a tensor that is no object", withHeader({ a: 3 }, data(0)), "a", /object with dtype/],
  ["no dtype", withHeader({ a: { ...f32(0, 8), dtype: 3 } }, data(8)), "a", /dtype/],
  [
    "a dtype that is not read",
    withHeader({ a: { ...f32(0, 8), dtype: "F64", shape: [1] } }, data(8)),
    "a",
    /F64 is not read; take a model in F32, F16, BF16/,
    "UNSUPPORTED_MODEL",
  ],
  [
    "a dtype from a prototype",
    withHeader({ a: { ...f32(0, 8), dtype: "constructor" } }, data(8)),
    "a",
    /constructor is not read/,
    "UNSUPPORTED_MODEL",
  ],
  [
    "weights as integers",
    withHeader({ "a.weight": { dtype: "U8", shape: [8], data_offsets: [0, 8] } }, data(8)),
    "a.weight",
    /U8 is not read/,
    "UNSUPPORTED_MODEL",
  ],
  ["a shape that is no list", withHeader({ a: { ...f32(0, 8), shape: 2 } }, data(8)), "a", /shape/],
  ["a negative length", withHeader({ a: f32(0, 8, [-1, -2]) }, data(8)), "a", /shape/],
  ["half a length", withHeader({ a: f32(0, 8, [0.5, 4]) }, data(8)), "a", /shape/],
  ["lengths whose product overflows", withHeader({ a: f32(0, 8, [2 ** 50, 2 ** 50]) }, data(8)), "a", /too many bytes/],
  ["a shape that does not multiply out", withHeader({ a: f32(0, 8, [3]) }, data(8)), "a", /takes 12 bytes, not 8/],
  ["offsets backwards", withHeader({ a: { ...f32(0, 8), data_offsets: [8, 0] } }, data(8)), "a", /data_offsets/],
  ["one offset", withHeader({ a: { ...f32(0, 8), data_offsets: [8] } }, data(8)), "a", /data_offsets/],
  ["a tensor outside the file", withHeader({ a: f32(0, 16) }, data(8)), "a", /cut short/],
  ["tensors that overlap", withHeader({ a: f32(0, 8), b: f32(4, 12) }, data(12)), "b", /within a/],
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

test("what is wrong in a header is named", async (t) => {
  for (const [what, bytes, part, message, code = "INVALID_FILE"] of wrong) {
    await t.test(what, async () => {
      if (what === "a name twice") await assert.rejects(open(bytes), { code, message: /gap/ });
      else await expectError(open(bytes), code, `model.safetensors: ${part}`, message);
    });
  }
});

test("a file cut anywhere is refused", async () => {
  const bytes = safetensorsBytes({ a: { dtype: "F32", shape: [2], data: new Uint8Array(8) } });
  for (let length = 0; length < bytes.length; length++) {
    await assert.rejects(open(bytes.slice(0, length)), { code: "INVALID_FILE" }, `${length} bytes`);
  }
  await open(bytes);
});

const index = (value) => new TextEncoder().encode(JSON.stringify(value));

test("an index that is wrong, or names files that are", async (t) => {
  const name = "model.safetensors.index.json";
  const with_map = (weight_map) => openModel(bare, files({ ...shardedFolder(), [name]: index({ weight_map }) }));
  const second = "model-00002-of-00002.safetensors";
  await expectError(with_map(undefined), "INVALID_FILE", `${name}: weight_map`);
  await expectError(with_map({}), "INVALID_FILE", `${name}: weight_map`);
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
    await expectError(with_map({ a: bad }), "INVALID_FILE", `${name}: weight_map.a`, /beside the index/);
  }
  await expectError(with_map({ a: "gone.safetensors" }), "INVALID_FILE", `${name}: gone.safetensors`, /not among/);
  await expectError(with_map({ "a.weight": second }), "INVALID_FILE", `${second}: a.weight`, /not there/);
  await expectError(
    openModel(bare, files({ ...shardedFolder(), [name]: new TextEncoder().encode("{]") })),
    "INVALID_FILE",
    `${name}: JSON`,
    /not JSON/,
  );
  const folder = shardedFolder();
  delete folder[second];
  const { url } = await serve(t, folder);
  await expectError(openModel(bare, url), "INVALID_FILE", `${name}: ${second}`, /404/);
});

test("the files beside the weights, when they are damaged", async () => {
  const latin = (name) =>
    openModel(bare, files({ ...safetensorsFolder(), [name]: Uint8Array.of(0x7b, 0x22, 0xe9, 0x22, 0x7d) }));
  for (const name of Object.keys(besides)) {
    await expectError(latin(name), "INVALID_FILE", `${name}: ${name.endsWith("jinja") ? "text" : "JSON"}`, /UTF-8/);
  }
  await expectError(
    openModel(bare, files({ ...safetensorsFolder(), "config.json": index([1]) })),
    "INVALID_FILE",
    "config.json: JSON",
    /object/,
  );
});
