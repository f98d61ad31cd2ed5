// Keys of RoPE that a class of transformers reads in its own way, or not at all. Values: transformers 5.24.
import assert from "node:assert/strict";
import test from "node:test";
import { ropeConfig, RopewalkError } from "ropewalk";

const base = { hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 8192 };
const read = (model_type, more, options) => ropeConfig({ model_type, ...base, ...more }, options);
const fails = (code, field, call) =>
  assert.throws(call, (error) => error instanceof RopewalkError && error.code === code && error.field === field);
const kind = (layer_type) => ({ layer_type });

test("a class with a base of its own keeps it beside a rope_theta, and takes that with a scaling", () => {
  const linear = { rope_scaling: { rope_type: "linear", factor: 2 } };
  for (const [model_type, theta] of [
    ["cosmos3_edge_text", 1e8],
    ["muse_spark_text", 5e5],
    ["moonshine_streaming", 1e4],
    ["nemotron3_5_transcribe_asr_audio", 1e4],
  ]) {
    assert.equal(read(model_type, { rope_theta: 31415.9 }).rope_theta, theta);
    assert.equal(read(model_type, { rope_theta: 31415.9, ...linear }).rope_theta, 31415.9);
  }
  const nested = (text) => ropeConfig({ model_type: "glmasr", text_config: { model_type: "llama", ...text } });
  assert.deepEqual([nested({ rope_theta: 8e7 }).rope_theta, nested({}).head_dim], [1e4, 128]);
});

test("keys that the class doesn't read are refused by name, unless they say what it has or are overridden", () => {
  for (const [model_type, more, field] of [
    ["gpt_neox", { rope_theta: 8e7 }, "rope_theta"],
    ["gpt_neox", { rope_theta: 8e7, rope_scaling: { type: "linear", factor: 2 } }, "rope_theta"],
    ["beam", { rope_theta: 31415.9 }, "rope_theta"],
    ["gemma4_text", { rope_scaling: { full_attention: { rope_type: "linear", factor: 2 } } }, "rope_scaling"],
    ["gemma3_text", { rope_scaling: { full_attention: { rope_type: "linear", factor: 2 } } }, "rope_scaling"],
    ["cohere2_moe", { rope_scaling: { rope_type: "linear", factor: 2 } }, "rope_scaling"],
    ["mimo_v2_flash", { rope_theta: 31415.9 }, "rope_theta"],
    ["mimo_v2_flash", { partial_rotary_factor: 0.4 }, "partial_rotary_factor"],
    ["laguna", { rope_scaling: { rope_type: "linear", factor: 2 } }, "rope_scaling"],
    ["step3p5", { partial_rotary_factor: 0.5 }, "partial_rotary_factor"],
  ]) {
    fails("INVALID_CONFIG", field, () =>
      read(model_type, more, kind(model_type === "beam" ? undefined : "full_attention")),
    );
  }
  const mimo = { rope_theta: 5e6, swa_rope_theta: 1e4, partial_rotary_factor: 0.334 };
  assert.equal(read("mimo_v2_flash", mimo, kind("sliding_attention")).rope_theta, 1e4);
  assert.equal(read("gpt_neox", { rope_theta: 5e4, rotary_emb_base: 5e4 }).rope_theta, 5e4);
  assert.equal(read("gpt_neox", { rope_theta: 8e7, rope_parameters: { rope_theta: 1e6 } }).rope_theta, 1e6);
  assert.equal(read("gpt_neox", { rope_theta: 8e7 }, { overrides: { rope_theta: 5e5 } }).rope_theta, 5e5);
});

test("DeepSeek's attention rotates qk_rope_head_dim: another head_dim is refused where the class takes it", () => {
  const mla = { qk_nope_head_dim: 128, qk_rope_head_dim: 64 };
  for (const model_type of ["deepseek_v3", "glm4_moe_lite", "longcat_flash", "youtu", "axk1", "mistral4"]) {
    fails("INVALID_CONFIG", "head_dim", () => read(model_type, { ...mla, head_dim: 40 }));
    assert.equal(read(model_type, { ...mla, head_dim: model_type === "mistral4" ? 192 : 64 }).head_dim, 64);
  }
  for (const model_type of ["deepseek_v2", "glm_moe_dsa", "minicpm3"])
    assert.equal(read(model_type, { ...mla, head_dim: 40 }).head_dim, 64);
  fails("INVALID_CONFIG", "partial_rotary_factor", () => read("glm4_moe_lite", { ...mla, partial_rotary_factor: 0.5 }));
});

