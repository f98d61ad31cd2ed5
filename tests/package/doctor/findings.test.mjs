// Each recurring question of users: a file that has it, and the finding.
import assert from "node:assert/strict";
import test from "node:test";
import { LFM3 } from "../config/example_configs.mjs";
import { codesOf, diagnosed, llama31, llama31Gguf, qwen, qwenGguf, qwenYarn } from "./cases.mjs";

const extended = { ...qwen, max_position_embeddings: 131072 };

test("the released configs have no errors", async () => {
  for (const source of [qwen, llama31, { ...extended, rope_scaling: qwenYarn }])
    for (const { severity, code } of (await diagnosed(source)).findings) assert.notEqual(severity, "error", code);
});

test("factor ignored: transformers#38224", async () => {
  const { "factor-ignored": found } = await codesOf({ ...qwen, rope_scaling: qwenYarn }, 100000);
  assert.equal(found.field, "rope_scaling.factor");
  assert.match(found.text, /32,768 \/ 32,768 = 1\. There pair \d+ turns 4 times as fast/);
  assert.match(found.source, /transformers\/issues\/38224$/);
  assert.equal((await codesOf({ ...extended, rope_scaling: qwenYarn }))["factor-ignored"], undefined);
});

test("a factor that contradicts the lengths", async () => {
  const { "factor-contradicts-lengths": found } = await codesOf({
    ...extended,
    rope_scaling: { ...qwenYarn, factor: 2 },
  });
  assert.match(found.text, /^2 × 32,768 = 65,536, but max_position_embeddings is 131,072/);
});

test("context capped though scaled: llama.cpp#17459", async () => {
  const { "context-capped": found } = await codesOf({ ...qwen, rope_scaling: qwenYarn }, 100000);
  assert.match(found.text, /^is 32,768, though the scaling is for 131,072\. vLLM serves at most 32,768/);
  const { systems, recipe, verdict } = await diagnosed({ ...qwen, rope_scaling: qwenYarn }, 100000);
  assert.equal(systems[2].maxLength, 32768);
  assert.equal(verdict.status, "fits");
  assert.equal(recipe.configs[0].config.max_position_embeddings, 131072);
  for (const { title, checked } of recipe.blocks) assert.ok(checked.same, `${title}: ${checked.text}`);
  const gguf = {
    ...qwenGguf,
    "qwen2.rope.scaling.type": "yarn",
    "qwen2.rope.scaling.factor": 4,
    "qwen2.rope.scaling.original_context_length": 32768,
  };
  assert.equal((await codesOf({ metadata: gguf }, 100000))["context-capped"].field, "qwen2.context_length");
});

