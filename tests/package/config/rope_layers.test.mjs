import assert from "node:assert/strict";
import test from "node:test";
import { ropeConfig, ropeLayers } from "ropewalk";
import { FAMILY_ROWS, textPart } from "../helpers/family_defaults.mjs";

const without = (source) => ropeLayers(source).flatMap((used, layer) => (used ? [] : [layer]));
const config = (model_type, num_hidden_layers, more) => ({ model_type, num_hidden_layers, ...more });
const file = (arch, block_count, more = {}) => ({
  "general.architecture": arch,
  ...Object.fromEntries(Object.entries({ block_count, ...more }).map(([key, value]) => [`${arch}.${key}`, value])),
});

test("most models have RoPE on every layer", () => {
  assert.deepEqual(ropeLayers(config("llama", 3)), [true, true, true]);
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

test("transformers 5.24: Dory's MLPs, Lara Mini's sliding layers and the axes of Hunyuan 4", () => {
  const layer_types = ["sliding_attention", "mlp", "full_attention", "mlp"];
  assert.deepEqual(without(config("dory", 4, { layer_types })), [1, 3]);
  assert.deepEqual(without(config("dory", 4)), []);
  assert.deepEqual(withRope(config("lara_mini", 7)), [1, 4, 6]);
  const lists = ["linear_attention", "full_attention", "sliding_attention"];
  assert.deepEqual(withRope(config("lara_mini", 3, { layer_types: lists })), [2]);
  const { rope_scaling, pairing } = ropeConfig({ model_type: "hy_v4_vl_text", qk_rope_head_dim: 64 });
  assert.equal(pairing, "interleaved");
  assert.deepEqual([rope_scaling.mrope_section, rope_scaling.mrope_layout], [[12, 10, 10], "interleaved"]);
});

test("no RoPE on layers without attention, and on layer types with null rope_parameters", () => {
  assert.deepEqual(without(config("qwen3_next", 2, { layer_types: ["linear_attention", "full_attention"] })), [0]);
  const rope_parameters = { sliding_attention: { rope_type: "default" }, full_attention: null };
  assert.deepEqual(
    without(config("beam", 2, { layer_types: ["sliding_attention", "full_attention"], rope_parameters })),
    [1],
  );
});

test("no layer has RoPE where ropeConfig() says that the model has none", () => {
  for (const source of [
    config("zamba2", 4, { use_mem_rope: false }),
    config("falcon", 4, { alibi: true }),
    config("granitemoehybrid", 2, { position_embedding_type: "nope", layer_types: ["mamba", "attention"] }),
    config("olmo_hybrid", 4, { rope_theta: null }),
    config("olmo_hybrid", 4, { rope_parameters: { rope_type: "default", rope_theta: null } }),
    config("unheard_of", 2, { alibi: true }),
  ]) {
    assert.throws(() => ropeConfig(source, { overrides: { pairing: "half" } }), { code: "INVALID_CONFIG" });
    assert.ok(!ropeLayers(source).includes(true), source.model_type);
  }
});

test("a family that isn't known needs a pairing, or a file that says which layers have RoPE", () => {
  const unknown = { code: "UNKNOWN_FAMILY", field: "model_type" };
  assert.throws(() => ropeLayers(config("unheard_of", 2)), unknown);
  assert.throws(() => ropeLayers(config("unheard_of", 1, { layer_types: ["full_attention"] })), unknown);
  assert.throws(() => ropeLayers(file("unheard_of", 2)), { ...unknown, field: "general.architecture" });
  const overrides = { pairing: "half" };
  assert.deepEqual(ropeLayers(config("unheard_of", 2), { overrides }), [true, true]);
  assert.deepEqual(ropeLayers(file("unheard_of", 2), { overrides }), [true, true]);
  assert.deepEqual(without(config("unheard_of", 2, { no_rope_layers: [1, 0] })), [1]);
  assert.deepEqual(without(config("unheard_of", 4, { no_rope_layer_interval: 2 })), [1, 3]);
  const layer_types = ["mamba", "sliding_attention", "full_attention"];
  const rope_parameters = { sliding_attention: { rope_type: "default" }, full_attention: null };
  assert.deepEqual(without(config("unheard_of", 3, { layer_types, rope_parameters })), [0, 2]);
  assert.deepEqual(without(file("unheard_of", 2, { "attention.rope_pattern": [true, false] })), [1]);
  assert.throws(() => ropeLayers(config("llama", 2), { pairing: "half" }), { code: "UNKNOWN_KEY", field: "pairing" });
});

const withRope = (source) => ropeLayers(source).flatMap((used, layer) => (used ? [layer] : []));

test("hybrid models list their attention layers under keys of their own", () => {
  assert.deepEqual(withRope(config("bamba", 4, { attn_layer_indices: [1] })), [1]);
  assert.deepEqual(withRope(config("bamba", 4)), []);
  assert.deepEqual(withRope(config("lfm2", 4, { full_attn_idxs: [2] })), [2]);
  assert.deepEqual(withRope(config("lfm2", 2)), [0, 1]);
  const zamba = (count, more) => config("zamba2", count, { use_mem_rope: true, ...more });
  assert.deepEqual(withRope(zamba(4, { hybrid_layer_ids: [3] })), [3]);
  assert.deepEqual(withRope(zamba(3, { layers_block_type: ["mamba", "hybrid", "mamba"] })), [1]);
  assert.deepEqual(withRope(config("minimax_text_01", 4, { attn_type_list: [0, 0, 0, 1] })), [3]);
  assert.deepEqual(withRope(config("minimax", 4, { attn_type_list: [0, 0, 0, 1] })), [3]);
  assert.deepEqual(withRope(config("recurrent_gemma", 4, { block_types: ["attention", "recurrent"] })), [0, 2]);
  assert.deepEqual(withRope(config("qwen3_next", 6, { full_attention_interval: 3 })), [2, 5]);
  assert.deepEqual(withRope(config("bailing_hybrid", 6, { layer_group_size: 3 })), [2, 5]);
  assert.deepEqual(withRope(config("falcon_h1", 2)), [0, 1]);
  assert.deepEqual(
    withRope(config("granitemoehybrid", 2, { position_embedding_type: "rope", layer_types: ["mamba", "attention"] })),
    [1],
  );
});

test("without the list of their layers, models have that of their class", () => {
  const rows = FAMILY_ROWS.map(({ config }) => textPart(config)).filter(
    ({ layer_types, num_hidden_layers, ...more }) =>
      Array.isArray(layer_types) &&
      num_hidden_layers > 0 &&
      more.layer_rope_theta === undefined &&
      !layer_types.includes("mlp"), // Dory counts MLPs as layers where it lists them
  );
  let compared = 0;
  for (const { layer_types, ...rest } of rows) {
    let expected;
    try {
      expected = ropeLayers({ ...rest, layer_types });
    } catch {
      continue; // a family that is refused
    }
    assert.deepEqual(ropeLayers(rest), expected, rest.model_type);
    ++compared;
  }
  assert.ok(compared > 40, `${compared}`);
  assert.deepEqual(
    withRope({ text_config: config("qwen3_5_text", 8) }),
    [3, 7], // full_attention_interval is 4
  );
  assert.deepEqual(withRope(config("olmo_hybrid", 3)), [2]);
  assert.deepEqual(withRope(config("recurrent_gemma", 6)), [2, 5]);
  assert.equal(withRope(config("zamba2", 54, { use_mem_rope: true })).join(" "), "6 12 18 24 30 36 42 47 51");
  const dense = { sliding_window: 4096, first_k_dense_replace: 2 };
  assert.deepEqual(withRope(config("cohere2_moe", 7, dense)), [2, 3, 4, 6]);
  assert.deepEqual(withRope(config("cohere2_moe", 4, { ...dense, prefix_dense_sliding_window_pattern: 2 })), [0, 2, 3]);
});

test("layers of GGUF files without key heads, or of a hybrid architecture, have no attention", () => {
  assert.deepEqual(withRope(file("lfm2", 3, { "attention.head_count_kv": [0, 8, 0] })), [1]);
  assert.deepEqual(withRope(file("granitehybrid", 2, { "attention.head_count_kv": [0n, 8n] })), [1]);
  assert.deepEqual(withRope(file("qwen3next", 8)), [3, 7]);
  assert.deepEqual(withRope(file("qwen35", 4, { full_attention_interval: 2 })), [1, 3]);
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
