// Adapters that can't be used: what the error says, and that the model stays as it was.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adapterFiles, lowRank } from "../helpers/adapter_writer.mjs";
import { rw } from "../helpers/runtime.mjs";
import { tinyModel } from "../helpers/models.mjs";

let model;
before(async () => (model = await rw.model(tinyModel("llama/"))));
after(() => model.dispose());

const QUERY = "model.layers.0.self_attn.q_proj";
const good = lowRank(QUERY, 32, 32);
const [A, B] = Object.keys(good);
const refuses = (what, tensors, config, error) =>
  test(what, async () => {
    const memory = rw.memoryBytes;
    await assert.rejects(model.loadAdapter(adapterFiles(tensors, config)), error);
    assert.equal(model.info.memory.adapters, 0);
    assert.equal(rw.memoryBytes, memory);
  });

test("the adapter that the others are made from", async () => {
  const adapter = await model.loadAdapter(adapterFiles(good));
  assert.deepEqual(adapter.info.targets, [`${QUERY}.weight`]);
  adapter.dispose();
});

const file = "adapter_model.safetensors";
refuses(
  "another base model: a weight that the model doesn't have",
  lowRank("model.layers.9.self_attn.q_proj", 32, 32),
  { base_model_name_or_path: "org/base" },
  {
    code: "INVALID_FILE",
    field: `${file}: base_model.model.model.layers.9.self_attn.q_proj.lora_A.weight`,
    message: /changes model\.layers\.9\.self_attn\.q_proj\.weight, which the model \(llama\) doesn't have.*org\/base/,
  },
);
refuses(
  "another base model: other shapes",
  lowRank(QUERY, 64, 48),
  {},
  {
    code: "INVALID_FILE",
    field: `${file}: ${A}`,
    message: /64 × 48, but model\.layers\.0\.self_attn\.q_proj\.weight of the model is 32 × 32/,
  },
);
refuses(
  "a rank that the config doesn't say",
  good,
  { r: 4 },
  { code: "INVALID_FILE", message: /has rank 2, but adapter_config\.json says 4/ },
);
refuses(
  "a missing half",
  { [A]: good[A] },
  {},
  { code: "INVALID_FILE", field: `${file}: ${A}`, message: /lora_B\.weight of the same weight is missing/ },
);
refuses(
  "other inner sizes",
  { [A]: good[A], [B]: { shape: [64, 1], values: good[B].values } },
  {},
  { code: "INVALID_FILE", message: /must be \[rank, columns\]/ },
);
refuses(
  "infinite numbers",
  { ...good, [B]: { shape: [32, 2], values: good[B].values.with(3, Infinity) } },
  {},
  { field: `${file}: ${B}`, message: /infinite or NaN/ },
);
refuses("no tensors", {}, {}, { code: "INVALID_FILE", field: `${file}: tensors` });
refuses(
  "the embedding",
  { "base_model.model.model.embed_tokens.lora_embedding_A": { shape: [2, 1], values: [0, 0] } },
  {},
  { code: "UNSUPPORTED_MODEL", message: /lora_embedding_A: changes the embedding/ },
);
refuses(
  "the embedding as a linear layer",
  lowRank("model.embed_tokens", 64, 32),
  {},
  { code: "UNSUPPORTED_MODEL", message: /isn't a linear layer/ },
);
refuses(
  "a whole module",
  { ...good, "base_model.model.lm_head.weight": { shape: [1, 1], values: [1] } },
  {},
  { code: "UNSUPPORTED_MODEL", field: `${file}: base_model.model.lm_head.weight` },
);
refuses(
  "a head whose vocabulary was resized",
  {
    ...lowRank("lm_head", 64, 32),
    "base_model.model.lm_head.base_layer.weight": { shape: [65, 32], values: new Array(65 * 32).fill(0) },
  },
  {},
  { code: "UNSUPPORTED_MODEL", message: /vocabulary was changed/ },
);
for (const [key, value] of [
  ["use_dora", true],
  ["bias", "lora_only"],
  ["modules_to_save", ["lm_head"]],
  ["layer_replication", [[0, 1]]],
  ["trainable_token_indices", [1]],
  ["target_parameters", ["mlp.experts.gate_up_proj"]],
  ["alora_invocation_tokens", [5]],
  ["a_new_kind", { of: "adapter" }],
  ["init_lora_weights", "pissa_niter_4"],
])
  refuses(
    `the config's ${key}`,
    good,
    { [key]: value },
    { code: "UNSUPPORTED_MODEL", field: `adapter_config.json: ${key}` },
  );
refuses(
  "another kind of adapter",
  good,
  { peft_type: "IA3" },
  { code: "UNSUPPORTED_MODEL", field: "adapter_config.json: peft_type" },
);
for (const [what, pattern, code] of [
  ["a pattern that takes long", "(a+)+b", "UNSUPPORTED_MODEL"],
  ["a pattern with too many repetitions", ".*.*.*.*", "UNSUPPORTED_MODEL"],
  ["a pattern that is none", "[", "INVALID_FILE"],
])
  refuses(what, good, { rank_pattern: { [pattern]: 2 } }, { code, field: "adapter_config.json: rank_pattern" });
for (const [key, value] of [
  ["r", "2"],
  ["lora_alpha", {}],
  ["alpha_pattern", [1]],
])
  refuses(
    `${key} of a wrong type`,
    good,
    { [key]: value },
    { code: "INVALID_FILE", field: `adapter_config.json: ${key}` },
  );

test("an aborted call", async () => {
  const controller = new AbortController();
  const loading = model.loadAdapter(adapterFiles(good), { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(loading, { message: "enough" });
  assert.equal(model.info.memory.adapters, 0);
});

test("a disposed model", async () => {
  const disposed = await rw.model(tinyModel("llama/"));
  disposed.dispose();
  await assert.rejects(disposed.loadAdapter(adapterFiles(good)), { code: "DISPOSED" });
});
