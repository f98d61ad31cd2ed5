// Older keys and names that transformers no longer writes but released files still have.
import assert from "node:assert/strict";
import test from "node:test";
import { ropeConfig } from "ropewalk";

const base = { hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 32768 };
const read = (more, options) => ropeConfig({ model_type: "llama", ...base, ...more }, options);
const ones = Array.from({ length: 64 }, () => 1);

test("rope_scaling with a top-level rope_theta is the same as rope_parameters", () => {
  const rope_scaling = { type: "yarn", factor: 4, original_max_position_embeddings: 8192 };
  const old = read({ rope_theta: 1e6, partial_rotary_factor: 0.5, rope_scaling });
  const { type, ...rest } = rope_scaling;
  assert.deepEqual(
    read({ rope_parameters: { rope_type: type, rope_theta: 1e6, partial_rotary_factor: 0.5, ...rest } }),
    old,
  );
  assert.equal(old.rotary_dim, 64);
});

test("keys in rope_parameters win over top-level keys, as in transformers", () => {
  const rope = read({
    model_type: "phi",
    rope_theta: 1e4,
    partial_rotary_factor: 1,
    rope_parameters: { rope_type: "default", rope_theta: 5e5, partial_rotary_factor: 0.25 },
  });
  assert.deepEqual([rope.rope_theta, rope.rotary_dim], [5e5, 32]);
});

test("rope_scaling and rope_parameters are merged if they agree", () => {
  const rope = read({
    rope_scaling: { type: "linear", factor: 2 },
    rope_parameters: { rope_type: "linear", factor: 2, rope_theta: 5e5 },
  });
  assert.deepEqual([rope.rope_theta, rope.rope_scaling], [5e5, { rope_type: "linear", factor: 2 }]);
});

test("a top-level original length wins over the one in the scaling", () => {
  const rope = read({
    original_max_position_embeddings: 2048,
    rope_scaling: { rope_type: "yarn", factor: 16, original_max_position_embeddings: 4096 },
  });
  assert.equal(rope.rope_scaling.original_max_position_embeddings, 2048);
});

