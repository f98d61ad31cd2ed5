// Reading GGUF metadata as @huggingface/gguf returns it: 32-bit floats, bigints, keys prefixed with the architecture.
import assert from "node:assert/strict";
import test from "node:test";
import { ropeConfig, RopewalkError } from "ropewalk";

const f32 = Math.fround;
const PLAIN = { rope_type: "default" };

/** Metadata of an architecture, from keys without its prefix. */
function metadata(arch, keys = {}) {
  const shape = { block_count: 32, context_length: 32768, embedding_length: 4096, "attention.head_count": 32 };
  const prefixed = Object.entries({ ...shape, ...keys }).map(([key, value]) => [`${arch}.${key}`, value]);
  return { "general.architecture": arch, "general.name": "test", ...Object.fromEntries(prefixed) };
}

const read = (arch, keys, options) => ropeConfig(metadata(arch, keys), options);
const fails = (code, field, call) =>
  assert.throws(call, (error) => error instanceof RopewalkError && error.code === code && error.field === field);

test("a file without scaling, as metadata and as { metadata }", () => {
  const rope = read("llama", { "rope.freq_base": 500000, "rope.dimension_count": 128 });
  assert.deepEqual(rope, {
    model_type: "llama",
    head_dim: 128,
    pairing: "interleaved",
    rope_theta: 500000,
    rotary_dim: 128,
    max_position_embeddings: 32768,
    rope_scaling: PLAIN,
  });
  assert.deepEqual(
    ropeConfig({ metadata: metadata("llama", { "rope.freq_base": 500000, "rope.dimension_count": 128 }) }),
    rope,
  );
  assert.equal(read("llama").rope_theta, 10000);
});

test("pairing by architecture: llama.cpp permutes the rows of Llama but not of Qwen", () => {
  const pairings = Object.fromEntries(
    [
      "llama",
      "qwen2",
      "qwen3",
      "gemma2",
      "phi3",
      "mistral3",
      "smollm3",
      "granite",
      "command-r",
      "chatglm",
      "gptneox",
      "stablelm",
      "deepseek2",
      "nomic-bert",
      "gpt-oss",
    ].map((arch) => [arch, read(arch, { "rope.dimension_count": 64 }).pairing]),
  );
  assert.deepEqual(pairings, {
    llama: "interleaved",
    qwen2: "half",
    qwen3: "half",
    gemma2: "half",
    phi3: "half",
    mistral3: "interleaved",
    smollm3: "interleaved",
    granite: "interleaved",
    "command-r": "interleaved",
    chatglm: "interleaved",
    gptneox: "half",
    stablelm: "half",
    deepseek2: "interleaved",
    "nomic-bert": "half",
    "gpt-oss": "half",
  });
});

test("head_dim and rotary_dim; bigints and 32-bit floats become the original numbers", () => {
  const rope = read("phi2", {
    "attention.key_length": 80n,
    "rope.dimension_count": 32n,
    "rope.freq_base": f32(11158839.925),
    context_length: 2048n,
  });
  assert.deepEqual(
    [rope.head_dim, rope.rotary_dim, rope.rope_theta, rope.max_position_embeddings],
    [80, 32, 11158840, 2048],
  );
  assert.equal(read("openelm", { embedding_length: 1280, "attention.head_count": [0, 20, 24] }).head_dim, 64);
  assert.equal(read("mistral3", { "attention.temperature_scale": f32(0.1) }).query_temperature.scale, 0.1);
});

test("linear scaling and its older keys", () => {
  const scaling = (keys) => read("llama", keys).rope_scaling;
  assert.deepEqual(scaling({ "rope.scaling.type": "linear", "rope.scaling.factor": 4 }), {
    rope_type: "linear",
    factor: 4,
  });
  assert.deepEqual(scaling({ "rope.scaling.factor": 4 }), { rope_type: "linear", factor: 4 });
  assert.deepEqual(scaling({ "rope.scale_linear": 2 }), { rope_type: "linear", factor: 2 });
  assert.deepEqual(scaling({ "rope.scaling.type": "linear", "rope.scaling.factor": 1 }), PLAIN);
  assert.deepEqual(scaling({ "rope.scaling.factor": 0 }), PLAIN);
  assert.deepEqual(scaling({ "rope.scaling.type": "none", "rope.scaling.factor": 8 }), PLAIN);
});

