// Errors in a config.json, one at a time.
import assert from "node:assert/strict";
import test from "node:test";
import { ropeConfig, RopewalkError } from "ropewalk";

const base = { model_type: "llama", hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 32768 };
const YARN = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 8192 };

// error, keys that cause it, code, field
const CASES = [
  ["no model_type", { model_type: undefined }, "UNKNOWN_FAMILY", "model_type"],
  ["an unknown family", { model_type: "llama9" }, "UNKNOWN_FAMILY", "model_type"],
  ["a family that rotates values too", { model_type: "clvp_encoder" }, "UNSUPPORTED_ROPE_TYPE", "model_type"],
  ["a family that needs a switch", { model_type: "zamba2", use_mem_rope: false }, "INVALID_CONFIG", "use_mem_rope"],
  ["the same, absent", { model_type: "zamba2" }, "INVALID_CONFIG", "use_mem_rope"],
  ["a family without RoPE", { model_type: "gpt2" }, "INVALID_CONFIG", "model_type"],
  ["ALiBi", { model_type: "falcon", alibi: true }, "INVALID_CONFIG", "alibi"],
  [
    "no position embedding",
    { model_type: "granitemoehybrid", position_embedding_type: "nope" },
    "INVALID_CONFIG",
    "position_embedding_type",
  ],
  ["a model_type that is not a string", { model_type: 7 }, "INVALID_CONFIG", "model_type"],
  ["an unknown key", { rope_scaling: { ...YARN, beta: 1 } }, "UNKNOWN_KEY", "rope_scaling.beta"],
  [
    "an unknown key in rope_parameters",
    { rope_parameters: { ...YARN, beta: 1 } },
    "UNKNOWN_KEY",
    "rope_parameters.beta",
  ],
  ["an unknown key that is null", { rope_scaling: { ...YARN, beta: null } }, "UNKNOWN_KEY", "rope_scaling.beta"],
  [
    "an unknown key that holds an object",
    { rope_scaling: { ...YARN, extra: {} } },
    "UNKNOWN_KEY",
    "rope_scaling.extra",
  ],
  ["nothing to rotate", { model_type: "phi", partial_rotary_factor: 0 }, "INVALID_CONFIG", "partial_rotary_factor"],
  [
    "a key of another type",
    { rope_scaling: { type: "linear", factor: 2, beta_fast: 32 } },
    "UNKNOWN_KEY",
    "rope_scaling.beta_fast",
  ],
  ["a factor without a type", { rope_scaling: { factor: 2 } }, "UNKNOWN_KEY", "rope_scaling.factor"],
  [
    "longrope's list in yarn",
    { rope_scaling: { ...YARN, short_factor: [1] } },
    "UNKNOWN_KEY",
    "rope_scaling.short_factor",
  ],
  ["an unknown type", { rope_scaling: { rope_type: "longlora" } }, "UNSUPPORTED_ROPE_TYPE", "rope_scaling.rope_type"],
  [
    "an unknown type under its older name",
    { rope_scaling: { type: "longlora" } },
    "UNSUPPORTED_ROPE_TYPE",
    "rope_scaling.type",
  ],
  [
    "a type that is not a string",
    { rope_scaling: { rope_type: 3 } },
    "UNSUPPORTED_ROPE_TYPE",
    "rope_scaling.rope_type",
  ],
  ["two types that disagree", { rope_scaling: { ...YARN, type: "linear" } }, "INVALID_CONFIG", "rope_scaling.type"],
  ["a scaling that is not an object", { rope_scaling: "yarn" }, "INVALID_CONFIG", "rope_scaling"],
  [
    "a factor that is not a number",
    { rope_scaling: { ...YARN, factor: "4" } },
    "INVALID_CONFIG",
    "rope_scaling.factor",
  ],
  [
    "a factor that is not finite",
    { rope_scaling: { ...YARN, factor: Infinity } },
    "INVALID_CONFIG",
    "rope_scaling.factor",
  ],
  [
    "a length that is not an integer",
    { rope_scaling: { ...YARN, original_max_position_embeddings: 8192.5 } },
    "INVALID_CONFIG",
    "rope_scaling.original_max_position_embeddings",
  ],
  [
    "a truncate that is not a boolean",
    { rope_scaling: { ...YARN, truncate: 0 } },
    "INVALID_CONFIG",
    "rope_scaling.truncate",
  ],
  [
    "a list that is not an array",
    { rope_scaling: { rope_type: "longrope", short_factor: 1 } },
    "INVALID_CONFIG",
    "rope_scaling.short_factor",
  ],
  [
    "a list with an entry that is not a number",
    { rope_scaling: { rope_type: "longrope", short_factor: [1, null] } },
    "INVALID_CONFIG",
    "rope_scaling.short_factor[1]",
  ],
  [
    "sections that are not integers",
    { rope_scaling: { type: "mrope", mrope_section: [16, 24.5] } },
    "INVALID_CONFIG",
    "rope_scaling.mrope_section[1]",
  ],
  [
    "an unknown layout",
    { rope_scaling: { type: "mrope", mrope_section: [32, 32], mrope_layout: "striped" } },
    "INVALID_CONFIG",
    "rope_scaling.mrope_layout",
  ],
  [
    "a flag that contradicts the family's layout",
    { model_type: "qwen2_vl", rope_scaling: { type: "mrope", mrope_section: [16, 24, 24], mrope_interleaved: true } },
    "INVALID_CONFIG",
    "rope_scaling.mrope_interleaved",
  ],
  [
    "rope_scaling and rope_parameters that disagree",
    { rope_scaling: YARN, rope_parameters: { ...YARN, factor: 8 } },
    "INVALID_CONFIG",
    "rope_parameters.factor",
  ],
  ["a base that is not a number", { rope_theta: "10000" }, "INVALID_CONFIG", "rope_theta"],
  [
    "two names of the base that disagree",
    { model_type: "gpt_neox", rope_theta: 1e4, rotary_emb_base: 1e5 },
    "INVALID_CONFIG",
    "rope_theta",
  ],
  [
    "a rotary_dim that contradicts partial_rotary_factor",
    { model_type: "minimax_m2", rotary_dim: 64, partial_rotary_factor: 0.25 },
    "INVALID_CONFIG",
    "rotary_dim",
  ],
  ["no head_dim", { hidden_size: undefined }, "INVALID_CONFIG", "head_dim"],
  ["a head_dim that is not an integer", { head_dim: 64.5 }, "INVALID_CONFIG", "head_dim"],
  [
    "a query temperature without a length",
    { max_position_embeddings: undefined, rope_scaling: { rope_type: "default", llama_4_scaling_beta: 0.1 } },
    "INVALID_CONFIG",
    "original_max_position_embeddings",
  ],
  [
    "a scaling that applies to none of the layer types",
    { model_type: "gemma4_text", rope_scaling: { type: "linear", factor: 2 } },
    "INVALID_CONFIG",
    "rope_scaling",
  ],
];

