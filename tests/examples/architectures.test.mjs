// The table of architectures, and the list of what the others need, against the names that llama.cpp knows, and
// docs/architectures.md, which a script prints from them and from the results of the tiny models.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { load } from "../../dist/index.node.js";
import { ARCHITECTURES } from "../../build/package/runtime/model/architectures/table.js";
import { missingFor } from "../../build/package/runtime/model/architectures/unsupported.js";
import { partsOf, written } from "../files/model_parts.mjs";
import { architecturesPage } from "../../scripts/architectures.mjs";
import { expectError } from "../files/reading.mjs";
import { read } from "./guide_page.mjs";

const { source: _, ...byRope } = JSON.parse(
  readFileSync(new URL("../golden/llama_cpp_architectures.json", import.meta.url), "utf8"),
);
const llamaCppNames = Object.values(byRope).flat();
const supported = ARCHITECTURES.flatMap(({ gguf: names }) => names);

test("every architecture of llama.cpp is in the table, or it is known what is missing", () => {
  assert.ok(llamaCppNames.length > 140, `${llamaCppNames.length} names`);
  for (const name of llamaCppNames)
    assert.equal(supported.includes(name), missingFor(name) === undefined, `${name}: ${missingFor(name)}`);
});

test("no name is in the table twice, and none of llama.cpp is misspelt", () => {
  for (const names of [supported, ARCHITECTURES.flatMap(({ huggingFace }) => huggingFace)])
    assert.deepEqual([...new Set(names)], names);
  for (const name of supported) assert.ok(llamaCppNames.includes(name), name);
});

test("a model that isn't supported is refused by name, with what is missing", async () => {
  const rw = await load();
  const { keys, tensors } = await partsOf("llama", "gguf");
  for (const [name, missing] of [
    ["rwkv6", "another form of RWKV than RWKV-7"],
    ["deepseek32", "sparse attention, whose keys an indexer chooses"],
    ["falcon", "no operation is missing, but it isn't in the table of architectures"],
  ]) {
    const file = written({ keys: { ...keys, "general.architecture": name }, tensors }, "gguf");
    const isExplained = new RegExp(
      `^[^;]*architecture ${name} is not supported: ${missing.replace(/[()]/g, "\\$&")} \\(docs/architectures\\.md lists those that are\\)$`,
    );
    await expectError(rw.modelInfo(file), "UNSUPPORTED_MODEL", "model.gguf: general.architecture", isExplained);
  }
});

test("BitNet's weights that are quantized as they are loaded are refused", async () => {
  const rw = await load();
  const { keys, tensors, others } = await partsOf("bitnet", "safetensors");
  const config = { ...keys, quantization_config: { quant_method: "bitnet", quantization_mode: "online" } };
  const files = written({ keys: config, tensors, others }, "safetensors");
  await expectError(
    rw.model(files),
    "UNSUPPORTED_MODEL",
    "model.safetensors: quantization_config",
    /quantized as they are loaded/,
  );
});

test("a window without a pattern has that of llama.cpp", async () => {
  const rw = await load();
  for (const name of ["olmo3", "cohere2", "gemma2", "gemma3", "exaone_moe"]) {
    const { keys, tensors } = await partsOf(name, "gguf");
    const { [`${keys["general.architecture"]}.attention.sliding_window_pattern`]: _, ...others } = keys;
    const windowsOf = async (metadata) =>
      (await rw.modelInfo(written({ keys: metadata, tensors }, "gguf"))).layers.map(({ window }) => window);
    const given = await windowsOf(keys);
    assert.ok(given.includes(16) && given.includes(0), name);
    assert.deepEqual(await windowsOf(others), given, name);
  }
});

test("docs/architectures.md is what scripts/architectures.mjs prints", async () => {
  assert.equal(await read("docs/architectures.md"), await architecturesPage());
});