test("YaRN with every key", () => {
  const rope = read("qwen2", {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4,
    "rope.scaling.original_context_length": 8192,
    "rope.scaling.attn_factor": f32(0.9),
    "rope.scaling.yarn_ext_factor": f32(0.5), // llama.cpp reads it for Grok only
    "rope.scaling.yarn_attn_factor": f32(1.2079441),
    "rope.scaling.yarn_beta_fast": 16,
    "rope.scaling.yarn_beta_slow": 2,
    "rope.scaling.finetuned": true,
  });
  assert.deepEqual(rope.rope_scaling, {
    rope_type: "yarn",
    factor: 4,
    attention_factor: f32(1.2079441) * 0.9, // of all compats but llama.cpp, which reads attn_factor alone
    beta_fast: 16,
    beta_slow: 2,
    attn_factor: 0.9,
    original_max_position_embeddings: 8192,
  });
});

test("YaRN's original length defaults to the context length", () => {
  assert.equal(
    read("qwen2", { "rope.scaling.type": "yarn", "rope.scaling.factor": 4 }).rope_scaling
      .original_max_position_embeddings,
    32768,
  );
});

test("yarn_attn_factor is a multiplier if it is below 1, and always for Grok", () => {
  const yarn = { "rope.scaling.type": "yarn", "rope.scaling.factor": 4 };
  const scaling = read("qwen3", { ...yarn, "rope.scaling.yarn_attn_factor": f32(0.8782488562869419) }).rope_scaling;
  assert.deepEqual([scaling.attn_factor, scaling.attention_factor], [f32(0.8782488562869419), undefined]);
  const grok = read("grok", { ...yarn, "rope.scaling.yarn_attn_factor": 1 }).rope_scaling;
  assert.deepEqual([grok.attn_factor, grok.attention_factor, grok.beta_fast], [undefined, undefined, 8]);
});

test("yarn_log_multiplier is a tenth of mscale_all_dim in files with DeepSeek's attention", () => {
  const yarn = { "rope.scaling.type": "yarn", "rope.scaling.factor": 40, "rope.dimension_count": 64 };
  const scales = (arch, multiplier) => {
    const { mscale, mscale_all_dim } = read(arch, {
      ...yarn,
      "rope.scaling.yarn_log_multiplier": f32(multiplier),
    }).rope_scaling;
    return [mscale, mscale_all_dim];
  };
  assert.deepEqual(scales("deepseek2", 0.0707), [0.707, 0.707]);
  assert.deepEqual(scales("deepseek2", 0.1), [1, 1]);
  assert.deepEqual(scales("mistral4", 0.1), [1, 1]);
  assert.deepEqual(scales("mistral3", 1), [1, 1]);
  assert.deepEqual(scales("mistral3", 0), [undefined, undefined]);
});

test("longrope: the two lists are tensors, its attention factor is attn_factor", () => {
  const short = [1, 1.5];
  const keys = {
    "rope.dimension_count": 4,
    "attention.key_length": 4,
    "rope.scaling.type": "longrope",
    "rope.scaling.original_context_length": 4096,
    "rope.scaling.attn_factor": f32(1.1902380714),
  };
  const tensors = { "rope_factors_long.weight": new Float32Array([2, 4]), "rope_factors_short.weight": short };
  assert.deepEqual(ropeConfig({ metadata: metadata("phi3", keys), tensors }).rope_scaling, {
    rope_type: "longrope",
    long_factor: [2, 4],
    short_factor: [1, 1.5],
    attention_factor: f32(1.1902380714),
    original_max_position_embeddings: 4096,
  });
  const { "rope.scaling.type": _, ...untyped } = keys;
  assert.equal(ropeConfig({ metadata: metadata("phi3", untyped), tensors }).rope_scaling.rope_type, "longrope");
  fails("INVALID_CONFIG", "rope_factors_long.weight", () => read("phi3", keys));
});

test("rope_freqs.weight is cut to the length that ggml reads", () => {
  const freqs = new Float32Array([1, 8, 1e30, 1]);
  const rope = ropeConfig({
    metadata: metadata("llama", { "attention.key_length": 6 }),
    tensors: { "rope_freqs.weight": freqs },
  });
  assert.deepEqual(rope.freq_factors, [1, 8, 1e30]);
});

test("sections have the architecture's layout, without unused axes", () => {
  const sections = (arch, list, keys) => {
    const { pairing, rope_scaling } = read(arch, { "rope.dimension_sections": list, ...keys });
    return [pairing, rope_scaling.mrope_layout, rope_scaling.mrope_section];
  };
  assert.deepEqual(sections("qwen2vl", [16, 24, 24, 0]), ["half", "chunked", [16, 24, 24]]);
  assert.deepEqual(sections("qwen3vl", new Int32Array([24, 20, 20, 0])), ["half", "interleaved", [24, 20, 20]]);
  assert.deepEqual(sections("hunyuan_vl", [16, 16, 16, 16]), ["half", "chunked", [16, 16, 16, 16]]);
  assert.deepEqual(sections("glm4", [8, 12, 12, 0]), ["half", "chunked", [8, 12, 12]]);
  assert.deepEqual(sections("glm4", [0, 0, 0, 0]), ["interleaved", undefined, undefined]);
  assert.deepEqual(sections("deepseek32", [1, 1, 1, 0], { "rope.dimension_count": 64 }), [
    "interleaved",
    undefined,
    undefined,
  ]);
});