test("Step-3.5's softmax scale is of query_pre_attn_scalar", () => {
  const step = (more) => read("step3p5", { head_dim: 64, ...more }, kind("full_attention")).softmax_scale;
  assert.equal(step({ query_pre_attn_scalar: 128 }), 128 ** -0.5);
  assert.equal(step({}), undefined);
});

test("DeepSeek-V4: the base and share of flat rope_parameters aren't those of the compressed layers", () => {
  const flat = { rope_parameters: { rope_type: "linear", factor: 2, rope_theta: 5e5, partial_rotary_factor: 0.5 } };
  const { rope_theta, rotary_dim, rope_scaling } = read("deepseek_v4", flat, kind("compress"));
  assert.deepEqual([rope_theta, rotary_dim, rope_scaling.factor], [160000, 64, 2]);
  // The share of a kind wins over qk_rope_head_dim.
  const main = { rope_type: "default", rope_theta: 1e4, partial_rotary_factor: 0.25 };
  const nested = { qk_rope_head_dim: 64, rope_parameters: { main, compress: main } };
  assert.equal(read("deepseek_v4", nested, kind("main")).rotary_dim, 128);
  const yarn = { rope_type: "yarn", rope_theta: 1e4, factor: 16, original_max_position_embeddings: 1000 };
  const attention = (rope_parameters) =>
    read("deepseek_v4", { rope_parameters }, kind("compress")).rope_scaling.attention_factor;
  assert.equal(attention({ main, compress: { ...yarn, partial_rotary_factor: 0.125 } }), undefined);
  assert.equal(attention(yarn), 1);
  for (const [compress, missing] of [
    [{ rope_type: "default" }, "rope_theta"],
    [{ rope_type: "default", rope_theta: 1e4 }, "partial_rotary_factor"],
  ]) {
    const field = `rope_parameters.compress.${missing}`;
    fails("INVALID_CONFIG", field, () =>
      read("deepseek_v4", { rope_parameters: { main, compress } }, kind("compress")),
    );
  }
});

test("Dots 3: flat rope_parameters are those of all kinds, with one base", () => {
  const dots = (more, layer_type) =>
    read("dots3_note_text", { head_dim: 256, qk_nope_head_dim: 192, qk_rope_head_dim: 64, ...more }, kind(layer_type));
  assert.equal(dots({}, "sliding_attention").rope_theta, 50000);
  const flat = { rope_theta: 1e6, rope_parameters: { rope_type: "linear", factor: 4 } };
  for (const layer_type of ["indexed_attention", "sliding_attention"]) {
    const { rope_theta, rope_scaling } = dots(flat, layer_type);
    assert.deepEqual([rope_theta, rope_scaling.factor], [1e6, 4]);
  }
});

test("NeoMME: rope_theta is the base of both kinds, and a kind keeps its share", () => {
  assert.equal(read("neomme", { rope_theta: 31415.9 }, kind("sliding_attention")).rope_theta, 31415.9);
  const full_attention = { rope_type: "linear", rope_theta: 8e7, factor: 2 };
  assert.equal(read("neomme", { rope_parameters: { full_attention } }, kind("full_attention")).rotary_dim, 16);
});

test("Molmo 2: a scaling of some layers only is refused by name", () => {
  const molmo = { num_hidden_layers: 4, rope_scaling: { rope_type: "linear", factor: 2 } };
  const some = { ...molmo, rope_scaling_layers: [1, 3] };
  fails("UNSUPPORTED_ROPE_TYPE", "rope_scaling_layers", () => read("molmo2_text", some));
  const overrides = { rope_scaling: { replace: true, rope_type: "default" } };
  assert.equal(read("molmo2_text", some, { overrides }).rope_scaling.rope_type, "default");
  assert.equal(read("molmo2_text", { ...molmo, rope_scaling_layers: [0, 1, 2, 3] }).rope_scaling.factor, 2);
});

test("a proportional share keeps all pairs, so sections for a part of them don't apply", () => {
  const proportional = { rope_parameters: { rope_type: "proportional", partial_rotary_factor: 0.5 } };
  assert.equal(read("glm_image_text", proportional).rope_scaling.mrope_section, undefined);
  assert.deepEqual(read("glm_image_text", { partial_rotary_factor: 0.5 }).rope_scaling.mrope_section, [8, 12, 12]);
});

test("a key without a name is no key of any family", () => {
  for (const model_type of ["llama", "glm4", "bailing_hybrid", "gpt_neox"])
    assert.deepEqual(read(model_type, { "": "text" }), read(model_type, {}), model_type);
  const options = kind("full_attention");
  assert.deepEqual(read("gemma3_text", { "": "text" }, options), read("gemma3_text", {}, options));
});
