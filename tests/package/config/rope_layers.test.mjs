import assert from "node:assert/strict";
import test from "node:test";
import { ropeLayers } from "ropewalk";

const without = (source) => ropeLayers(source).flatMap((used, layer) => (used ? [] : [layer]));
const config = (model_type, num_hidden_layers, more) => ({ model_type, num_hidden_layers, ...more });
const file = (arch, block_count, more = {}) => ({
  "general.architecture": arch,
  ...Object.fromEntries(Object.entries({ block_count, ...more }).map(([key, value]) => [`${arch}.${key}`, value])),
});

test("most models have RoPE on every layer", () => {
  assert.deepEqual(ropeLayers(config("llama", 3)), [true, true, true]);
  assert.deepEqual(ropeLayers(config("unheard_of", 2)), [true, true]);
  assert.deepEqual(ropeLayers(file("qwen2", 2n)), [true, true]);
});

test("models without RoPE have it on no layer", () => {
  assert.deepEqual(ropeLayers({ model_type: "gpt2", n_layer: 2 }), [false, false]);
  assert.deepEqual(ropeLayers(file("mamba", 2)), [false, false]);
});

test("SmolLM3 and Llama 4 have no RoPE on every fourth layer; 1 in no_rope_layers means RoPE", () => {
  assert.deepEqual(without(config("smollm3", 8)), [3, 7]);
  assert.deepEqual(without(config("llama4_text", 6, { no_rope_layer_interval: 3 })), [2, 5]);
  assert.deepEqual(
    without({ model_type: "llama4", text_config: config("llama4_text", 4, { no_rope_layers: [1, 0, 1, 1] }) }),
    [1],
  );
  assert.deepEqual(without(config("smollm3", 4, { no_rope_layers: [] })), [3]);
  assert.deepEqual(without(file("smollm3", 8)), [3, 7]);
  assert.deepEqual(without(file("llama4", 4)), [3]);
  assert.deepEqual(without(file("llama4", 4, { "attention.sliding_window": 0 })), []);
  assert.deepEqual(without(file("smallthinker", 8)), [0, 4]);
  assert.deepEqual(without(file("granite_swa", 3, { "attention.rope_pattern": [true, false, true] })), [1]);
});

test("models with RoPE on sliding layers only", () => {
  const window = { sliding_window: 4096 };
  assert.deepEqual(without(config("cohere2", 8, window)), [3, 7]);
  assert.deepEqual(
    without(
      config("cohere2", 3, { ...window, layer_types: ["full_attention", "sliding_attention", "full_attention"] }),
    ),
    [0, 2],
  );
  assert.deepEqual(without(config("exaone4", 4, { ...window, sliding_window_pattern: "LG" })), [1, 3]);
  assert.deepEqual(without(config("exaone4", 4, { sliding_window: null })), []);
  assert.deepEqual(without(file("cohere2", 4, { "attention.sliding_window": 4096 })), [3]);
  assert.deepEqual(without(file("exaone4", 4)), []);
  assert.deepEqual(
    without(
      file("exaone4", 3, { "attention.sliding_window": 128, "attention.sliding_window_pattern": [true, false, true] }),
    ),
    [1],
  );
});

test("no RoPE on layers without attention, and on layer types with null rope_parameters", () => {
  assert.deepEqual(without(config("qwen3_next", 2, { layer_types: ["linear_attention", "full_attention"] })), [0]);
  const rope_parameters = { sliding_attention: { rope_type: "default" }, full_attention: null };
  assert.deepEqual(
    without(config("beam", 2, { layer_types: ["sliding_attention", "full_attention"], rope_parameters })),
    [1],
  );
});

test("errors", () => {
  assert.throws(() => ropeLayers({ model_type: "llama" }), { code: "INVALID_CONFIG", field: "num_hidden_layers" });
  assert.throws(() => ropeLayers(config("smollm3", 4, { no_rope_layers: [1] })), {
    code: "INVALID_CONFIG",
    field: "no_rope_layers",
  });
  assert.throws(() => ropeLayers({ "general.architecture": "llama" }), {
    code: "INVALID_CONFIG",
    field: "llama.block_count",
  });
  for (const count of [-1, 65537, 2 ** 31, 2 ** 53 - 1]) {
    const error = { code: "INVALID_CONFIG", message: new RegExp(`must be from 0 to 65536 \\(got ${count}\\)$`) };
    assert.throws(() => ropeLayers(config("llama", count)), { ...error, field: "num_hidden_layers" });
    assert.throws(() => ropeLayers({ text_config: { n_layer: count } }), { ...error, field: "text_config.n_layer" });
    assert.throws(() => ropeLayers(file("llama", BigInt(count))), { ...error, field: "llama.block_count" });
  }
  assert.equal(ropeLayers(config("llama", 65536)).length, 65536);
});