test("original_max_position_embeddings unrecognized, and missing: vllm#10293", async () => {
  const raised = await codesOf({ ...extended, rope_scaling: qwenYarn });
  assert.match(raised["original-length-unrecognized"].text, /pair \d+ turns [\d.]+ times as fast/);
  const same = await codesOf({ ...qwen, rope_scaling: qwenYarn });
  assert.match(same["original-length-unrecognized"].text, /same numbers here/);
  const missing = await codesOf({ ...extended, rope_scaling: { rope_type: "yarn", factor: 4 } });
  assert.match(missing["original-length-missing"].text, /take the model's whole length, 131,072, for the trained one/);
});

test("attn_factor isn't attention_factor", async () => {
  // DeepSeek-R1-0528-Qwen3-8B
  const scaling = {
    rope_type: "yarn",
    factor: 4,
    original_max_position_embeddings: 32768,
    attn_factor: 0.8782488562869419,
  };
  const config = { ...extended, model_type: "qwen3", head_dim: 128, rope_scaling: scaling };
  const { "attn-factor": found } = await codesOf(config);
  assert.match(found.text, /Only llama\.cpp and SGLang read it/);
  const [hf, llama] = (await diagnosed(config)).systems;
  assert.ok(Math.abs(hf.layers[0].attention_factor - 1.1386294361) < 1e-9);
  assert.ok(Math.abs(llama.layers[0].attention_factor - 1) < 1e-9); // 0.878… = 1 / 1.1386…
});

test("attention_factor isn't read by llama.cpp, SGLang and MLX", async () => {
  const { "attention-factor-ignored": found } = await codesOf({
    ...extended,
    rope_scaling: { ...qwenYarn, attention_factor: 1 },
  });
  assert.match(found.text, /^is 1, but llama\.cpp and SGLang and MLX multiply by 1\.13863\.$/);
});

test("context shift under YaRN multiplies keys again", async () => {
  const { "context-shift": found } = await codesOf({ ...extended, rope_scaling: qwenYarn });
  assert.match(found.text, /each shift makes old keys 1\.13863 times as large/);
  assert.equal((await codesOf(qwen))["context-shift"], undefined);
});

test("dynamic scaling and cached keys: transformers#25104", async () => {
  const { "dynamic-cached-keys": found } = await codesOf({ ...qwen, rope_scaling: { type: "dynamic", factor: 4 } });
  assert.match(found.text, /llama\.cpp and vLLM don't scale at all/);
  const { recipe, verdict } = await diagnosed({ ...qwen, rope_scaling: { type: "dynamic", factor: 4 } }, 100000);
  assert.match(verdict.text, /Only transformers and MLX follow its dynamic scaling/);
  for (const { title, checked } of recipe.blocks) assert.ok(checked.same, `${title}: ${checked.text}`);
});

test("the pairing of GGUF files of Llama", async () => {
  assert.match(
    (await codesOf(llama31))["pairing-by-format"].text,
    /^This file has half pairs, and a GGUF file of it has interleaved pairs/,
  );
  const gguf = await codesOf({ metadata: llama31Gguf, tensors: {} });
  assert.match(
    gguf["pairing-by-format"].text,
    /^This GGUF file has interleaved pairs, and its safetensors file has half pairs/,
  );
  assert.equal((await codesOf(qwen))["pairing-by-format"], undefined);
});

test("rope_freqs forgotten: llama.cpp#8650", async () => {
  const { "rope-freqs-missing": found } = await codesOf({ metadata: llama31Gguf, tensors: {} });
  assert.equal(found.severity, "error");
  assert.match(found.text, /pair \d+ turns 8 times as fast/);
  const tensors = { "rope_freqs.weight": Float32Array.from({ length: 64 }, (_, pair) => (pair < 32 ? 1 : 8)) };
  assert.equal((await codesOf({ metadata: llama31Gguf, tensors }))["rope-freqs-missing"], undefined);
  const llama3 = { ...llama31Gguf, "llama.context_length": 8192 };
  assert.equal((await codesOf({ metadata: llama3, tensors: {} }))["rope-freqs-missing"], undefined);
  const { rope_scaling: _, ...forgotten } = llama31;
  assert.equal((await codesOf(forgotten))["llama3-scaling-missing"].severity, "error");
});

test("type and rope_type, rope_scaling and rope_parameters", async () => {
  assert.equal((await codesOf({ ...qwen, rope_scaling: qwenYarn }))["legacy-type"].field, "rope_scaling.type");
  const { rope_theta, ...rest } = extended;
  const parameters = { rope_type: "yarn", rope_theta, factor: 4, original_max_position_embeddings: 32768 };
  const moved = await codesOf({ ...rest, rope_parameters: parameters });
  assert.equal(moved["new-spelling"].severity, "warning");
  assert.match(moved["new-spelling"].text, /base 10,000 and no scaling \(pair \d+ turns/);
  const both = await codesOf({ ...extended, rope_scaling: qwenYarn, rope_parameters: parameters });
  assert.equal(both["both-spellings"].severity, "warning");
});

test("keys that nothing reads are left out, and named", async () => {
  const { layers, findings } = await diagnosed({
    ...extended,
    rope_scaling: { ...qwenYarn, faktor: 4, low_freq_factor: 1 },
  });
  assert.equal(layers[0].rope_type, "yarn");
  const fields = findings.filter(({ code }) => code === "key-not-read").map(({ field }) => field);
  assert.deepEqual(fields.sort(), ["rope_scaling.faktor", "rope_scaling.low_freq_factor"]);
});

test("values that can't be are errors with their path", async () => {
  const factor = await diagnosed({ ...qwen, rope_scaling: { ...qwenYarn, factor: "four" } });
  assert.deepEqual([factor.verdict.status, factor.findings[0].field], ["unknown", "rope_scaling.factor"]);
  const small = await diagnosed({ ...qwen, rope_scaling: { ...qwenYarn, factor: 0.5 } });
  assert.deepEqual([small.verdict.status, small.findings[0].code], ["unknown", "invalid-config"]);
  assert.equal((await codesOf({ model_type: "brand_new" }))["unknown-family"].severity, "error");
});

test("faults of old versions with rope_scaling aren't found in rope_parameters, which they don't read", async () => {
  const { rope_theta, ...rest } = qwen;
  const parameters = { rope_type: "yarn", rope_theta, factor: 4, original_max_position_embeddings: 32768 };
  const found = await codesOf({ ...rest, rope_parameters: parameters }, 100000);
  assert.equal(found["factor-ignored"], undefined);
  assert.equal(found["original-length-unrecognized"], undefined);
  assert.ok(found["context-capped"] && found["new-spelling"]);
});

test("Gemma 3 with rope_parameters by kind of layer: old programs have their own default base", async () => {
  const gemma = {
    model_type: "gemma3_text",
    head_dim: 256,
    num_hidden_layers: 26,
    sliding_window: 512,
    sliding_window_pattern: 6,
    max_position_embeddings: 131072,
    rope_parameters: {
      full_attention: { rope_type: "linear", factor: 8, rope_theta: 1e6 },
      sliding_attention: { rope_type: "default", rope_theta: 1e4 },
    },
  };
  const { "new-spelling": found } = await codesOf(gemma);
  assert.equal(found.severity, "warning");
  assert.match(found.text, /the base that is their default for this family/);
  assert.doesNotMatch(found.text, /10,000/);
});

test("the base of GPT-NeoX has another name", async () => {
  const neox = { model_type: "gpt_neox", hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 2048 };
  assert.equal((await codesOf({ ...neox, rotary_emb_base: 10000 }))["base-missing"], undefined);
});

test("attn_factor that cancels YaRN's own leaves nothing to warn of at a context shift", async () => {
  const scaling = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32768, attn_factor: 0.878 };
  const found = await codesOf({ ...extended, model_type: "qwen3", head_dim: 128, rope_scaling: scaling });
  assert.equal(found["context-shift"], undefined);
});

test("a window in every layer", async () => {
  const mistral = { ...qwen, model_type: "mistral", sliding_window: 4096 };
  assert.match((await codesOf(mistral, 100000))["window-within-length"].text, /^No layer sees more than 4,096 tokens/);
  assert.equal((await codesOf(qwen, 100000))["window-within-length"], undefined);
  assert.equal((await codesOf(mistral, 20000))["window-within-length"], undefined);
});

test("longrope's two lists", async () => {
  const lists = { short_factor: Array(48).fill(1), long_factor: Array.from({ length: 48 }, (_, i) => 1 + i) };
  const phi = { model_type: "phi3", hidden_size: 3072, num_attention_heads: 32, max_position_embeddings: 131072 };
  const config = { ...phi, original_max_position_embeddings: 4096, rope_scaling: { type: "longrope", ...lists } };
  const found = await codesOf(config);
  assert.match(found["longrope-lists"].text, /passes 4,096 tokens/);
  assert.match(found["context-shift"].text, /1\.19024 times/); // √(1 + ln 32 / ln 4096)
});

test("a rotated share under the type default", async () => {
  const parameters = { rope_type: "default", rope_theta: 1e6, partial_rotary_factor: 0.5 };
  const { rope_theta: _, ...plain } = qwen;
  const ignored = await diagnosed({ ...plain, rope_parameters: parameters });
  const found = ignored.findings.find(({ code }) => code === "share-under-default");
  assert.equal(found.field, "rope_parameters.partial_rotary_factor");
  assert.match(found.text, /transformers rotates the whole head, and vLLM 50 % of it/);
  assert.deepEqual(
    ignored.systems.map(({ same }) => same),
    [true, true, false, true, false],
  );
  assert.match(ignored.systems[2].reasons[0], /^vLLM rotates the first 64 elements of a head\./);
  assert.match(
    ignored.systems[4].reasons[0],
    /^MLX reads no rope_parameters for qwen2: .* without rope_theta its own base/,
  );
  // Phi's class reads it.
  const phi = await codesOf({ ...plain, model_type: "phi", rope_parameters: parameters });
  assert.equal(phi["share-under-default"], undefined);
});

test("LFM3's released file says default and means proportional", async () => {
  const { systems, findings, layers } = await diagnosed(LFM3);
  const full = layers.find(({ kind }) => kind === "full_attention");
  assert.deepEqual([full.rope_type, full.rotary_dim], ["proportional", 128]);
  const [transformers, llamaCpp, vllm, ...others] = systems;
  assert.deepEqual([transformers.same, llamaCpp.same, vllm.same], [false, true, false]);
  assert.deepEqual(
    others.map(({ reasons }) => reasons),
    [["SGLang has no code for lfm3"], ["MLX has no code for lfm3"]],
  );
  assert.equal(transformers.layers[0].largestDifference.pair, 32);
  assert.match(transformers.reasons[0], /rotates every pair\. This model was trained as proportional/);
  assert.match(vllm.reasons[0], /^vLLM rotates the first 64 elements of a head in full_attention/);
  const found = findings.find(({ code }) => code === "share-under-default");
  assert.equal(found.field, "rope_parameters.full_attention.partial_rotary_factor");
  assert.match(found.text, /llama\.cpp reads the factors in the GGUF file/);
});
