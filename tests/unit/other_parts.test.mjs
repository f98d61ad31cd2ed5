// Parts of multimodal files that text doesn't need are skipped by their names, those of the classes of transformers 5.24.
import assert from "node:assert/strict";
import test from "node:test";
import { partsOf, written } from "../files/model_parts.mjs";
import { rw } from "../package/helpers/runtime.mjs";

const prompt = [5, 17, 33, 9, 41, 2];

async function logitsOf(files) {
  const model = await rw.model(files, { contextLength: 64 });
  const session = model.session();
  await session.append(prompt);
  const logits = session.logits();
  session.dispose();
  model.dispose();
  return logits;
}

const extra = (name) => ({ name, type: "f32", shape: [8, 4], data: new Uint8Array(4 * 8 * 4) });

/** A model as the text part of a multimodal file. */
function multimodal({ keys, tensors, others }, others_names) {
  const renamed = tensors.map((tensor) => ({
    ...tensor,
    name: tensor.name.replace(/^model\./, "model.language_model."),
  }));
  return { keys, tensors: [...renamed, ...others_names.map(extra)], others };
}

for (const [model, names] of [
  [
    "gemma3n",
    [
      "model.embed_vision.embedding_projection.weight",
      "model.embed_audio.hard_embedding_norm.weight",
      "model.vision_tower.timm_model.conv_stem.weight",
      "model.audio_tower.conformer.0.norm.weight",
    ],
  ],
  ["gemma4", ["model.embed_vision.embedding_projection.weight", "model.embed_audio.embedding_projection.weight"]],
  ["qwen3", ["model.vision_encoder.layers.0.q.weight", "model.vision_projection.linear_1.weight"]],
  [
    "llama",
    ["model.image_tower.encoder.0.weight", "model.video_tower.0.weight", "model.multi_modal_projector.w.weight"],
  ],
  ["mistral", ["model.mm_projector.0.weight", "model.image_newline", "model.view_separator"]],
  [
    "qwen2",
    ["model.semantic_connector.fc1.weight", "model.acoustic_tokenizer_encoder.0.weight", "model.aligner.0.weight"],
  ],
])
  test(`${model} inside a multimodal file`, async () => {
    const parts = await partsOf(model, "safetensors");
    const expected = await logitsOf(written(parts, "safetensors"));
    assert.deepEqual(await logitsOf(written(multimodal(parts, names), "safetensors")), expected);
    // What is not such a part is an error.
    const unknown = multimodal(parts, ["model.language_model.layers.0.other.weight"]);
    await assert.rejects(rw.model(written(unknown, "safetensors")), { code: "UNSUPPORTED_MODEL" });
  });

test("biases of latent attention are a feature that this package doesn't have", async () => {
  const parts = await partsOf("deepseek_v3", "safetensors");
  for (const module of ["q_a_proj", "kv_a_proj_with_mqa"]) {
    const biases = parts.tensors
      .filter(({ name }) => name.endsWith(`.self_attn.${module}.weight`))
      .map(({ name, shape: [rows] }) => ({
        name: name.replace(/weight$/, "bias"),
        type: "f32",
        shape: [rows],
        data: new Uint8Array(4 * rows),
      }));
    const files = written({ ...parts, tensors: [...parts.tensors, ...biases] }, "safetensors");
    await assert.rejects(rw.model(files), { code: "UNSUPPORTED_MODEL", message: new RegExp(`${module}\\.bias`) });
  }
  const files = written({ ...parts, keys: { ...parts.keys, attention_bias: true } }, "safetensors");
  await assert.rejects(rw.model(files), { code: "UNSUPPORTED_MODEL", message: /attention_bias.* is true/ });
});
