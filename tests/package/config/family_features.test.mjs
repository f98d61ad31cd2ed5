// What else differs between families: longrope lists, position axes, rotary offsets, softmax scales.
import assert from "node:assert/strict";
import test from "node:test";
import { ropeConfig } from "ropewalk";
import { mla, model, PLAIN } from "./example_configs.mjs";

const list = (n) => Array.from({ length: n }, (_, i) => 1 + i / n);

test("longrope in Phi-3.5-mini, and with partial rotation in Phi-4-mini", () => {
  const phi = (heads, pairs, more) =>
    model("phi3", 3072, heads, 131072, {
      original_max_position_embeddings: 4096,
      rope_scaling: { type: "longrope", short_factor: list(pairs), long_factor: list(pairs) },
      ...more,
    });
  const mini = ropeConfig(phi(32, 48));
  assert.deepEqual(mini.rope_scaling, {
    rope_type: "longrope",
    short_factor: list(48),
    long_factor: list(48),
    original_max_position_embeddings: 4096,
  });
  assert.equal(mini.max_position_embeddings, 131072);
  assert.equal(ropeConfig(phi(24, 48, { partial_rotary_factor: 0.75 })).rotary_dim, 96);
});

test("sections of the position axes, with the layout of each family", () => {
  const sections = (config) => {
    const { rope_scaling } = ropeConfig(config);
    return [rope_scaling.mrope_layout, rope_scaling.mrope_section, rope_scaling.mrope_interleaved];
  };
  const text = (model_type, hidden, heads, more) => ({
    model_type: "outer",
    text_config: model(model_type, hidden, heads, 32768, more),
  });
  const mrope = { type: "mrope", mrope_section: [16, 24, 24] };
  const flagged = (mrope_section, more) => ({ rope_type: "default", mrope_interleaved: true, mrope_section, ...more });
  assert.deepEqual(sections(model("qwen2_vl", 3584, 28, 32768, { rope_scaling: mrope })), [
    "chunked",
    [16, 24, 24],
    undefined,
  ]);
  assert.deepEqual(sections(model("qwen2_5_vl", 3584, 28, 128000, { rope_scaling: mrope })), [
    "chunked",
    [16, 24, 24],
    undefined,
  ]);
  assert.deepEqual(sections(text("qwen3_vl_text", 4096, 32, { rope_scaling: flagged([24, 20, 20]) })), [
    "interleaved",
    [24, 20, 20],
    undefined,
  ]);
  assert.deepEqual(
    sections(
      text("qwen3_5_text", 4096, 16, {
        rope_parameters: flagged([11, 11, 10], { rope_theta: 1e7, partial_rotary_factor: 0.25 }),
      }),
    ),
    ["interleaved", [11, 11, 10], undefined],
  );
  assert.deepEqual(sections(text("ernie4_5_vl_moe_text", 2560, 20)), ["ernie", [22, 22, 20], undefined]);
  assert.deepEqual(sections(text("glm4v_text", 4096, 32, { partial_rotary_factor: 0.5 })), [
    "chunked",
    [8, 12, 12],
    undefined,
  ]);
  assert.deepEqual(
    sections(
      model("qwen3_omni_moe_text", 2048, 16, 65536, {
        head_dim: 128,
        rope_scaling: {
          interleaved: true,
          mrope_interleaved: true,
          mrope_section: [24, 20, 20],
          rope_type: "default",
          type: "default",
        },
      }),
    ),
    ["interleaved", [24, 20, 20], undefined],
  );
  // A family's default sections only apply to its default head_dim.
  assert.deepEqual(sections(text("qwen3_vl_text", 1024, 16, { head_dim: 64 })), [undefined, undefined, undefined]);
});

test("DeepSeek-V4 rotates the last 64 of 512 elements", () => {
  const v4 = model("deepseek_v4", 4096, 64, 1048576, {
    head_dim: 512,
    qk_rope_head_dim: 64,
    rope_theta: 1e4,
    compress_rope_theta: 160000,
    rope_scaling: { type: "yarn", factor: 16, original_max_position_embeddings: 65536, beta_fast: 32, beta_slow: 1 },
  });
  const main = ropeConfig(v4, { layer_type: "main" });
  assert.deepEqual(
    [main.pairing, main.rotary_dim, main.rotary_offset, main.rope_theta, main.rope_scaling],
    ["interleaved", 64, 448, 1e4, PLAIN],
  );
  const compress = ropeConfig(v4, { layer_type: "compress" });
  assert.deepEqual(
    [compress.rotary_offset, compress.rope_theta, compress.rope_scaling.attention_factor],
    [448, 160000, 1],
  );
});

test("families with their own softmax scale", () => {
  const scale = (config, layer_type) => ropeConfig(config, { layer_type }).softmax_scale;
  assert.equal(scale(model("gemma2", 4608, 32, 8192, { head_dim: 128, query_pre_attn_scalar: 144 })), 144 ** -0.5);
  assert.equal(
    scale(model("gemma3_text", 5376, 32, 131072, { head_dim: 128, query_pre_attn_scalar: 168 }), "full_attention"),
    168 ** -0.5,
  );
  assert.equal(scale(model("gemma3_text", 2560, 8, 131072), "sliding_attention"), 1 / 16);
  assert.equal(scale(model("gemma4_text", 2304, 8, 131072), "full_attention"), 1);
  assert.equal(scale(model("granite", 4096, 32, 131072, { attention_multiplier: 0.0078125 })), 0.0078125);
  assert.equal(scale(mla("deepseek_v3", 4096, {})), 1 / Math.sqrt(192));
  assert.equal(scale(model("llama", 4096, 32, 4096)), undefined);
});
