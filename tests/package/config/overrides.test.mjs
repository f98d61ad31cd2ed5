import assert from "node:assert/strict";
import test from "node:test";
import { overrideRopeConfig, ropeConfig, RopewalkError } from "ropewalk";

const base = {
  model_type: "llama",
  hidden_size: 4096,
  num_attention_heads: 32,
  max_position_embeddings: 131072,
  rope_theta: 5e5,
};
const LLAMA3 = {
  rope_type: "llama3",
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};
const YARN = {
  rope_type: "yarn",
  factor: 8,
  attention_factor: 1.2,
  beta_fast: 16,
  original_max_position_embeddings: 8192,
};
const over = (rope_scaling, overrides, options) => ropeConfig({ ...base, rope_scaling }, { overrides, ...options });
const fails = (code, field, call, message = /./) =>
  assert.throws(
    call,
    (error) =>
      error instanceof RopewalkError && error.code === code && error.field === field && message.test(error.message),
  );

test("one key changes, the others keep their values", () => {
  assert.deepEqual(over(LLAMA3, { rope_scaling: { factor: 16 } }).rope_scaling, { ...LLAMA3, factor: 16 });
  assert.deepEqual(over(YARN, { rope_parameters: { factor: 16 } }).rope_scaling, { ...YARN, factor: 16 });
  assert.deepEqual(over(YARN, { rope_scaling: { rope_type: "yarn", beta_slow: 2 } }).rope_scaling, {
    ...YARN,
    beta_slow: 2,
  });
});

test("null removes a key", () => {
  const { attention_factor: _, ...rest } = YARN;
  assert.deepEqual(over(YARN, { rope_scaling: { attention_factor: null } }).rope_scaling, rest);
  assert.deepEqual(over(YARN, { rope_scaling: null }).rope_scaling, { rope_type: "default" });
});

test("a scaling for a model without one starts from its trained length", () => {
  const rope = ropeConfig(
    { ...base, max_position_embeddings: 32768 },
    { overrides: { rope_scaling: { rope_type: "yarn", factor: 4 } } },
  );
  assert.deepEqual(rope.rope_scaling, { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32768 });
});

test("with a larger max_position_embeddings, the file's own is the trained length", () => {
  const llama = { ...base, max_position_embeddings: 4096 };
  const read = (rope_scaling, more) =>
    ropeConfig(llama, { overrides: { max_position_embeddings: 16384, rope_scaling, ...more } }).rope_scaling;
  const trained = { original_max_position_embeddings: 4096 };
  assert.deepEqual(read({ rope_type: "yarn" }), { rope_type: "yarn", factor: 4, ...trained });
  assert.deepEqual(read({ rope_type: "yarn", factor: 8 }), { rope_type: "yarn", factor: 8, ...trained });
  assert.deepEqual(read({ rope_type: "ntk_by_parts" }), { rope_type: "ntk_by_parts", ...trained });
  assert.deepEqual(read({ rope_type: "dynamic_yarn" }), { rope_type: "dynamic_yarn", ...trained });
  const given = { original_max_position_embeddings: 8192 };
  assert.deepEqual(read({ rope_type: "yarn", ...given }), { rope_type: "yarn", factor: 2, ...given });
  assert.deepEqual(read({ rope_type: "yarn" }, given), { rope_type: "yarn", factor: 2, ...given });
  assert.deepEqual(
    overrideRopeConfig(ropeConfig(llama), { max_position_embeddings: 8192, rope_scaling: { rope_type: "yarn" } })
      .rope_scaling,
    { rope_type: "yarn", factor: 2, ...trained },
  );
});

test("a scaling by a factor of 1 that nobody named is refused", () => {
  for (const rope_type of ["yarn", "ntk_by_parts"]) {
    const message = /name it, or max_position_embeddings above the trained length/;
    fails(
      "INVALID_CONFIG",
      "overrides.rope_scaling.factor",
      () => over(null, { rope_scaling: { rope_type } }),
      message,
    );
    fails("INVALID_CONFIG", "overrides.rope_parameters.factor", () => over(null, { rope_parameters: { rope_type } }));
    const original_max_position_embeddings = base.max_position_embeddings;
    fails("INVALID_CONFIG", "overrides.rope_scaling.factor", () =>
      over(null, { rope_scaling: { rope_type, original_max_position_embeddings } }),
    );
    assert.equal(over(null, { rope_scaling: { rope_type, factor: 1 } }).rope_scaling.factor, 1);
  }
  // Its factor is the length of the sequence divided by the trained one.
  assert.equal(over(null, { rope_scaling: { rope_type: "dynamic_yarn" } }).rope_scaling.rope_type, "dynamic_yarn");
});

