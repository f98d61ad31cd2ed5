// Adapters by the names of modules in transformers 5.24, on files with the names of the models' first releases.
import assert from "node:assert/strict";
import test from "node:test";
import { adapterFiles, lowRank } from "../helpers/adapter_writer.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";

// A model, and pairs of names: in transformers 5.24, and in the model's file. Sizes are those of the file.
const NAMES = {
  exaone: [
    ["model.layers.0.self_attn.q_proj", "transformer.h.0.attn.attention.q_proj"],
    ["model.layers.0.self_attn.o_proj", "transformer.h.0.attn.attention.out_proj"],
    ["model.layers.1.mlp.gate_proj", "transformer.h.1.mlp.c_fc_0"],
    ["model.layers.1.mlp.up_proj", "transformer.h.1.mlp.c_fc_1"],
    ["model.layers.1.mlp.down_proj", "transformer.h.1.mlp.c_proj"],
  ],
  nemotron_h: [["model.layers.0.mixer.out_proj", "backbone.layers.0.mixer.out_proj"]],
  gpt_neox: [["lm_head", "embed_out"]],
  hy_v3: [["model.layers.1.mlp.shared_experts.up_proj", "model.layers.1.mlp.shared_mlp.up_proj"]],
  nomic_bert: [["layers.0.mlp.down_proj", "encoder.layers.0.mlp.fc2"]],
  jina_embeddings_v3: [["layers.0.self_attn.o_proj", "encoder.layers.0.mixer.out_proj"]],
  gte: [["layers.0.self_attn.o_proj", "encoder.layer.0.attention.o_proj"]],
  bert: [["bert.encoder.layer.0.attention.self.query", "encoder.layer.0.attention.self.query"]],
  qwen2_vl: [["model.language_model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.q_proj"]],
  qwen3_vl: [["language_model.layers.0.self_attn.q_proj", "model.language_model.layers.0.self_attn.q_proj"]],
};

async function targetsOf(model, module) {
  // The error of an adapter of another size says what the model has.
  const error = await model.loadAdapter(adapterFiles(lowRank(module, 3, 3))).then(assert.fail, (error) => error);
  const [, rows, columns] = /of the model is (\d+) × (\d+)/.exec(error.message) ?? assert.fail(error.message);
  const adapter = await model.loadAdapter(adapterFiles(lowRank(module, Number(rows), Number(columns))));
  const { targets } = adapter.info;
  adapter.dispose();
  return targets;
}

for (const [name, pairs] of Object.entries(NAMES))
  test(`${name}: both names are the same weight`, async () => {
    const model = await rw.model(tinyModel(`${name}/`));
    for (const [newer, older] of pairs) {
      const [first, second] = [await targetsOf(model, newer), await targetsOf(model, older)];
      assert.equal(first.length, 1);
      assert.deepEqual(first, second, newer);
    }
    model.dispose();
  });
