// Models whose layers differ in their RoPE.
import assert from "node:assert/strict";
import test from "node:test";
import { ropeConfig, RopewalkError } from "ropewalk";

const base = { hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 65536 };
const SLIDING_AND_FULL = ["sliding_attention", "full_attention"];
const both = (config) => SLIDING_AND_FULL.map((layer_type) => ropeConfig(config, { layer_type }));
const fails = (code, field, call) =>
  assert.throws(call, (error) => error instanceof RopewalkError && error.code === code && error.field === field);

test("older files: rope_scaling applies to the same layers as in transformers", () => {
  const linear = { rope_type: "linear", factor: 8 };
  const types = (model_type) =>
    both({ model_type, ...base, rope_scaling: linear }).map(({ rope_scaling }) => rope_scaling.rope_type);
  assert.deepEqual(types("gemma3_text"), ["default", "linear"]);
  assert.deepEqual(types("olmo3"), ["default", "linear"]);
  assert.deepEqual(types("modernbert"), ["linear", "linear"]);
});

test("rope_parameters by layer type", () => {
  const config = {
    model_type: "laguna",
    ...base,
    layer_types: SLIDING_AND_FULL,
    rope_parameters: {
      full_attention: {
        rope_type: "yarn",
        factor: 64,
        original_max_position_embeddings: 4096,
        attention_factor: 1,
        rope_theta: 5e5,
        partial_rotary_factor: 0.5,
      },
      sliding_attention: { rope_type: "default", rope_theta: 1e4, partial_rotary_factor: 1 },
    },
  };
  const [sliding, full] = both(config);
  assert.deepEqual(
    [sliding.rotary_dim, sliding.rope_theta, sliding.rope_scaling],
    [128, 1e4, { rope_type: "default" }],
  );
  assert.deepEqual([full.rotary_dim, full.rope_theta, full.rope_scaling.attention_factor], [64, 5e5, 1]);
});

test("a YaRN truncate under a layer type is not read by transformers", () => {
  const full_attention = { rope_type: "yarn", factor: 2, truncate: false, rope_theta: 1e4 };
  const rope = ropeConfig(
    { model_type: "laguna", ...base, rope_parameters: { full_attention } },
    { layer_type: "full_attention" },
  );
  assert.equal("truncate" in rope.rope_scaling, false);
});

test("Gemma 4: full layers have a wider head with proportional RoPE", () => {
  const [sliding, full] = both({ model_type: "gemma4", text_config: { model_type: "gemma4_text", ...base } });
  assert.deepEqual([sliding.head_dim, sliding.rotary_dim, sliding.rope_theta], [256, 256, 1e4]);
  assert.deepEqual(
    [full.head_dim, full.rotary_dim, full.partial_rotary_factor, full.rope_theta, full.rope_scaling],
    [512, 512, 0.25, 1e6, { rope_type: "proportional" }],
  );
  const saved = {
    model_type: "gemma4_text",
    ...base,
    layer_types: SLIDING_AND_FULL,
    per_layer_config: { 1: { head_dim: 384 } },
  };
  assert.deepEqual(
    both(saved).map(({ head_dim }) => head_dim),
    [256, 384],
  );
});

test("Step-3.5 lists a base and a rotated share per layer", () => {
  const [sliding, full] = both({
    model_type: "step3p5",
    ...base,
    head_dim: 128,
    layer_types: ["full_attention", "sliding_attention"],
    rope_theta: [5e6, 1e4],
    partial_rotary_factors: [0.5, 1],
    rope_scaling: {
      rope_type: "llama3",
      factor: 2,
      low_freq_factor: 1,
      high_freq_factor: 32,
      original_max_position_embeddings: 131072,
    },
  });
  assert.deepEqual([sliding.rope_theta, sliding.rotary_dim, sliding.rope_scaling.rope_type], [1e4, 128, "default"]);
  assert.deepEqual([full.rope_theta, full.rotary_dim, full.rope_scaling.rope_type], [5e6, 64, "llama3"]);
});

test("layer_type is only needed if layers differ, and the error lists the types", () => {
  const config = { model_type: "gemma3_text", ...base };
  assert.throws(() => ropeConfig(config), {
    code: "INVALID_ARGUMENT",
    field: "layer_type",
    message: /full_attention, sliding_attention/,
  });
  fails("INVALID_ARGUMENT", "layer_type", () => ropeConfig(config, { layer_type: "sliding" }));
  assert.equal(ropeConfig({ model_type: "olmo3", ...base, rope_theta: 5e5 }).rope_theta, 5e5);
  assert.equal(ropeConfig({ model_type: "laguna", ...base, layer_types: ["full_attention"] }).rope_theta, 5e5);
});

test("models with one RoPE accept the common layer types and no others", () => {
  for (const layer_type of ["full_attention", "sliding_attention"])
    assert.equal(ropeConfig({ model_type: "mistral", ...base }, { layer_type }).rope_theta, 1e4);
  fails("INVALID_ARGUMENT", "layer_type", () =>
    ropeConfig({ model_type: "mistral", ...base }, { layer_type: "global" }),
  );
});

test("layers without RoPE are refused", () => {
  const of = (model_type, layer_type, more) => () =>
    ropeConfig({ model_type, ...base, sliding_window: 4096, ...more }, { layer_type });
  fails("INVALID_CONFIG", "layer_type", of("cohere2", "full_attention"));
  fails("INVALID_CONFIG", "layer_type", of("exaone4", "full_attention"));
  fails("INVALID_CONFIG", "layer_type", of("qwen3_next", "linear_attention"));
  const beam = {
    rope_parameters: { sliding_attention: { rope_type: "default", rope_theta: 1e4 }, full_attention: null },
  };
  const options = { overrides: { pairing: "half" } };
  fails("INVALID_CONFIG", "layer_type", () =>
    ropeConfig({ model_type: "new", ...base, ...beam }, { ...options, layer_type: "full_attention" }),
  );
  assert.equal(ropeConfig({ model_type: "new", ...base, ...beam }, options).rope_theta, 1e4);
  assert.equal(of("exaone4", "full_attention", { sliding_window: null })().rope_theta, 1e4);
});