for (const [title, keys, code, field] of CASES) {
  test(title, () => {
    assert.throws(
      () => ropeConfig({ ...base, ...keys }),
      (error) => {
        assert.ok(error instanceof RopewalkError);
        assert.deepEqual([error.code, error.field], [code, field]);
        return true;
      },
    );
  });
}

const rejects = (config, options, code, field, message) =>
  assert.throws(() => ropeConfig(config, options), { code, field, message });

test("an unknown key or family names the nearest one", () => {
  const overrides = (keys) => ({ overrides: keys });
  rejects(base, overrides({ rope_teta: 1e6 }), "UNKNOWN_KEY", "overrides.rope_teta", /did you mean rope_theta\?$/);
  rejects(base, overrides({ paring: "half" }), "UNKNOWN_KEY", "overrides.paring", /did you mean pairing\?$/);
  const [faktor, replce] = [{ faktor: 4 }, { replce: true }];
  rejects(base, overrides({ rope_scaling: faktor }), "UNKNOWN_KEY", "overrides.rope_scaling.faktor", /mean factor\?$/);
  rejects(base, overrides({ rope_scaling: replce }), "UNKNOWN_KEY", "overrides.rope_scaling.replce", /mean replace\?$/);
  const scaled = { ...base, rope_scaling: { rope_type: "yarn", faktor: 4 } };
  rejects(scaled, undefined, "UNKNOWN_KEY", "rope_scaling.faktor", /did you mean factor\?$/);
  for (const [model_type, near] of [
    ["Llama", "llama"],
    ["lama", "llama"],
    ["Qwen2MoE", "qwen2_moe"],
  ]) {
    const message = new RegExp(`"${model_type}" is not a known family \\(did you mean "${near}"\\?\\), so `);
    rejects({ ...base, model_type }, undefined, "UNKNOWN_FAMILY", "model_type", message);
  }
  // Another version may have another RoPE.
  rejects({ ...base, model_type: "llama9" }, undefined, "UNKNOWN_FAMILY", "model_type", /known family, so the pairing/);
});

