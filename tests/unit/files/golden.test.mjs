// Files written by llama.cpp's converter and transformers (tests/golden/tiny_models).
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { gguf } from "@huggingface/gguf";
import { nodeFiles } from "../../../build/package/runtime/files/node_files.js";
import { WEIGHT_FORMATS } from "../../../build/package/core/quantize/weight_formats.js";
import { fetchOnly, openModel } from "../../files/reading.mjs";

const root = join(import.meta.dirname, "..", "..", "golden", "tiny_models");
const node = { ...fetchOnly, openPath: nodeFiles };
const pathsOf = (ending) =>
  readdirSync(root, { recursive: true })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(root, name));
const plain = (value) =>
  JSON.parse(JSON.stringify(value, (_, item) => (typeof item === "bigint" ? Number(item) : item)));

async function expectReadable(model) {
  let read = 0;
  await model.read(model.tensors.values(), (tensor, offset, chunk) => (read += chunk.length));
  assert.equal(read, model.bytes);
}

test("GGUF: metadata, shapes and offsets as @huggingface/gguf reads them, for every weight format", async () => {
  const formats = new Set();
  for (const path of pathsOf(".gguf")) {
    const theirs = await gguf(path, { allowLocalFile: true });
    const ours = await openModel(node, path);
    const { version: _, tensor_count: __, kv_count: ___, ...metadata } = theirs.metadata;
    assert.deepEqual(plain(ours.metadata), plain(metadata), path);
    assert.deepEqual(
      [...ours.tensors.values()].map(({ name, shape, offset }) => ({ name, shape, offset })),
      theirs.tensorInfos.map(({ name, shape, offset }) => ({
        name,
        shape: shape.map(Number).reverse(),
        offset: Number(offset + theirs.tensorDataOffset),
      })),
      path,
    );
    for (const { format } of ours.tensors.values()) formats.add(format);
    await expectReadable(ours);
  }
  assert.deepEqual([...formats].sort(), [...WEIGHT_FORMATS].sort());
});

test("safetensors: the same number of parameters as the GGUF file of the model", async () => {
  // GGUF has these in other files, as keys, without unused rows, or not at all
  const isText = ({ name }) => !/visual|act_fn|pooler|position_emb|wpe/.test(name);
  const parameters = ({ tensors }) =>
    [...tensors.values()]
      .filter(isText)
      .reduce((sum, { bytes, format }) => sum + bytes / (format === "f32" ? 4 : 2), 0);
  const paths = pathsOf("model.safetensors").filter((path) => !/_Dense/.test(path)); // those are parts of a model
  assert.ok(paths.length > 10);
  for (const path of paths) {
    const model = await openModel(node, join(path, "..")); // a folder with both formats opens model.safetensors
    assert.deepEqual([model.kind, typeof model.config.model_type], ["safetensors", "string"], path);
    await expectReadable(model);
    if (!existsSync(join(path, "..", "model.gguf"))) continue;
    const converted = await openModel(node, join(path, "..", "model.gguf"));
    const added = [...converted.tensors.values()]
      .filter(({ name }) => /^rope_f|^blk\.0\.time_mix_v[012]/.test(name)) // RWKV: its first layer has no use for these
      .reduce((sum, { bytes }) => sum + bytes / 4, 0);
    assert.equal(parameters(model), parameters(converted) - added, path);
  }
});
