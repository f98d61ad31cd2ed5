// Checking and flattening a RopeConfig for wasm: names, types and structure.
import assert from "node:assert/strict";
import test from "node:test";
import { finishedConfig } from "../../../build/package/core/config/finished_config.js";
import { flattenConfig } from "../../../build/package/core/config/flatten.js";
import { overrideRopeConfig, ropeConfig } from "../../../build/package/core/config/rope_config.js";
import { RopewalkError } from "../../../build/package/core/base/errors.js";

const base = { head_dim: 128, pairing: "half" };
const flat = (more) => flattenConfig({ ...base, ...more });

test("defaults", () => {
  assert.deepEqual(flat({}), {
    head_dim: 128,
    rotary_dim: 128,
    rotary_offset: 0,
    frequency_dim: 0,
    pairing: 0,
    rope_type: 0,
    compat: 0,
    precision: 0,
    ramp: 0,
    family: 0,
    rope_theta: 10000,
  });
});

test("every key of dynamic_yarn and of the top level", () => {
  const rope_scaling = {
    rope_type: "dynamic_yarn",
    factor: 4,
    original_max_position_embeddings: 4096,
    attention_factor: 1.1,
    attn_factor: 0.9,
    beta_fast: 16,
    beta_slow: 2,
    mscale: 1,
    mscale_all_dim: 0.7,
    truncate: false,
    ramp: "rotations",
    extrapolation_factor: 0.5,
    finetuned: true,
    mrope_section: [32, 16],
    mrope_layout: "vision",
  };
  assert.deepEqual(
    flat({
      model_type: "deepseek_v3",
      pairing: "interleaved_to_half",
      rope_theta: 5e5,
      rotary_dim: 96,
      rotary_offset: 32,
      max_position_embeddings: 16384,
      context_length: 8192,
      rope_scaling,
      freq_factors: new Float32Array([1, 2]),
      xpos: { scale_base: 512, center: 3 },
      query_temperature: { scale: 0.1, floor_scale: 8192, offset: 1, layers: "no_rope" },
      softmax_scale: 0.25,
      compat: "vllm",
      precision: "hf",
    }),
    {
      head_dim: 128,
      rotary_dim: 96,
      rotary_offset: 32,
      frequency_dim: 0,
      pairing: 2,
      rope_type: 11,
      compat: 2,
      precision: 1,
      ramp: 1,
      family: 1,
      rope_theta: 5e5,
      max_position_embeddings: 16384,
      context_length: 8192,
      factor: 4,
      attention_factor: 1.1,
      attn_factor: 0.9,
      beta_fast: 16,
      beta_slow: 2,
      mscale: 1,
      mscale_all_dim: 0.7,
      truncate: false,
      extrapolation_factor: 0.5,
      finetuned: true,
      original_max_position_embeddings: 4096,
      mrope_section: [32, 16],
      mrope_layout: 3,
      freq_factors: [1, 2],
      softmax_scale: 0.25,
      xpos_scale_base: 512,
      xpos_center: 3,
      query_temperature_scale: 0.1,
      query_temperature_floor_scale: 8192,
      query_temperature_offset: 1,
    },
  );
});

test("the keys of the other types", () => {
  const own = (rope_scaling) => flat({ rope_scaling });
  assert.deepEqual([own({ rope_type: "llama3", low_freq_factor: 1, high_freq_factor: 4 }).high_freq_factor], [4]);
  assert.equal(own({ rope_type: "ntk_mix", factor: 2, mixed_b: 0.6 }).mixed_b, 0.6);
  assert.equal(own({ rope_type: "ntk_alpha", alpha: 1000 }).alpha, 1000);
  assert.deepEqual(own({ rope_type: "custom", inv_freq: [1, 0.1] }).inv_freq, [1, 0.1]);
  const longrope = own({
    rope_type: "longrope",
    short_factor: [1],
    long_factor: [2],
    short_mscale: 1.2,
    long_mscale: 1.3,
  });
  assert.deepEqual(
    [longrope.short_factor, longrope.long_factor, longrope.short_mscale, longrope.long_mscale],
    [[1], [2], 1.2, 1.3],
  );
});

