// Adapters that can't be used: what the error says, and that the model stays as it was.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adapterFiles, lowRank } from "../helpers/adapter_writer.mjs";
import { measureCycles } from "../helpers/memory.mjs";
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
    await assert.rejects(model.loadAdapter(adapterFiles(tensors, config)), error);
    assert.equal(model.info.memory.adapters, 0);
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
  ["a pattern that takes exponential time", "(?:a+)+z", "UNSUPPORTED_MODEL"],
  ["a pattern that takes polynomial time", ".*a.*a.*z", "UNSUPPORTED_MODEL"],
  ["a long pattern", "a?".repeat(101), "UNSUPPORTED_MODEL"],
  ["a pattern with syntax of Python alone", "(?P<name>q)_proj", "INVALID_FILE"],
  ["a pattern that is none", "[", "INVALID_FILE"],
])
  for (const key of ["rank_pattern", "alpha_pattern"])
    refuses(
      `${what}: ${key}`,
      { ...lowRank("a.".repeat(1000) + "b", 4, 4), ...lowRank("a".repeat(2000), 4, 4), ...good },
      { [key]: { [pattern]: 2 } },
      { code, field: `adapter_config.json: ${key}` },
    );
test("many patterns of many modules", async () => {
  const names = Array.from({ length: 5000 }, (_, i) => `layers.${i}.q_proj`);
  const tensors = Object.assign({}, ...names.map((name) => lowRank(name, 1, 1)));
  const rank_pattern = Object.fromEntries(names.map((name) => [name.replaceAll(".", "\\."), 3]));
  const start = performance.now();
  await assert.rejects(model.loadAdapter(adapterFiles(tensors, { rank_pattern })), { code: "INVALID_FILE" });
  const wrong = Object.fromEntries(names.map((name) => [`x${name}`, 3]));
  await assert.rejects(model.loadAdapter(adapterFiles(tensors, { rank_pattern: wrong })), {
    code: "UNSUPPORTED_MODEL",
  });
  assert.ok(performance.now() - start < 30_000);
});
for (const [what, pattern] of [
  ["a name", "q_proj"],
  ["a name with dots", "layers.0.self_attn.q_proj"],
  ["a name from its start", "^model\\.layers\\.0\\.self_attn\\.q_proj$"],
  ["repetitions", ".*.*.*.*"],
  ["groups and sets", "(?:layers|blocks)\\.[0-9]+\\.(self_attn|cross\\-attn)\\.q_proj"],
])
  test(`a pattern that matches: ${what}`, async () => {
    const files = adapterFiles(good, { r: 5, rank_pattern: { k_proj: 5, "^layers": 6, roj: 7, [pattern]: 2 } });
    (await model.loadAdapter(files)).dispose();
  });
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

test("adapters that are refused, aborted or disposed leave no byte behind", async () => {
  const source = `
  import { adapterFiles, lowRank } from "./helpers/adapter_writer.mjs";
  const model = await rw.model(${JSON.stringify(tinyModel("llama/"))});
  const good = lowRank(${JSON.stringify(QUERY)}, 32, 32);
  const [A, B] = Object.keys(good);
  const infinite = { ...good, [B]: { shape: [32, 2], values: good[B].values.with(3, Infinity) } };
  const mine = () => { throw new Error("mine"); };
  const refused = (loading) => loading.then(() => { throw new Error("not refused"); }, () => undefined);
  async function cycle() {
    const adapter = await model.loadAdapter(adapterFiles(good));
    const session = model.session({ adapters: [{ adapter, scale: 2 }] });
    await session.append([5, 6]);
    adapter.dispose();
    session.dispose();
    await refused(model.loadAdapter(adapterFiles(infinite)));
    await refused(model.loadAdapter(adapterFiles(lowRank("model.layers.9.q_proj", 32, 32))));
    await refused(model.loadAdapter(adapterFiles(good), { onProgress: mine }));
    await refused(model.loadAdapter(adapterFiles(good), { signal: AbortSignal.abort() }));
  }`;
  const [none, many] = [await measureCycles(source, 0), await measureCycles(source, 300)];
  assert.equal(many.after, many.before, "memory doesn't grow");
  assert.deepEqual(many, none);
});
