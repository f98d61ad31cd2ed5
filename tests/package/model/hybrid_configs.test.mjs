// Configs of hybrid models with Mamba in the forms that files have them, and what is refused in them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";

/** The files of a tiny model with other keys in its config.json. */
function filesWith(name, changes) {
  const config = { ...JSON.parse(readFileSync(tinyModel(`${name}/config.json`), "utf8")), ...changes };
  return [
    new File([JSON.stringify(config)], "config.json"),
    new File([readFileSync(tinyModel(`${name}/model.safetensors`))], "model.safetensors"),
    new File([readFileSync(tinyModel(`${name}/tokenizer.json`))], "tokenizer.json"),
  ];
}

/** The largest difference of the logits after the prompt from transformers'. */
async function difference(name, changes) {
  const model = await rw.model(filesWith(name, changes), { kv: { dtype: "f32" } });
  const { prompt, prompt_logits } = readExpected(name, "expected.json");
  const session = model.session();
  await session.append(prompt);
  const logits = session.logits();
  model.dispose();
  return largestDifference([logits], [prompt_logits.at(-1)]);
}

const F32_LIMIT = 1e-4; // as in parity.test.mjs

test("Nemotron-H: letters of older files, other names of blocks, and no list of them", async () => {
  const none = { layers_block_type: undefined, num_hidden_layers: 5 };
  assert.ok((await difference("nemotron_h", { ...none, hybrid_override_pattern: "M-*-M" })) < F32_LIMIT);
  const older = ["mamba", "mlp", "attention", "mlp", "mamba"];
  assert.ok((await difference("nemotron_h", { layers_block_type: older })) < F32_LIMIT);
  for (const [changes, code] of [
    [{ ...none, hybrid_override_pattern: "M-*-X" }, "INVALID_FILE"],
    [none, "INVALID_FILE"], // the default has four layers
    [{ mlp_hidden_act: "mish" }, "UNSUPPORTED_MODEL"],
  ])
    await assert.rejects(rw.model(filesWith("nemotron_h", changes)), { code });
});

test("Nemotron-H: experts of another width are refused by the name of their key", () =>
  rejects(
    rw.model(filesWith("nemotron_h_moe", { moe_latent_size: 16 })),
    "UNSUPPORTED_MODEL",
    "model.safetensors: moe_latent_size",
  ));

test("Falcon-H1: every multiplier has an effect, and lists need all of theirs", async () => {
  const { ssm_multipliers, mlp_multipliers, ...config } = JSON.parse(
    readFileSync(tinyModel("falcon_h1/config.json"), "utf8"),
  );
  const single = Object.keys(config).filter((key) => key.endsWith("_multiplier"));
  assert.equal(single.length, 7);
  const without = (list, index) => list.map((factor, i) => (i === index ? 1 : factor));
  const changes = [
    ...single.map((key) => ({ [key]: 1 })),
    ...ssm_multipliers.map((_, i) => ({ ssm_multipliers: without(ssm_multipliers, i) })),
    ...mlp_multipliers.map((_, i) => ({ mlp_multipliers: without(mlp_multipliers, i) })),
  ];
  for (const change of changes) {
    const found = await difference("falcon_h1", change);
    assert.ok(found > 10 * F32_LIMIT, `${JSON.stringify(change)}: ${found}`);
  }
  for (const [key, value] of [
    ["ssm_multipliers", [1, 1, 1, 1]],
    ["mlp_multipliers", 1],
    ["mlp_multipliers", [1, "1"]],
    ["key_multiplier", "1"],
  ])
    await rejects(rw.model(filesWith("falcon_h1", { [key]: value })), "INVALID_FILE", `model.safetensors: ${key}`);
});

test("Falcon-H1: a config without multipliers has none, and Mamba's activation is SiLU", async () => {
  const model = await rw.model(filesWith("falcon_h1", { ssm_multipliers: null, mlp_multipliers: null }));
  model.dispose();
  await rejects(
    rw.model(filesWith("falcon_h1", { hidden_act: "gelu" })),
    "UNSUPPORTED_MODEL",
    "model.safetensors: hidden_act",
  );
});

test("Jamba: layers are those of the periods, and one expert is none", async () => {
  const model = await rw.model(tinyModel("jamba/"));
  assert.deepEqual(
    model.info.layers.map(({ kind, hasExperts, rope }) => [kind, hasExperts, rope]),
    ["mamba", "full_attention", "mamba", "mamba"].map((kind, layer) => [kind, layer % 2 === 1, null]),
  );
  model.dispose();
  // the tensors of the layers with experts are no longer those of the config
  await rejects(
    rw.model(filesWith("jamba", { num_experts: 1 })),
    "INVALID_FILE",
    "model.safetensors: model.layers.1.feed_forward.gate_proj.weight",
  );
});

// Its models' code in transformers has the activation of the config in recurrent layers too. The core has only SiLU.
for (const [name, key] of [
  ["mamba", "hidden_act"],
  ["falcon_mamba", "hidden_act"],
  ["mamba2", "hidden_act"],
  ["bamba", "hidden_act"],
  ["jamba", "hidden_act"],
  ["granitemoehybrid", "hidden_act"],
  ["nemotron_h", "mamba_hidden_act"],
  ["qwen3_next", "hidden_act"],
  ["qwen3_5", "hidden_act"],
  ["qwen3_5_moe", "hidden_act"],
])
  test(`${name}: recurrent layers have SiLU, or are refused`, async () => {
    const model = await rw.model(filesWith(name, { [key]: "swish" })); // another name of it
    model.dispose();
    await rejects(rw.model(filesWith(name, { [key]: "gelu" })), "UNSUPPORTED_MODEL", `model.safetensors: ${key}`);
  });

test("feed-forward blocks have the activation of the config, or are refused", async () => {
  for (const [name, key, other] of [
    ["llama", "hidden_act", "gelu"],
    ["gpt_neox", "hidden_act", "relu"],
    ["gptj", "activation_function", "relu"],
    ["starcoder2", "hidden_act", "silu"],
    ["gemma2", "hidden_activation", "silu"],
    ["exaone", "activation_function", "relu"],
  ]) {
    assert.ok((await difference(name, { [key]: other })) > 10 * F32_LIMIT, name);
    await rejects(rw.model(filesWith(name, { [key]: "mish" })), "UNSUPPORTED_MODEL", `model.safetensors: ${key}`);
  }
  assert.ok((await difference("gemma", { hidden_act: "gelu" })) < F32_LIMIT); // the name of released files for its approximation
});

test("Mamba: the inner size of the config counts before its factor", async () => {
  const { intermediate_size, expand } = JSON.parse(readFileSync(tinyModel("mamba/config.json"), "utf8"));
  assert.ok(intermediate_size > 0);
  assert.ok((await difference("mamba", { expand: expand + 1 })) < F32_LIMIT);
  assert.ok((await difference("mamba", { intermediate_size: undefined })) < F32_LIMIT);
});

test("Qwen3-Next: no experts are dense blocks in every layer", () =>
  // the tensors of the model are no longer those of the config
  rejects(
    rw.model(filesWith("qwen3_next", { num_experts: 0 })),
    "INVALID_FILE",
    "model.safetensors: model.layers.0.mlp.gate_proj.weight",
  ));