test("YaRN families by model_type or architecture", () => {
  const family = (model_type) => flat({ model_type }).family;
  assert.deepEqual(
    ["llama", "kimi_k2", "deepseek2", "ministral3", "mistral3", "grok", "unheard_of"].map(family),
    [0, 1, 1, 2, 2, 3, 0],
  );
});

test("a pasted rope_scaling or rope_parameters of a released model works", () => {
  assert.equal(flat({ rope_scaling: { type: "su", short_factor: [1], long_factor: [1] } }).rope_type, 4);
  assert.equal(
    flat({ rope_scaling: { type: "yarn", factor: 16, original_max_position_embeddings: 4096, finetuned: true } })
      .finetuned,
    undefined,
  );
  assert.deepEqual(
    flat({ rope_parameters: { rope_type: "default", rope_theta: 5e6, partial_rotary_factor: 0.25 } }).rotary_dim,
    32,
  );
  const ministral = {
    type: "yarn",
    factor: 16,
    original_max_position_embeddings: 16384,
    llama_4_scaling_beta: 0.1,
    max_position_embeddings: 262144,
  };
  assert.equal(flat({ rope_parameters: ministral }).query_temperature_floor_scale, 16384);
});

test("rotary_dim", () => {
  assert.equal(flat({ partial_rotary_factor: 0.334 }).rotary_dim, 42);
  assert.equal(flat({ partial_rotary_factor: 0.5, rotary_dim: 64 }).rotary_dim, 64);
  const proportional = flat({ partial_rotary_factor: 0.25, rope_scaling: { rope_type: "proportional" } });
  assert.deepEqual([proportional.rotary_dim, proportional.partial_rotary_factor], [128, 0.25]);
});

test("with compat llama.cpp longrope accepts attn_factor", () => {
  const rope_scaling = { rope_type: "longrope", short_factor: [1], long_factor: [1], attn_factor: 1.19 };
  assert.equal(flat({ compat: "llama.cpp", rope_scaling }).attention_factor, 1.19);
  assert.throws(() => flat({ rope_scaling }), { code: "UNKNOWN_KEY", field: "rope_scaling.attn_factor" });
});

test("a config from ropeConfig is accepted", () => {
  const config = {
    model_type: "llama4_text",
    hidden_size: 5120,
    num_attention_heads: 40,
    max_position_embeddings: 65536,
    rope_theta: 5e5,
  };
  assert.equal(flattenConfig(ropeConfig(config)).rope_theta, 5e5);
});

test("a config is checked and finished once", () => {
  const rope_scaling = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 8192 };
  const model = { model_type: "llama", hidden_size: 4096, num_attention_heads: 32, rope_scaling };
  for (const config of [ropeConfig(model), overrideRopeConfig(ropeConfig(model), { rope_theta: 1e6 })]) {
    assert.equal(finishedConfig(config), config);
    const copy = structuredClone(config); // as another thread gets it
    assert.notEqual(finishedConfig(copy), copy);
    assert.deepEqual(finishedConfig(copy), config);
    assert.deepEqual(flattenConfig(copy), flattenConfig(config));
  }
});

