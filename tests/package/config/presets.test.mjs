// The RoPE of popular models, as in transformers. The config.json values are from the models' docs, from copies in
// mlc-llm and tt-metal, and from class defaults of transformers.
import assert from "node:assert/strict";
import test from "node:test";
import { ropeConfig } from "ropewalk";
import { mla, model, PLAIN } from "./example_configs.mjs";

const llama3 = (factor, high = 4) => ({
  rope_type: "llama3",
  factor,
  low_freq_factor: 1,
  high_freq_factor: high,
  original_max_position_embeddings: 8192,
});
const yarn = (factor, original, more = {}) => ({
  rope_type: "yarn",
  factor,
  original_max_position_embeddings: original,
  ...more,
});

// name, config.json, [pairing, head_dim, rotary_dim, rope_theta], rope_scaling (PLAIN if absent), layer_type
const PRESETS = [
  ["Llama-2-7B", model("llama", 4096, 32, 2048, { rope_scaling: null }), ["half", 128, 128, 1e4]],
  ["CodeLlama-7B", model("llama", 4096, 32, 16384, { rope_theta: 1e6 }), ["half", 128, 128, 1e6]],
  ["TinyLlama-1.1B", model("llama", 2048, 32, 2048), ["half", 64, 64, 1e4]],
  [
    "Llama-3.1-8B",
    model("llama", 4096, 32, 131072, { rope_theta: 5e5, rope_scaling: llama3(8) }),
    ["half", 128, 128, 5e5],
    llama3(8),
  ],
  [
    "Llama-3.2-1B",
    model("llama", 2048, 32, 131072, { head_dim: 64, rope_theta: 5e5, rope_scaling: llama3(32) }),
    ["half", 64, 64, 5e5],
    llama3(32),
  ],
  ["Mistral-7B-v0.3", model("mistral", 4096, 32, 32768, { rope_theta: 1e6, head_dim: null }), ["half", 128, 128, 1e6]],
  ["Mixtral-8x7B", model("mixtral", 4096, 32, 32768), ["half", 128, 128, 1e6]],
  [
    "Mistral-Nemo-12B",
    model("mistral", 5120, 32, 1024000, { head_dim: 128, rope_theta: 1e6 }),
    ["half", 128, 128, 1e6],
  ],
  ["Phi-1.5", model("phi", 2048, 32, 2048), ["half", 64, 32, 1e4]],
  ["Phi-2", model("phi", 2560, 32, 2048, { partial_rotary_factor: 0.4 }), ["half", 80, 32, 1e4]],
  ["Phi-3-mini-4k", model("phi3", 3072, 32, 4096, { original_max_position_embeddings: 4096 }), ["half", 96, 96, 1e4]],
  ["Qwen2.5-7B", model("qwen2", 3584, 28, 32768, { rope_theta: 1e6 }), ["half", 128, 128, 1e6]],
  [
    "Qwen2.5-7B + YaRN",
    model("qwen2", 3584, 28, 32768, {
      rope_theta: 1e6,
      rope_scaling: { type: "yarn", factor: 4, original_max_position_embeddings: 32768 },
    }),
    ["half", 128, 128, 1e6],
    yarn(4, 32768),
  ],
  ["Qwen3-0.6B", model("qwen3", 1024, 16, 40960, { head_dim: 128, rope_theta: 1e6 }), ["half", 128, 128, 1e6]],
  ["Qwen3-4B-2507", model("qwen3", 2560, 32, 262144, { rope_theta: 5e6 }), ["half", 128, 128, 5e6]],
  ["Qwen1.5-1.8B", model("qwen2", 2048, 16, 4096, { rope_theta: 1e6 }), ["half", 128, 128, 1e6]],
  [
    "DeepSeek-V2-Lite",
    mla("deepseek_v2", 163840, {
      rope_theta: 1e4,
      rope_scaling: {
        type: "yarn",
        factor: 40,
        original_max_position_embeddings: 4096,
        beta_fast: 32,
        beta_slow: 1,
        mscale: 0.707,
        mscale_all_dim: 0.707,
      },
    }),
    ["interleaved", 64, 64, 1e4],
    yarn(40, 4096, { beta_fast: 32, beta_slow: 1, mscale: 0.707, mscale_all_dim: 0.707 }),
  ],
  [
    "DeepSeek-V3",
    mla("deepseek_v3", 163840, { rope_theta: 1e4, rope_scaling: yarn(40, 4096, { mscale: 1, mscale_all_dim: 1 }) }),
    ["interleaved_to_half", 64, 64, 1e4],
    yarn(40, 4096, { mscale: 1, mscale_all_dim: 1 }),
  ],
  [
    "Kimi-K2",
    mla("kimi_k2", 131072, {
      rope_theta: 5e4,
      rope_scaling: yarn(32, 4096, { beta_fast: 1, beta_slow: 1, mscale: 1, mscale_all_dim: 1 }),
    }),
    ["interleaved_to_half", 64, 64, 5e4],
    yarn(32, 4096, { beta_fast: 1, beta_slow: 1, mscale: 1, mscale_all_dim: 1 }),
  ],
  [
    "GLM-5",
    mla("glm_moe_dsa", 202752, { rope_parameters: { rope_type: "default", rope_theta: 8e6 } }),
    ["interleaved_to_half", 64, 64, 8e6],
  ],
  [
    "Mistral4",
    model("mistral4", 4096, 32, 1048576, {
      qk_nope_head_dim: 64,
      qk_rope_head_dim: 64,
      rope_parameters: yarn(128, 8192, { rope_theta: 1e4, partial_rotary_factor: 0.5 }),
    }),
    ["interleaved_to_half", 64, 64, 1e4],
    yarn(128, 8192),
  ],
  [
    "gpt-oss-20b",
    model("gpt_oss", 2880, 64, 131072, {
      head_dim: 64,
      rope_theta: 150000,
      rope_scaling: yarn(32, 4096, { beta_fast: 32, beta_slow: 1, truncate: false }),
    }),
    ["half", 64, 64, 150000],
    yarn(32, 4096, { beta_fast: 32, beta_slow: 1, truncate: false }),
  ],
  ["GLM-4-9B-0414", model("glm4", 4096, 32, 32768, { head_dim: 128, rope_theta: 1e4 }), ["interleaved", 128, 64, 1e4]],
  [
    "Gemma-2-9B",
    model("gemma2", 3584, 16, 8192, { head_dim: 256, query_pre_attn_scalar: 256 }),
    ["half", 256, 256, 1e4],
  ],
  ["SmolLM2-135M", model("llama", 576, 9, 8192, { rope_theta: 1e5 }), ["half", 64, 64, 1e5]],
  ["SmolLM3-3B", model("smollm3", 2048, 16, 65536, { rope_theta: 5e6 }), ["half", 128, 128, 5e6]],
  ["StableLM-3B", model("stablelm", 2560, 32, 4096), ["half", 80, 20, 1e4]],
  [
    "GPT-J-6B",
    { model_type: "gptj", n_embd: 4096, n_head: 16, n_positions: 2048, rotary_dim: 64 },
    ["interleaved", 256, 64, 1e4],
  ],
  [
    "GPT-NeoX-20B",
    model("gpt_neox", 6144, 64, 2048, { rotary_emb_base: 10000, rotary_pct: 0.25 }),
    ["half", 96, 24, 1e4],
  ],
  ["RedPajama-3B", model("gpt_neox", 2560, 32, 2048, { rotary_emb_base: 10000, rotary_pct: 1 }), ["half", 80, 80, 1e4]],
  ["Falcon-7B", model("falcon", 4544, 71, 2048, { alibi: false }), ["half", 64, 64, 1e4]],
  ["Command-R", model("cohere", 8192, 64, 131072, { rope_theta: 8e6 }), ["interleaved", 128, 128, 8e6]],
  ["aya-23-8B", model("cohere", 4096, 32, 8192, { rope_theta: 1e4 }), ["interleaved", 128, 128, 1e4]],
  [
    "Command-R7B",
    model("cohere2", 4096, 32, 132096, { rope_theta: 5e4, head_dim: 128, sliding_window: 4096 }),
    ["interleaved", 128, 128, 5e4],
  ],
  ["StarCoder2", model("starcoder2", 4608, 36, 16384, { rope_theta: 1e6 }), ["half", 128, 128, 1e6]],
  [
    "InternLM2.5-7B",
    model("internlm2", 4096, 32, 32768, { rope_theta: 1e6, rope_scaling: { type: "dynamic", factor: 2 } }),
    ["half", 128, 128, 1e6],
    { rope_type: "dynamic", factor: 2 },
  ],
  [
    "MiniCPM-2B-128k",
    model("minicpm", 2304, 36, 65536, { rope_theta: 1e6, rope_scaling: { type: "dynamic", factor: 4 } }),
    ["half", 64, 64, 1e6],
    { rope_type: "dynamic", factor: 4 },
  ],
  ["DeepSeek-MoE v1", model("deepseek", 2048, 16, 4096), ["half", 128, 128, 1e4]],
  [
    "Yarn-Llama-2-7b-64k",
    model("llama", 4096, 32, 65536, {
      rope_scaling: { type: "yarn", factor: 16, original_max_position_embeddings: 4096, finetuned: true },
    }),
    ["half", 128, 128, 1e4],
    yarn(16, 4096),
  ],
  [
    "Yarn-Mistral-7b-128k",
    model("mistral", 4096, 32, 131072, {
      rope_scaling: { type: "yarn", factor: 16, original_max_position_embeddings: 8192, finetuned: true },
    }),
    ["half", 128, 128, 1e4],
    yarn(16, 8192),
  ],
  [
    "EXAONE-4.0-32B",
    model("exaone4", 5120, 40, 131072, { head_dim: 128, rope_theta: 1e6, rope_scaling: llama3(16) }),
    ["half", 128, 128, 1e6],
    llama3(16),
  ],
  [
    "MiniMax-M1",
    model("minimax_m1", 6144, 64, 10240000, { head_dim: 128, rotary_dim: 64, rope_theta: 1e7 }),
    ["half", 128, 64, 1e7],
  ],
  [
    "MiniMax-M2",
    model("minimax_m2", 3072, 48, 196608, { head_dim: 128, rotary_dim: 64, rope_theta: 5e6 }),
    ["half", 128, 64, 5e6],
  ],
  [
    "Llama-4-Scout",
    {
      model_type: "llama4",
      text_config: model("llama4_text", 5120, 40, 10485760, {
        head_dim: 128,
        rope_theta: 5e5,
        rope_scaling: llama3(16, 1),
      }),
    },
    ["interleaved", 128, 128, 5e5],
    llama3(16, 1),
  ],
  [
    "Apertus-8B",
    model("apertus", 4096, 32, 65536, { rope_theta: 1.2e7, rope_scaling: { ...llama3(8), type: "llama3" } }),
    ["half", 128, 128, 1.2e7],
    llama3(8),
  ],
  ["Qwen3-Next", model("qwen3_next", 2048, 16, 262144, { rope_theta: 1e7 }), ["half", 256, 64, 1e7]],
  [
    "Ernie-4.5",
    model("ernie4_5", 1024, 16, 131072, { head_dim: 128, rope_theta: 5e5 }),
    ["interleaved", 128, 128, 5e5],
  ],
  ["Helium-2B", model("helium", 2560, 20, 4096), ["interleaved", 128, 128, 1e5]],
  [
    "MiMo-V2-Flash",
    model("mimo_v2_flash", 4096, 64, 262144, { rope_theta: 5e6, swa_rope_theta: 1e4, partial_rotary_factor: 0.334 }),
    ["half", 192, 64, 5e6],
    PLAIN,
    "full_attention",
  ],
  [
    "MiMo-V2-Flash, sliding",
    model("mimo_v2_flash", 4096, 64, 262144, { rope_theta: 5e6, swa_rope_theta: 1e4 }),
    ["half", 192, 64, 1e4],
    PLAIN,
    "sliding_attention",
  ],
  [
    "Gemma-3-1B",
    model("gemma3_text", 1152, 4, 32768, { rope_theta: 1e6, rope_local_base_freq: 1e4 }),
    ["half", 256, 256, 1e6],
    PLAIN,
    "full_attention",
  ],
  [
    "Gemma-3-1B, sliding",
    model("gemma3_text", 1152, 4, 32768, { rope_theta: 1e6, rope_local_base_freq: 1e4 }),
    ["half", 256, 256, 1e4],
    PLAIN,
    "sliding_attention",
  ],
  [
    "ModernBERT-base",
    model("modernbert", 768, 12, 8192, { global_rope_theta: 160000, local_rope_theta: 1e4 }),
    ["half", 64, 64, 160000],
    PLAIN,
    "full_attention",
  ],
];

for (const [name, config, [pairing, head_dim, rotary_dim, rope_theta], rope_scaling = PLAIN, layer_type] of PRESETS) {
  test(name, () => {
    const rope = ropeConfig(config, layer_type === undefined ? {} : { layer_type });
    assert.deepEqual(
      {
        pairing: rope.pairing,
        head_dim: rope.head_dim,
        rotary_dim: rope.rotary_dim,
        rope_theta: rope.rope_theta,
        rope_scaling: rope.rope_scaling,
      },
      { pairing, head_dim, rotary_dim, rope_theta, rope_scaling },
    );
  });
}

test("the result is frozen plain JSON", () => {
  const rope = ropeConfig(PRESETS[3][1]);
  assert.deepEqual(JSON.parse(JSON.stringify(rope)), rope);
  assert.ok(Object.isFrozen(rope) && Object.isFrozen(rope.rope_scaling));
});