test("another type is refused if the model would lose something", () => {
  fails(
    "INVALID_CONFIG",
    "overrides.rope_scaling.rope_type",
    () => over(LLAMA3, { rope_scaling: { rope_type: "linear", factor: 4 } }),
    /llama3.*low_freq_factor/,
  );
  fails("INVALID_CONFIG", "overrides.rope_scaling.rope_type", () =>
    over({ type: "dynamic", factor: 2 }, { rope_scaling: { rope_type: "linear", factor: 2 } }),
  );
  fails(
    "INVALID_CONFIG",
    "overrides.rope_scaling.rope_type",
    () => over(YARN, { rope_scaling: { rope_type: "ntk_by_parts" } }),
    /attention_factor/,
  );
  fails("INVALID_CONFIG", "overrides.rope_scaling.rope_type", () =>
    over(LLAMA3, { rope_scaling: { rope_type: "default" } }),
  );
});

test("replace: true allows that, and keeps the trained length", () => {
  assert.deepEqual(over(LLAMA3, { rope_scaling: { rope_type: "linear", factor: 4, replace: true } }).rope_scaling, {
    rope_type: "linear",
    factor: 4,
  });
  assert.deepEqual(over(LLAMA3, { rope_scaling: { type: "yarn", factor: 16, replace: true } }).rope_scaling, {
    rope_type: "yarn",
    factor: 16,
    original_max_position_embeddings: 8192,
  });
});

test("yarn and dynamic_yarn keep each other's keys", () => {
  assert.deepEqual(over(YARN, { rope_scaling: { rope_type: "dynamic_yarn" } }).rope_scaling, {
    ...YARN,
    rope_type: "dynamic_yarn",
  });
});

test("the factor of another type is not kept", () => {
  assert.equal(over(LLAMA3, { rope_scaling: { rope_type: "linear", replace: true } }).rope_scaling.factor, undefined);
});

test("a key that the type doesn't read is an error", () => {
  fails(
    "UNKNOWN_KEY",
    "overrides.rope_scaling.beta_fast",
    () => over(LLAMA3, { rope_scaling: { beta_fast: 32 } }),
    /yarn/,
  );
  fails("UNKNOWN_KEY", "overrides.rope_scaling.factor", () => over(null, { rope_scaling: { factor: 8 } }), /default/);
});

test("sections and base are kept through every change of scaling", () => {
  const vl = {
    model_type: "qwen2_vl",
    hidden_size: 3584,
    num_attention_heads: 28,
    max_position_embeddings: 32768,
    rope_scaling: { type: "mrope", mrope_section: [16, 24, 24] },
  };
  const rope = ropeConfig(vl, { overrides: { rope_scaling: { rope_type: "yarn", factor: 4 } } });
  assert.deepEqual(
    [rope.rope_theta, rope.rope_scaling.mrope_section, rope.rope_scaling.mrope_layout],
    [1e6, [16, 24, 24], "chunked"],
  );
  assert.deepEqual(ropeConfig(vl, { overrides: { rope_scaling: null } }).rope_scaling.mrope_section, [16, 24, 24]);
  assert.deepEqual(ropeConfig(vl, { overrides: { mrope_section: null } }).rope_scaling, { rope_type: "default" });
  assert.equal(ropeConfig(vl, { overrides: { mrope_layout: "interleaved" } }).rope_scaling.mrope_layout, "interleaved");
  assert.equal(
    ropeConfig(vl, { overrides: { rope_scaling: { mrope_interleaved: true } } }).rope_scaling.mrope_layout,
    "interleaved",
  );
});

test("top-level keys", () => {
  const rope = over(null, {
    rope_theta: 1e6,
    compat: "llama.cpp",
    precision: "hf",
    context_length: 8192,
    softmax_scale: 0.5,
    xpos: { scale_base: 512 },
    pairing: "interleaved",
  });
  assert.deepEqual(
    [rope.rope_theta, rope.compat, rope.precision, rope.context_length, rope.softmax_scale, rope.xpos, rope.pairing],
    [1e6, "llama.cpp", "hf", 8192, 0.5, { scale_base: 512 }, "interleaved"],
  );
  assert.equal(over(null, { rope_scaling: { rope_theta: 1e6 } }).rope_theta, 1e6);
  assert.equal(over(null, { rope_theta: null }).rope_theta, 1e4);
});

test("head_dim, rotary_dim and the rotated share", () => {
  const phi = { ...base, model_type: "phi", partial_rotary_factor: 0.5 };
  const widths = (overrides) => {
    const { head_dim, rotary_dim } = ropeConfig(phi, { overrides });
    return [head_dim, rotary_dim];
  };
  assert.deepEqual(widths({ head_dim: 64 }), [64, 32]);
  assert.deepEqual(widths({ rotary_dim: 96 }), [128, 96]);
  assert.deepEqual(widths({ partial_rotary_factor: 0.25 }), [128, 32]);
});