test("HunYuan-VL's alpha", () => {
  const rope = read("hunyuan_vl", {
    "rope.scaling.type": "none",
    "rope.scaling.factor": 1,
    "rope.scaling.alpha": 1000,
  });
  assert.deepEqual(rope.rope_scaling, { rope_type: "ntk_alpha", alpha: 1000 });
});

test("DeepSeek's attention: head_dim is the rotated part, the softmax scale is of both parts", () => {
  const mla = read("deepseek2", {
    "rope.dimension_count": 64,
    "attention.key_length": 576,
    "attention.key_length_mla": 192,
  });
  assert.deepEqual([mla.head_dim, mla.rotary_dim, mla.softmax_scale], [64, 64, 1 / Math.sqrt(192)]);
  assert.equal(
    read("deepseek2", { "rope.dimension_count": 64, "attention.key_length": 192 }).softmax_scale,
    1 / Math.sqrt(192),
  );
});

test("softmax scale: from a key, of Gemma 27B and of Gemma 4", () => {
  const key = { "attention.key_length": 128, embedding_length: 4608 };
  assert.equal(read("granite", { "attention.scale": f32(0.0078125) }).softmax_scale, 0.0078125);
  assert.equal(read("gemma2", { ...key, block_count: 46 }).softmax_scale, 1 / 12);
  assert.equal(read("gemma2", { ...key, block_count: 42 }).softmax_scale, undefined);
  assert.equal(read("gemma4", key).softmax_scale, 1);
});

test("query temperature", () => {
  const scale = { "attention.temperature_scale": f32(0.1) };
  const length = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 16,
    "rope.scaling.original_context_length": 16384,
  };
  assert.deepEqual(read("mistral3", { ...scale, ...length }).query_temperature, {
    scale: 0.1,
    floor_scale: 16384,
    offset: 0,
    layers: "all",
  });
  assert.equal(
    read("mistral4", { ...scale, "rope.dimension_count": 64, "attention.temperature_length": 8192 }).query_temperature
      .floor_scale,
    8192,
  );
  assert.deepEqual(read("llama4").query_temperature, { scale: 0.1, floor_scale: 8192, offset: 1, layers: "no_rope" });
  assert.equal(read("llama4", { "attention.sliding_window": 0n }).query_temperature, undefined);
});

test("sliding layers in each architecture", () => {
  const window = {
    "attention.sliding_window": 1024,
    "rope.freq_base": 1e6,
    "rope.scaling.type": "linear",
    "rope.scaling.factor": 8,
  };
  const pair = (arch, keys) =>
    ["full_attention", "sliding_attention"].map((layer_type) => {
      const { rope_theta, rope_scaling } = read(arch, { ...window, ...keys }, { layer_type });
      return [rope_theta, rope_scaling.rope_type];
    });
  assert.deepEqual(pair("gemma3"), [
    [1e6, "linear"],
    [1e4, "default"],
  ]);
  assert.deepEqual(pair("gemma3", { "rope.freq_base_swa": 20000 }), [
    [1e6, "linear"],
    [20000, "default"],
  ]);
  assert.deepEqual(pair("olmo2"), [
    [1e6, "linear"],
    [1e6, "default"],
  ]);
  assert.deepEqual(pair("gpt-oss"), [
    [1e6, "linear"],
    [1e6, "linear"],
  ]);
  fails("INVALID_ARGUMENT", "layer_type", () => read("gemma3", window));
  assert.equal(read("gpt-oss", window).rope_theta, 1e6);
  assert.equal(read("gemma3", { ...window, "attention.sliding_window": 0 }).rope_theta, 1e6);
  fails("INVALID_CONFIG", "layer_type", () => read("cohere2", window, { layer_type: "full_attention" }));
});

