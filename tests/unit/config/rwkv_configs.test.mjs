// Files of RWKV-7 in the forms that they have, and what is refused in them, by name.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { partsOf, readTiny, written } from "../../files/model_parts.mjs";
import { expectError } from "../../files/reading.mjs";

const rw = await load();
const expected = (name) => JSON.parse(readTiny(`${name}/expected.json`));

/** A model with changed keys, and tensors that `change` returns. */
async function changed(name, kind, keys, change = (tensors) => tensors) {
  const parts = await partsOf(name, kind);
  const tensors = change(parts.tensors);
  return written({ ...parts, keys: { ...parts.keys, ...keys }, tensors }, kind);
}

/** The largest difference of the logits after the prompt from those of the reference. */
async function difference(name, files) {
  const model = await rw.model(files, { kv: { dtype: "f32" } });
  const { prompt, prompt_logits } = expected(name);
  const session = model.session();
  await session.append(prompt);
  const logits = session.logits();
  model.dispose();
  return Math.max(...prompt_logits.at(-1).map((logit, i) => Math.abs(logit - logits[i])));
}

const F32_LIMIT = 1e-4; // as in tests/package/model/parity.test.mjs

const bytesOf = (tensors) => Buffer.concat(tensors.map(({ data }) => data));

test("older files have the shares of a layer's six inputs in one tensor", async () => {
  const files = await changed("rwkv7", "safetensors", {}, (tensors) => {
    const kept = tensors.filter(({ name }) => !/attn\.x_/.test(name));
    for (let layer = 0; layer < 3; layer++) {
      const parts = ["r", "w", "k", "v", "a", "g"].map((input) =>
        tensors.find(({ name }) => name === `model.layers.${layer}.attn.x_${input}`),
      );
      kept.push({ name: `model.layers.${layer}.attn.x_x`, type: "f32", shape: [6, 64], data: bytesOf(parts) });
    }
    return kept;
  });
  assert.ok((await difference("rwkv7", files)) < F32_LIMIT);
});

test("sizes that a config leaves out are derived, and tensors of the first layer that nothing reads are skipped", async () => {
  assert.ok((await difference("rwkv7", await changed("rwkv7", "safetensors", { num_heads: 7 }))) < F32_LIMIT);
  const byHeads = { head_dim: null, num_heads: 3 };
  assert.ok((await difference("rwkv7_sizes", await changed("rwkv7_sizes", "safetensors", byHeads))) < F32_LIMIT);
  const withUnused = await changed("rwkv7", "safetensors", {}, (tensors) => [
    ...tensors,
    ...tensors
      .filter(({ name }) => /layers\.1\.attn\.v_lora/.test(name))
      .map((tensor) => ({ ...tensor, name: tensor.name.replace("layers.1", "layers.0") })),
  ]);
  assert.ok((await difference("rwkv7", withUnused)) < F32_LIMIT);
});

test("options that Ropewalk doesn't have are refused by their keys", async () => {
  for (const [key, value, message] of [
    ["hidden_act", "relu", /must be "sqrelu"/],
    ["norm_first", false, /must be true/],
    ["attn", { layers: [1], num_heads: 2 }, /must be null: layers with attention aren't supported/],
    ["value_dim", [64, 128, 64], /must be 64 in every layer, the hidden size/],
  ]) {
    const files = await changed("rwkv7", "safetensors", { [key]: value });
    await expectError(rw.model(files), "UNSUPPORTED_MODEL", `model.safetensors: ${key}`, message);
  }
  const gguf = await changed("rwkv7", "gguf", { "rwkv7.token_shift_count": 3 });
  await expectError(rw.model(gguf), "UNSUPPORTED_MODEL", "model.gguf: rwkv7.token_shift_count", /must be 2/);
});

test("sizes of heads and ranks that can't be are refused by their keys, or by the tensor that contradicts them", async () => {
  for (const [key, value, field] of [
    ["head_dim", 48, "head_dim"],
    ["head_dim", 0, "head_dim"],
    ["head_dim", 1e9, "head_dim"],
    ["head_dim", "64", "head_dim"],
    ["decay_low_rank_dim", 6, "model.layers.0.attn.w_lora.lora.0.weight"],
    ["a_low_rank_dim", 8, "model.layers.0.attn.a_lora.lora.0.weight"],
    ["gate_low_rank_dim", 1e9, "gate_low_rank_dim"],
    ["v_low_rank_dim", 4, "model.layers.1.attn.v_lora.lora.0.weight"],
    ["v_low_rank_dim", -1, "v_low_rank_dim"],
    ["hidden_ratio", "4", "hidden_ratio"],
  ]) {
    const keys = { [key]: value, ...(key === "hidden_ratio" && { intermediate_size: null }) };
    const files = await changed("rwkv7", "safetensors", keys);
    await expectError(rw.model(files), "INVALID_FILE", `model.safetensors: ${field}`);
  }
  for (const [key, value] of [
    ["rwkv7.wkv.head_size", 24],
    ["rwkv7.wkv.head_size", "64"],
    ["rwkv7.attention.gate_lora_rank", 0],
  ])
    await expectError(rw.model(await changed("rwkv7", "gguf", { [key]: value })), "INVALID_FILE", `model.gguf: ${key}`);
});

test("every tensor that is missing is named", async () => {
  for (const kind of ["safetensors", "gguf"]) {
    const { tensors } = await partsOf("rwkv7", kind);
    for (const { name } of tensors) {
      const isUnused = /^blk\.0\.time_mix_v[012]\./.test(name);
      // the embedding has the size of the vocabulary, and may stand in for the head
      if (isUnused || ["token_embd.weight", "output.weight"].includes(name)) continue;
      const files = await changed("rwkv7", kind, {}, (all) => all.filter((tensor) => tensor.name !== name));
      await expectError(rw.model(files), "INVALID_FILE", `model.${kind}: ${name}`, /tensor is missing/);
    }
  }
});
