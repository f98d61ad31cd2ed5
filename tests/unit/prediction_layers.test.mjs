// Layers that predict further tokens, after the layers of a model: GLM-4.5 and DeepSeek-V3 are released with one, which isn't read.
import assert from "node:assert/strict";
import test from "node:test";
import { partsOf, written } from "../files/model_parts.mjs";
import { rw } from "../package/helpers/runtime.mjs";

const prompt = [5, 17, 33, 9, 41, 2, 60, 23];

async function logitsOf(files) {
  const model = await rw.model(files, { contextLength: 64 });
  const session = model.session();
  await session.append(prompt);
  const [logits, layers] = [session.logits(), model.info.layers.length];
  session.dispose();
  model.dispose();
  return { logits, layers };
}

/** The last layer again, as one more, with the tensors that only such a layer has. */
function withPrediction({ keys, tensors, others }, [from, to], more, changed) {
  const last = tensors.filter(({ name }) => name.startsWith(from));
  assert.ok(last.length > 5);
  const copies = last.map((tensor) => ({ ...tensor, name: tensor.name.replace(from, to) }));
  const own = { name: to + more, type: "f32", shape: [24, 48], data: new Uint8Array(4 * 24 * 48) };
  return { keys: { ...keys, ...changed }, tensors: [...tensors, ...copies, own], others };
}

for (const [kind, prefixes, name, changed] of [
  ["safetensors", ["model.layers.1.", "model.layers.2."], "eh_proj.weight", { num_nextn_predict_layers: 1 }],
  ["safetensors", ["model.layers.1.", "mtp.layers.0."], "fc.weight", { num_nextn_predict_layers: 1 }],
  [
    "gguf",
    ["blk.1.", "blk.2."],
    "nextn.eh_proj.weight",
    { "glm4moe.nextn_predict_layers": 1, "glm4moe.block_count": 3 },
  ],
])
  test(`${kind} with ${prefixes[1]}: the same logits as without`, async () => {
    const parts = await partsOf("glm4_moe", kind);
    const expected = await logitsOf(written(parts, kind));
    assert.deepEqual(await logitsOf(written(withPrediction(parts, prefixes, name, changed), kind)), expected);
    const { num_nextn_predict_layers: _, ...rest } = changed;
    const unnamed = written(withPrediction(parts, prefixes, name, rest), kind);
    // Names of their own need no key.
    if (prefixes[1].startsWith("mtp")) assert.deepEqual(await logitsOf(unnamed), expected);
    else if (kind === "safetensors") await assert.rejects(rw.model(unnamed), /model\.layers\.2.*: unexpected tensor/);
  });

// Prefixes in released files, which no class of transformers 5.24 reads.
for (const [model, prefix] of [
  ["qwen3_next", "mtp.layers.0."],
  ["qwen3_5", "mtp.layers.0."],
  ["exaone_moe", "mtp.layers.0."],
  ["nemotron_h", "mtp.layers.0."],
  ["minimax_m2", "mtp.layers.0."],
  ["ernie4_5_moe", "model.mtp_block.0."],
  ["mellum", "model.mtp.layers.0."],
])
  test(`${model} with ${prefix} and no key: the same logits as without`, async () => {
    const parts = await partsOf(model, "safetensors");
    const expected = await logitsOf(written(parts, "safetensors"));
    const own = { name: `${prefix}fc.weight`, type: "f32", shape: [24, 48], data: new Uint8Array(4 * 24 * 48) };
    const other = { ...own, name: `${prefix}self_attn.q_proj.weight` };
    const more = { ...parts, tensors: [...parts.tensors, own, other] };
    assert.deepEqual(await logitsOf(written(more, "safetensors")), expected);
  });