// error, keys that cause it, code, field
const CASES = [
  ["no head_dim", { head_dim: undefined }, "INVALID_CONFIG", "head_dim"],
  ["no pairing", { pairing: undefined }, "INVALID_CONFIG", "pairing"],
  ["an unknown pairing", { pairing: "neox" }, "INVALID_CONFIG", "pairing"],
  ["an unknown key", { theta: 1e4 }, "UNKNOWN_KEY", "theta"],
  ["a camelCase key", { ropeTheta: 1e4 }, "UNKNOWN_KEY", "ropeTheta"],
  ["an unknown key of the scaling", { rope_scaling: { scale: 2 } }, "UNKNOWN_KEY", "rope_scaling.scale"],
  ["an unknown key of xpos", { xpos: { base: 512 } }, "UNKNOWN_KEY", "xpos.base"],
  [
    "an unknown key of the temperature",
    { query_temperature: { scale: 1, floor_scale: 1, offset: 0, beta: 1 } },
    "UNKNOWN_KEY",
    "query_temperature.beta",
  ],
  [
    "a temperature without its offset",
    { query_temperature: { scale: 1, floor_scale: 1 } },
    "INVALID_CONFIG",
    "query_temperature.offset",
  ],
  [
    "a key of another type",
    { rope_scaling: { rope_type: "linear", factor: 2, truncate: false } },
    "UNKNOWN_KEY",
    "rope_scaling.truncate",
  ],
  [
    "an unknown type",
    { rope_parameters: { rope_type: "magic" } },
    "UNSUPPORTED_ROPE_TYPE",
    "rope_parameters.rope_type",
  ],
  [
    "two scalings that differ",
    { rope_scaling: { rope_type: "linear", factor: 2 }, rope_parameters: { rope_type: "linear", factor: 4 } },
    "INVALID_CONFIG",
    "rope_parameters",
  ],
  [
    "rope_theta in both places, with different values",
    { rope_theta: 1e4, rope_scaling: { rope_theta: 1e5 } },
    "INVALID_CONFIG",
    "rope_scaling.rope_theta",
  ],
  [
    "partial_rotary_factor in both places, with different values",
    { partial_rotary_factor: 1, rope_parameters: { partial_rotary_factor: 0.5 } },
    "INVALID_CONFIG",
    "rope_parameters.partial_rotary_factor",
  ],
  [
    "sections in both places, with different values",
    { mrope_section: [32, 32], rope_scaling: { mrope_section: [16, 48] } },
    "INVALID_CONFIG",
    "rope_scaling.mrope_section",
  ],
  [
    "a flag that contradicts the layout",
    { rope_scaling: { mrope_section: [32, 32], mrope_layout: "chunked", mrope_interleaved: true } },
    "INVALID_CONFIG",
    "rope_scaling.mrope_layout",
  ],
  [
    "a layout without sections",
    { rope_scaling: { mrope_interleaved: true } },
    "INVALID_CONFIG",
    "rope_scaling.mrope_section",
  ],
  [
    "a partial_rotary_factor that contradicts rotary_dim",
    { rotary_dim: 64, partial_rotary_factor: 0.25 },
    "INVALID_CONFIG",
    "rotary_dim",
  ],
  ["nothing to rotate", { partial_rotary_factor: 0 }, "INVALID_CONFIG", "partial_rotary_factor"],
  ["a rotary_dim of 0", { rotary_dim: 0 }, "INVALID_CONFIG", "rotary_dim"],
  [
    "a query temperature without a length",
    { rope_scaling: { llama_4_scaling_beta: 0.1 } },
    "INVALID_CONFIG",
    "original_max_position_embeddings",
  ],
  [
    "two query temperatures that disagree",
    {
      original_max_position_embeddings: 4,
      rope_scaling: { llama_4_scaling_beta: 0.1 },
      query_temperature: { scale: 0.2, floor_scale: 4, offset: 0 },
    },
    "INVALID_CONFIG",
    "rope_scaling.llama_4_scaling_beta",
  ],
  ["a head_dim that is not an integer", { head_dim: 64.5 }, "INVALID_CONFIG", "head_dim"],
  ["a base that is not finite", { rope_theta: NaN }, "INVALID_CONFIG", "rope_theta"],
  ["an unknown compat", { compat: "ollama" }, "INVALID_CONFIG", "compat"],
  ["an unknown precision", { precision: "f16" }, "INVALID_CONFIG", "precision"],
  [
    "an unknown ramp",
    { rope_scaling: { rope_type: "yarn", factor: 2, ramp: "cosine" } },
    "INVALID_CONFIG",
    "rope_scaling.ramp",
  ],
];

for (const [title, keys, code, field] of CASES) {
  test(title, () => {
    assert.throws(
      () => flat(keys),
      (error) => {
        assert.ok(error instanceof RopewalkError);
        assert.deepEqual([error.code, error.field], [code, field]);
        return true;
      },
    );
  });
}

test("no config at all", () => {
  assert.throws(() => flattenConfig(null), { code: "INVALID_CONFIG", field: "" });
});