test("Gemma 4 and Laguna: other widths on sliding layers, frequency factors on full ones", () => {
  const keys = {
    "attention.sliding_window": 512,
    "attention.key_length": 512,
    "attention.key_length_swa": 256,
    "rope.dimension_count": 512,
    "rope.dimension_count_swa": 256,
    "rope.freq_base": 1e6,
  };
  const source = {
    metadata: metadata("gemma4", keys),
    tensors: { "rope_freqs.weight": new Float32Array(256).fill(1) },
  };
  const widths = (layer_type) => {
    const { head_dim, rotary_dim, freq_factors } = ropeConfig(source, { layer_type });
    return [head_dim, rotary_dim, freq_factors?.length];
  };
  assert.deepEqual(widths("full_attention"), [512, 512, 256]);
  assert.deepEqual(widths("sliding_attention"), [256, 256, undefined]);
  const laguna = {
    "attention.sliding_window": 512,
    "attention.key_length": 128,
    "rope.dimension_count": 64,
    "rope.dimension_count_swa": 128,
  };
  assert.equal(read("laguna", laguna, { layer_type: "sliding_attention" }).rotary_dim, 128);
});

test("Step-3.5 rotates half of the head on full layers", () => {
  const keys = { "attention.key_length": 128, "attention.sliding_window": 512 };
  assert.deepEqual(
    ["full_attention", "sliding_attention"].map((layer_type) => read("step35", keys, { layer_type }).rotary_dim),
    [64, 128],
  );
});

test("DeepSeek-V4: two bases, and scaling on the compressed layers only", () => {
  const keys = {
    "attention.key_length": 512,
    "rope.dimension_count": 64,
    "attention.compress_rope_freq_base": 160000,
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 16,
    "rope.scaling.original_context_length": 65536,
  };
  const main = read("deepseek4", keys, { layer_type: "main" });
  const compress = read("deepseek4", keys, { layer_type: "compress" });
  assert.deepEqual([main.rope_theta, main.rotary_offset, main.rope_scaling], [1e4, 448, PLAIN]);
  assert.deepEqual(
    [compress.rope_theta, compress.rotary_offset, compress.rope_scaling.attention_factor],
    [160000, 448, 1],
  );
});

test("without YaRN, rope.scaling.attn_factor is read under compat llama.cpp, and refused otherwise", () => {
  const overrides = { compat: "llama.cpp" };
  const none = read("llama", { "rope.scaling.attn_factor": 1.25 }, { overrides });
  assert.equal(none.rope_scaling.attn_factor, 1.25);
  const scaling = { "rope.scaling.type": "linear", "rope.scaling.factor": 4, "rope.scaling.attn_factor": 1.25 };
  assert.equal(read("llama", scaling, { overrides }).rope_scaling.attn_factor, 1.25);
  fails("INVALID_CONFIG", "rope_scaling.attn_factor", () => read("llama", scaling));
});

test("errors name the file's key", () => {
  fails("UNKNOWN_FAMILY", "general.architecture", () => read("llama5"));
  assert.equal(read("llama5", {}, { overrides: { pairing: "half" } }).pairing, "half");
  fails("INVALID_CONFIG", "general.architecture", () => read("mamba"));
  fails("UNKNOWN_KEY", "llama.rope.scaling.beta", () => read("llama", { "rope.scaling.beta": 1 }));
  fails("UNSUPPORTED_ROPE_TYPE", "llama.rope.scaling.type", () => read("llama", { "rope.scaling.type": "ntk" }));
  fails("INVALID_CONFIG", "llama.rope.freq_base", () => read("llama", { "rope.freq_base": "1e6" }));
  fails("INVALID_CONFIG", "llama.rope.dimension_count", () => read("llama", { "rope.dimension_count": 63.5 }));
  fails("INVALID_CONFIG", "rope_scaling.attn_factor", () => read("llama", { "rope.scaling.attn_factor": 2 }));
  fails("INVALID_CONFIG", "granitehybrid.rope.scaling.finetuned", () =>
    read("granitehybrid", { "rope.scaling.finetuned": false }),
  );
  fails("INVALID_CONFIG", "head_dim", () => ropeConfig({ "general.architecture": "llama" }));
});

test("the order of M-RoPE's sections is that of time, height and width; another base of images is read for one architecture only", () => {
  const sections = { "rope.dimension_count": 128, "rope.dimension_sections": [16, 24, 24, 0] };
  const plain = read("qwen2vl", sections);
  assert.deepEqual(read("qwen2vl", { ...sections, "rope.section_order": "tyxz" }), plain);
  assert.deepEqual(read("qwen2vl", { ...sections, "rope.freq_base_spatial": 100 }), plain);
  for (const [arch, keys] of [
    ["qwen2vl", sections],
    ["llama", {}],
  ])
    fails("UNSUPPORTED_ROPE_TYPE", `${arch}.rope.section_order`, () =>
      read(arch, { ...keys, "rope.section_order": "zyxt" }),
    );
  fails("UNKNOWN_FAMILY", "general.architecture", () => read("sensenova_u1", { "rope.freq_base_spatial": 10000 }));
});
