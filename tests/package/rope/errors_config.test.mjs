// Invalid configs for rw.rope(): each throws its code and the path of its field, and leaks nothing.
import assert from "node:assert/strict";
import test from "node:test";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const plain = { head_dim: 64, pairing: "half" };
const ones = (count, value = 1) => new Array(count).fill(value);
const yarn = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 4096 };
const longrope = {
  rope_type: "longrope",
  factor: 4,
  original_max_position_embeddings: 4096,
  short_factor: ones(32),
  long_factor: ones(32, 8),
};
const llama3 = {
  rope_type: "llama3",
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};
const custom = { rope_type: "custom", inv_freq: ones(32, 0.5) };
const dynamic = { rope_type: "dynamic", factor: 2 };

test("the unchanged configs are valid", () => {
  for (const rope_scaling of [yarn, longrope, llama3, custom]) rw.rope({ ...plain, rope_scaling }).dispose();
  rw.rope({ ...plain, max_position_embeddings: 4096, rope_scaling: dynamic }).dispose();
});

const inScaling = (scaling, change) => ({ rope_scaling: { ...scaling, ...change } });
const cases = [
  // title, keys, code, field
  ["no head_dim", { head_dim: undefined }, "INVALID_CONFIG", "head_dim"],
  ["a head_dim of 1", { head_dim: 1 }, "INVALID_CONFIG", "head_dim"],
  ["a head_dim of 10000", { head_dim: 10000 }, "INVALID_CONFIG", "head_dim"],
  ["a head_dim that is NaN", { head_dim: NaN }, "INVALID_CONFIG", "head_dim"],
  ["a head_dim that is a fraction", { head_dim: 64.5 }, "INVALID_CONFIG", "head_dim"],
  ["a head_dim that is a string", { head_dim: "64" }, "INVALID_CONFIG", "head_dim"],
  ["no pairing", { pairing: undefined }, "INVALID_CONFIG", "pairing"],
  ["an unknown pairing", { pairing: "neox" }, "INVALID_CONFIG", "pairing"],
  ["an odd rotary_dim", { rotary_dim: 7 }, "INVALID_CONFIG", "rotary_dim"],
  ["a rotary_dim above head_dim", { rotary_dim: 66 }, "INVALID_CONFIG", "rotary_dim"],
  ["an odd head_dim without rotary_dim", { head_dim: 63 }, "INVALID_CONFIG", "rotary_dim"],
  ["a span that ends outside the head", { rotary_dim: 32, rotary_offset: 33 }, "INVALID_CONFIG", "rotary_offset"],
  ["a negative offset", { rotary_dim: 32, rotary_offset: -2 }, "INVALID_CONFIG", "rotary_offset"],
  ["a base of 1", { rope_theta: 1 }, "INVALID_CONFIG", "rope_theta"],
  ["a negative base", { rope_theta: -10000 }, "INVALID_CONFIG", "rope_theta"],
  ["a base that is NaN", { rope_theta: NaN }, "INVALID_CONFIG", "rope_theta"],
  ["a base that is infinite", { rope_theta: Infinity }, "INVALID_CONFIG", "rope_theta"],
  ["a base that is a string", { rope_theta: "10000" }, "INVALID_CONFIG", "rope_theta"],
  ["an unknown key", { theta: 10000 }, "UNKNOWN_KEY", "theta"],
  ["an unknown key in the scaling", inScaling(yarn, { beta: 1 }), "UNKNOWN_KEY", "rope_scaling.beta"],
  [
    "an unknown key in rope_parameters",
    { rope_parameters: { ...yarn, beta: 1 } },
    "UNKNOWN_KEY",
    "rope_parameters.beta",
  ],
  ["a key of another type", inScaling(yarn, { alpha: 2 }), "UNKNOWN_KEY", "rope_scaling.alpha"],
  ["an unknown type", inScaling(yarn, { rope_type: "longlora" }), "UNSUPPORTED_ROPE_TYPE", "rope_scaling.rope_type"],
  ["an unknown compat", { compat: "ollama" }, "INVALID_CONFIG", "compat"],
  ["an unknown precision", { precision: "f16" }, "INVALID_CONFIG", "precision"],
  ["no factor", { rope_scaling: { rope_type: "linear" } }, "INVALID_CONFIG", "rope_scaling.factor"],
  ["a factor below 1", inScaling(yarn, { factor: 0.5 }), "INVALID_CONFIG", "rope_scaling.factor"],
  ["a factor that is NaN", inScaling(yarn, { factor: NaN }), "INVALID_CONFIG", "rope_scaling.factor"],
  ["a factor that is infinite", inScaling(yarn, { factor: Infinity }), "INVALID_CONFIG", "rope_scaling.factor"],
  ["dynamic without the trained length", { rope_scaling: dynamic }, "INVALID_CONFIG", "max_position_embeddings"],
  [
    "NTK of a single pair",
    { rotary_dim: 2, rope_scaling: { rope_type: "ntk", factor: 2 } },
    "INVALID_CONFIG",
    "rotary_dim",
  ],
  [
    "YaRN without the original length",
    { rope_scaling: { rope_type: "yarn", factor: 4 } },
    "INVALID_CONFIG",
    "rope_scaling.original_max_position_embeddings",
  ],
  [
    "YaRN with an original length of 0",
    inScaling(yarn, { original_max_position_embeddings: 0 }),
    "INVALID_CONFIG",
    "rope_scaling.original_max_position_embeddings",
  ],
  [
    "YaRN with betas in the wrong order",
    inScaling(yarn, { beta_fast: 1, beta_slow: 32 }),
    "INVALID_CONFIG",
    "rope_scaling.beta_fast",
  ],
  ["YaRN with a beta that is NaN", inScaling(yarn, { beta_slow: NaN }), "INVALID_CONFIG", "rope_scaling.beta_slow"],
  ["YaRN with a negative beta", inScaling(yarn, { beta_slow: -1 }), "INVALID_CONFIG", "rope_scaling.beta_fast"],
  [
    "YaRN with an attention factor of 0",
    inScaling(yarn, { attention_factor: 0 }),
    "INVALID_CONFIG",
    "rope_scaling.attention_factor",
  ],
  ["YaRN with a negative mscale", inScaling(yarn, { mscale: -1 }), "INVALID_CONFIG", "rope_scaling.mscale"],
  [
    "YaRN with an extrapolation factor above 1",
    inScaling(yarn, { extrapolation_factor: 1.5 }),
    "INVALID_CONFIG",
    "rope_scaling.extrapolation_factor",
  ],
  ["YaRN with an unknown ramp", inScaling(yarn, { ramp: "cosine" }), "INVALID_CONFIG", "rope_scaling.ramp"],
  [
    "longrope with a short list",
    inScaling(longrope, { short_factor: ones(31) }),
    "INVALID_CONFIG",
    "rope_scaling.short_factor",
  ],
  [
    "longrope with a long list of zeros",
    inScaling(longrope, { long_factor: ones(32, 0) }),
    "INVALID_CONFIG",
    "rope_scaling.long_factor",
  ],
  [
    "longrope with a NaN in a list",
    inScaling(longrope, { long_factor: [...ones(31), NaN] }),
    "INVALID_CONFIG",
    "rope_scaling.long_factor[31]",
  ],
  [
    "longrope without its lists",
    { rope_scaling: { rope_type: "longrope", factor: 4, original_max_position_embeddings: 4096 } },
    "INVALID_CONFIG",
    "rope_scaling.short_factor",
  ],
  [
    "llama3 without a low factor",
    inScaling(llama3, { low_freq_factor: undefined }),
    "INVALID_CONFIG",
    "rope_scaling.low_freq_factor",
  ],
  [
    "llama3 with its factors in the wrong order",
    inScaling(llama3, { low_freq_factor: 5 }),
    "INVALID_CONFIG",
    "rope_scaling.high_freq_factor",
  ],
  ["ntk_alpha without alpha", { rope_scaling: { rope_type: "ntk_alpha" } }, "INVALID_CONFIG", "rope_scaling.alpha"],
  [
    "ntk_mix without its exponent",
    { rope_scaling: { rope_type: "ntk_mix", factor: 4 } },
    "INVALID_CONFIG",
    "rope_scaling.mixed_b",
  ],
  [
    "custom with too few frequencies",
    inScaling(custom, { inv_freq: ones(31) }),
    "INVALID_CONFIG",
    "rope_scaling.inv_freq",
  ],
  [
    "custom with a NaN",
    inScaling(custom, { inv_freq: [NaN, ...ones(31)] }),
    "INVALID_CONFIG",
    "rope_scaling.inv_freq[0]",
  ],
  [
    "sections whose sum isn't the number of pairs",
    { rope_scaling: { rope_type: "default", mrope_section: [8, 12, 11] } },
    "INVALID_CONFIG",
    "rope_scaling.mrope_section",
  ],
  [
    "five sections",
    { rope_scaling: { rope_type: "default", mrope_section: [8, 8, 8, 4, 4] } },
    "INVALID_CONFIG",
    "rope_scaling.mrope_section",
  ],
  ["freq_factors of another length", { freq_factors: ones(31) }, "INVALID_CONFIG", "freq_factors"],
  ["a freq_factor of 0", { freq_factors: ones(32, 0) }, "INVALID_CONFIG", "freq_factors"],
  ["xPos with a scale base of 0", { xpos: { scale_base: 0 } }, "INVALID_CONFIG", "xpos.scale_base"],
  [
    "a query temperature with a floor of 0",
    { query_temperature: { scale: 0.1, floor_scale: 0, offset: 0 } },
    "INVALID_CONFIG",
    "query_temperature",
  ],
  ["a softmax scale of 0", { softmax_scale: 0 }, "INVALID_CONFIG", "softmax_scale"],
];

for (const [title, keys, code, field] of cases) {
  test(title, () => {
    const config = { ...plain, ...keys };
    const copy = structuredClone(config);
    raises(() => rw.rope(config), code, field);
    raises(() => rw.describe(config), code, field);
    assert.deepEqual(config, copy, "the given config is unchanged");
    withRope(rw.rope(plain), (rope) => assert.equal(rope.plan().inv_freq[0], 1));
  });
}

test("arguments that aren't configs", () => {
  for (const none of [null, undefined, "llama", 64, [plain]]) raises(() => rw.rope(none), "INVALID_CONFIG", "");
});
