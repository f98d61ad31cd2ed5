// The table of architectures, and the list of what the others need, against the names that llama.cpp knows.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { load } from "../../dist/index.node.js";
import { ARCHITECTURES } from "../../build/package/model/architectures/table.js";
import { missingFor } from "../../build/package/model/architectures/unsupported.js";
import { partsOf, written } from "../files/model_parts.mjs";
import { expectError } from "../files/reading.mjs";

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
    ["rwkv7", "recurrent layers (RWKV)"],
    ["minicpm3", "multi-head latent attention"],
    ["falcon", "no operation is missing, but it isn't in the table of architectures"],
  ]) {
    const file = written({ keys: { ...keys, "general.architecture": name }, tensors }, "gguf");
    const isExplained = new RegExp(`^[^;]*architecture ${name} is not supported: ${missing.replace(/[()]/g, "\\$&")};`);
    await expectError(rw.modelInfo(file), "UNSUPPORTED_MODEL", "model.gguf: general.architecture", isExplained);
  }
});