test("a model that rotates the last elements still does with another rotary_dim", () => {
  const v4 = { model_type: "deepseek_v4", hidden_size: 4096, num_attention_heads: 64, max_position_embeddings: 65536 };
  assert.equal(ropeConfig(v4, { layer_type: "main", overrides: { rotary_dim: 128 } }).rotary_offset, 384);
});

test("frequency factors of a GGUF file are a scaling too", () => {
  const metadata = { "general.architecture": "llama", "llama.attention.key_length": 4, "llama.context_length": 131072 };
  const read = (overrides) => ropeConfig({ metadata, tensors: { "rope_freqs.weight": [1, 8] } }, { overrides });
  const scaling = { rope_type: "yarn", factor: 4 };
  fails("INVALID_CONFIG", "overrides.rope_scaling", () => read({ rope_scaling: scaling }), /rope_freqs/);
  assert.equal(read({ rope_scaling: { ...scaling, replace: true } }).freq_factors, undefined);
  assert.deepEqual(read({ rope_scaling: scaling, freq_factors: [1, 8] }).freq_factors, [1, 8]);
  assert.equal(read({ rope_scaling: null }).freq_factors, undefined);
  assert.deepEqual(read({ rope_theta: 1e6 }).freq_factors, [1, 8]);
  assert.equal(read({ freq_factors: null }).freq_factors, undefined);
});

test("proportional's partial_rotary_factor is not kept for other types", () => {
  const gemma = {
    model_type: "gemma4_text",
    hidden_size: 2304,
    num_attention_heads: 8,
    max_position_embeddings: 131072,
  };
  const options = (rope_scaling) => ({ layer_type: "full_attention", overrides: { rope_scaling } });
  fails(
    "INVALID_CONFIG",
    "overrides.rope_scaling.rope_type",
    () => ropeConfig(gemma, options({ rope_type: "linear", factor: 2 })),
    /partial_rotary_factor/,
  );
  const replaced = ropeConfig(gemma, options({ rope_type: "linear", factor: 2, replace: true }));
  assert.deepEqual([replaced.rotary_dim, replaced.partial_rotary_factor], [512, undefined]);
  assert.deepEqual(ropeConfig(gemma, options({ factor: 2 })).rope_scaling, { rope_type: "proportional", factor: 2 });
});

test("overrideRopeConfig follows the same rules", () => {
  const rope = over(YARN, {});
  const longer = overrideRopeConfig(rope, { rope_scaling: { factor: 16 } });
  assert.deepEqual(longer.rope_scaling, { ...YARN, factor: 16 });
  assert.deepEqual(overrideRopeConfig(longer, { rope_scaling: { factor: 8 } }), rope);
  fails("INVALID_CONFIG", "overrides.rope_scaling.rope_type", () =>
    overrideRopeConfig(rope, { rope_scaling: { rope_type: "linear", factor: 2 } }),
  );
  const plain = ropeConfig({ ...base, original_max_position_embeddings: 8192 });
  assert.equal(
    overrideRopeConfig(plain, { rope_scaling: { rope_type: "yarn", factor: 2 } }).rope_scaling
      .original_max_position_embeddings,
    8192,
  );
  const proportional = ropeConfig(
    { model_type: "gemma4_text", hidden_size: 2304, num_attention_heads: 8, max_position_embeddings: 131072 },
    { layer_type: "full_attention" },
  );
  assert.deepEqual(overrideRopeConfig(proportional, {}), proportional);
});

test("errors in the overrides", () => {
  fails("UNKNOWN_KEY", "overrides.theta", () => over(null, { theta: 1e6 }));
  fails("UNKNOWN_KEY", "overrides.rope_scaling.scale", () => over(YARN, { rope_scaling: { scale: 2 } }));
  fails("UNSUPPORTED_ROPE_TYPE", "overrides.rope_scaling.rope_type", () =>
    over(null, { rope_scaling: { rope_type: "axal" } }),
  );
  fails("INVALID_CONFIG", "overrides.pairing", () => over(null, { pairing: "neox" }));
  fails("INVALID_CONFIG", "overrides.rope_theta", () => over(null, { rope_theta: "1e6" }));
  fails("INVALID_CONFIG", "overrides.rope_scaling.rope_theta", () =>
    over(null, { rope_theta: 1e6, rope_scaling: { rope_theta: 1e5 } }),
  );
  fails("INVALID_CONFIG", "overrides.rope_scaling.replace", () => over(null, { rope_scaling: { replace: "yes" } }));
  fails("INVALID_CONFIG", "overrides.rope_parameters", () =>
    over(null, { rope_scaling: { rope_type: "yarn", factor: 2 }, rope_parameters: { rope_type: "linear", factor: 2 } }),
  );
  fails("INVALID_ARGUMENT", "overrides", () => over(null, "yarn"));
});