test("the original length of llama3, yarn and longrope defaults to max_position_embeddings", () => {
  for (const rope_scaling of [
    { rope_type: "yarn", factor: 2 },
    { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
    { rope_type: "longrope", short_factor: ones, long_factor: ones },
  ]) {
    assert.equal(read({ rope_scaling }).rope_scaling.original_max_position_embeddings, 32768);
  }
  assert.equal(
    "original_max_position_embeddings" in read({ rope_scaling: { type: "linear", factor: 2 } }).rope_scaling,
    false,
  );
});

test("a YaRN factor of null is the ratio of the lengths", () => {
  const rope = read({ rope_scaling: { rope_type: "yarn", factor: null, original_max_position_embeddings: 4096 } });
  assert.equal(rope.rope_scaling.factor, 8);
});

test("0 and null count as absent wherever they do in transformers", () => {
  const rope = read({
    rope_scaling: {
      rope_type: "yarn",
      factor: 2,
      original_max_position_embeddings: 8192,
      beta_fast: 0,
      beta_slow: null,
      mscale: 1,
      mscale_all_dim: 0,
      attention_factor: null,
    },
  });
  assert.deepEqual(rope.rope_scaling, {
    rope_type: "yarn",
    factor: 2,
    mscale: 1,
    original_max_position_embeddings: 8192,
  });
});

test("su is longrope, and so is yarn with longrope's lists", () => {
  for (const type of ["su", "yarn", "longrope"]) {
    const rope = read({
      model_type: "phi3",
      hidden_size: 4096,
      rope_scaling: { type, short_factor: ones, long_factor: ones },
    });
    assert.equal(rope.rope_scaling.rope_type, "longrope");
    assert.equal(rope.rope_scaling.original_max_position_embeddings, 4096); // default of the class
  }
});

test("Phi-3.5-MoE has two attention factors", () => {
  const rope_scaling = {
    type: "longrope",
    short_factor: ones,
    long_factor: ones,
    short_mscale: 1.25,
    long_mscale: 1.5,
    original_max_position_embeddings: 4096,
  };
  const rope = read({ model_type: "phimoe", rope_scaling });
  assert.deepEqual([rope.rope_theta, rope.rope_scaling.short_mscale, rope.rope_scaling.long_mscale], [1e6, 1.25, 1.5]);
});

test("HunYuan's dynamic with alpha is ntk_alpha", () => {
  const rope_scaling = {
    type: "dynamic",
    alpha: 1000,
    factor: 1,
    beta_fast: 32,
    beta_slow: 1,
    mscale: 1,
    mscale_all_dim: 1,
  };
  assert.deepEqual(read({ model_type: "hunyuan_v1_dense", rope_scaling }).rope_scaling, {
    rope_type: "ntk_alpha",
    alpha: 1000,
  });
  const vl = read({
    model_type: "hunyuan_vl_text",
    head_dim: 128,
    rope_scaling: { ...rope_scaling, type: "xdrope", xdrope_section: [16, 16, 16, 16] },
  });
  assert.deepEqual(vl.rope_scaling, {
    rope_type: "ntk_alpha",
    alpha: 1000,
    mrope_section: [16, 16, 16, 16],
    mrope_layout: "chunked",
  });
});

test("Qwen2.5-1M: Dual Chunk Attention, and YaRN's factor by position past its length", () => {
  const dual_chunk_attention_config = {
    chunk_size: 262144,
    local_size: 8192,
    original_max_position_embeddings: 262144,
    sparse_attention_config: [],
  };
  const rope = read({ model_type: "qwen2", dual_chunk_attention_config });
  assert.deepEqual(rope.position_map, { type: "dual_chunk", chunk_size: 262144, local_size: 8192 });
  assert.deepEqual(rope.logn, { length: 262144, scale: 0.1, power: 2 });
  const defaults = read({ model_type: "qwen2", dual_chunk_attention_config: {} });
  assert.deepEqual(defaults.position_map, { type: "dual_chunk", chunk_size: 8192, local_size: 1024 });
  assert.equal(defaults.logn, undefined);
  const overrides = { position_map: null, logn: null };
  const without = read({ model_type: "qwen2", dual_chunk_attention_config }, { overrides });
  assert.deepEqual([without.position_map, without.logn], [undefined, undefined]);
});

test("a position_map in a config.json is read, wins over another system's, and is checked", () => {
  const position_map = { type: "rerope", window: 4096 };
  assert.deepEqual(read({ position_map }).position_map, position_map);
  assert.deepEqual(
    read({ model_type: "qwen2", dual_chunk_attention_config: {}, position_map }).position_map,
    position_map,
  );
  assert.throws(() => read({ position_map: { type: "rerope" } }), {
    code: "INVALID_CONFIG",
    field: "position_map.window",
  });
});

test("Qwen v1: its own keys, and use_dynamic_ntk as dynamic scaling with factor 2", () => {
  const qwen = {
    model_type: "qwen",
    hidden_size: 2048,
    num_attention_heads: 16,
    kv_channels: 128,
    seq_length: 8192,
    rotary_emb_base: 10000,
    use_logn_attn: true,
  };
  assert.deepEqual(ropeConfig({ ...qwen, use_dynamic_ntk: true }), {
    model_type: "qwen",
    head_dim: 128,
    pairing: "half",
    rope_theta: 10000,
    rotary_dim: 128,
    max_position_embeddings: 8192,
    logn: { length: 8192 },
    rope_scaling: { rope_type: "dynamic", factor: 2 },
  });
  assert.equal(ropeConfig({ ...qwen, use_logn_attn: false }).logn, undefined);
  assert.equal(ropeConfig({ ...qwen, use_dynamic_ntk: false }).rope_scaling.rope_type, "default");
});

test("ChatGLM's rope_ratio multiplies the base", () => {
  const rope = ropeConfig({
    model_type: "chatglm",
    hidden_size: 4096,
    num_attention_heads: 32,
    kv_channels: 128,
    seq_length: 1048576,
    rope_ratio: 10000,
  });
  assert.deepEqual(
    [rope.rope_theta, rope.pairing, rope.rotary_dim, rope.max_position_embeddings],
    [1e8, "interleaved", 64, 1048576],
  );
});

test("older names of the base and the rotated share", () => {
  const values = (config) => {
    const { rope_theta, rotary_dim } = ropeConfig({ ...base, ...config });
    return [rope_theta, rotary_dim];
  };
  assert.deepEqual(values({ model_type: "gpt_neox", rotary_emb_base: 25000, rotary_pct: 0.5 }), [25000, 64]);
  assert.deepEqual(values({ model_type: "stablelm_epoch", rope_pct: 0.5 }), [1e4, 64]);
  assert.deepEqual(values({ model_type: "nomic_bert", rotary_emb_base: 2000, rotary_emb_fraction: 0.5 }), [2000, 64]);
  assert.deepEqual(values({ model_type: "openelm", head_dim: 64, rope_freq_constant: 20000 }), [20000, 64]);
  assert.deepEqual(values({ model_type: "dbrx", attn_config: { rope_theta: 5e5 } }), [5e5, 128]);
  assert.deepEqual(values({ model_type: "codegen" }), [1e4, 64]);
  assert.deepEqual(values({ model_type: "gptj", rotary_dim: null }), [1e4, 128]);
});

test("Ministral's and Llama 4's query temperature", () => {
  const scaling = {
    type: "yarn",
    factor: 16,
    original_max_position_embeddings: 16384,
    max_position_embeddings: 262144,
    mscale: 1,
    mscale_all_dim: 1,
    llama_4_scaling_beta: 0.1,
  };
  const ministral = read({
    model_type: "ministral3",
    max_position_embeddings: 262144,
    rope_parameters: { ...scaling, rope_theta: 1e6 },
  });
  assert.deepEqual(ministral.query_temperature, { scale: 0.1, floor_scale: 16384, offset: 0, layers: "all" });
  assert.equal("llama_4_scaling_beta" in ministral.rope_scaling, false);
  assert.equal(
    read({ model_type: "ministral3", rope_parameters: { ...scaling, llama_4_scaling_beta: 0 } }).query_temperature,
    undefined,
  );

  const llama4 = (more) => read({ model_type: "llama4_text", ...more }).query_temperature;
  assert.deepEqual(llama4({}), { scale: 0.1, floor_scale: 8192, offset: 1, layers: "no_rope" });
  assert.deepEqual(llama4({ attn_temperature_tuning: 4, attn_scale: 0.2, floor_scale: 4096 }), {
    scale: 0.2,
    floor_scale: 4096,
    offset: 1,
    layers: "no_rope",
  });
  assert.equal(llama4({ attn_temperature_tuning: false }), undefined);
});

test("rope_interleave: false means that DeepSeek's pairing is half", () => {
  const mla = { model_type: "deepseek_v3", qk_nope_head_dim: 128, qk_rope_head_dim: 64 };
  assert.equal(read({ ...mla, rope_interleave: false }).pairing, "half");
  assert.equal(read({ ...mla, rope_interleave: true }).pairing, "interleaved_to_half");
});

test("the class's default scaling if the file has none", () => {
  assert.deepEqual(read({ model_type: "gpt_oss" }).rope_scaling, {
    rope_type: "yarn",
    factor: 32,
    beta_fast: 32,
    beta_slow: 1,
    truncate: false,
    original_max_position_embeddings: 4096,
  });
  assert.equal(read({ model_type: "apertus" }).rope_scaling.rope_type, "llama3");
});

test("multimodal files: the text model is found in nested configs", () => {
  const inner = { model_type: "qwen2", ...base, rope_theta: 1e6 };
  for (const outer of [{ text_config: inner }, { llm_config: inner }, { thinker_config: { text_config: inner } }]) {
    assert.equal(ropeConfig({ model_type: "outer", hidden_size: 1, ...outer }).rope_theta, 1e6);
  }
  // Nested configs only have the keys that differ from the class's defaults (LLaVA 1.5).
  assert.equal(
    ropeConfig({ model_type: "llava", text_config: { model_type: "llama", max_position_embeddings: 4096 } }).head_dim,
    128,
  );
});