test("tensors of a GGUF file under another name", () => {
  const metadata = { "general.architecture": "llama", "llama.attention.key_length": 4, "llama.context_length": 64 };
  for (const name of ["tensor", "Tensors", "tensros"]) {
    const source = { metadata, [name]: { "rope_freqs.weight": [1, 8] } };
    rejects(source, undefined, "UNKNOWN_KEY", name, /did you mean tensors\?$/);
    assert.equal(ropeConfig({ ...source, tensors: { "rope_freqs.weight": [1, 8] } }).freq_factors.length, 2);
  }
  const more = { tensorInfos: [], tensorDataOffset: 0n, parameterCount: 1, littleEndian: true, typedMetadata: {} };
  assert.equal(ropeConfig({ metadata, ...more }).head_dim, 4);
});

test("image encoders aren't said to rotate", () => {
  for (const model_type of ["clip_vision_model", "siglip_vision_model", "unheard_of_vision"]) {
    const message = /it encodes images; its positions, if it rotates at all, are those of patches/;
    rejects({ ...base, model_type }, undefined, "UNSUPPORTED_ROPE_TYPE", "model_type", message);
  }
});

test("a family of image and language models without the config of its language model", () => {
  for (const model_type of ["llava", "paligemma", "internvl", "mistral3"]) {
    const message = /has its RoPE in text_config, which is missing; pass the whole config\.json/;
    rejects({ ...base, model_type }, undefined, "UNKNOWN_FAMILY", "model_type", message);
    assert.equal(ropeConfig({ model_type, text_config: base }).head_dim, 128);
    assert.equal(ropeConfig({ ...base, model_type }, { overrides: { pairing: "half" } }).head_dim, 128);
  }
  const { model_type: _, ...text_config } = base;
  rejects({ model_type: "llava", text_config }, undefined, "UNKNOWN_FAMILY", "model_type", /"llava" is not a known/);
});

test("no width, and a function of a length that isn't given", () => {
  const empty = /leaves no element to rotate/;
  rejects({ ...base, head_dim: 0 }, undefined, "INVALID_CONFIG", "head_dim", empty);
  rejects({ ...base, model_type: "gptj", rotary_dim: 0 }, undefined, "INVALID_CONFIG", "rotary_dim", empty);
  const custom = (inv_freq, more) => ({ overrides: { rope_scaling: { rope_type: "custom", inv_freq, ...more } } });
  const ofLength = (pair, { length }) => 1 / (pair + length);
  const field = "rope_scaling.inv_freq(0)";
  rejects(
    base,
    custom(ofLength),
    "INVALID_CONFIG",
    field,
    /got NaN\): length is undefined without rope_scaling\.lengths/,
  );
  rejects(
    base,
    custom(() => NaN, { lengths: [64] }),
    "INVALID_CONFIG",
    field,
    /got NaN\)$/,
  );
  assert.equal(ropeConfig(base, custom(ofLength, { lengths: [64] })).rope_scaling.inv_freq.length, 64);
});

test("paths include the names of nested configs", () => {
  const text_config = { ...base, rope_scaling: { ...YARN, beta: 1 } };
  assert.throws(() => ropeConfig({ model_type: "outer", text_config }), {
    code: "UNKNOWN_KEY",
    field: "text_config.rope_scaling.beta",
  });
  const rope_parameters = { full_attention: { ...YARN, beta: 1 } };
  assert.throws(() => ropeConfig({ ...base, rope_parameters }), {
    code: "UNKNOWN_KEY",
    field: "rope_parameters.full_attention.beta",
  });
});

test("an unknown family works if the caller names the pairing", () => {
  const config = { ...base, model_type: "llama9", rope_scaling: YARN };
  assert.throws(() => ropeConfig(config), /overrides: \{ pairing:/);
  const rope = ropeConfig(config, { overrides: { pairing: "interleaved" } });
  assert.deepEqual([rope.pairing, rope.head_dim, rope.rope_scaling], ["interleaved", 128, YARN]);
  const mla = ropeConfig(
    { ...config, qk_rope_head_dim: 64, qk_nope_head_dim: 128 },
    { overrides: { pairing: "half" } },
  );
  assert.deepEqual([mla.head_dim, mla.rotary_dim], [64, 64]);
});

test("keys that have nothing to do with RoPE are not checked", () => {
  assert.equal(ropeConfig({ ...base, vocab_size: "many", rope: {} }).rope_theta, 1e4);
});

test("wrong arguments", () => {
  assert.throws(() => ropeConfig(null), { code: "INVALID_ARGUMENT", field: "source" });
  assert.throws(() => ropeConfig([base]), { code: "INVALID_ARGUMENT", field: "source" });
  assert.throws(() => ropeConfig(base, { layerType: "full_attention" }), {
    code: "UNKNOWN_KEY",
    field: "layerType",
  });
  assert.throws(() => ropeConfig(base, { layer_type: 1 }), { code: "INVALID_CONFIG", field: "layer_type" });
});
