// The memory of a cache, as diagnose() and `ropewalk inspect` count it: that of the engine for tiny models, and of released configs by hand.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { ropewalk, withFolder } from "./program.mjs";
import { tinyModel } from "../package/helpers/models.mjs";
import { diagnosed, rw } from "../package/doctor/cases.mjs";

const [PAGE, ALIGNMENT, BYTES_OF_POSITION] = [32, 64, 8];

/** The bytes that a session of one token has, which are those of a page. */
async function allocated(path) {
  const model = await rw.model(path, { kv: { dtype: "f16" } });
  const session = model.session();
  await session.append([3]);
  const { bytes } = session;
  model.dispose();
  return bytes;
}

const pageOf = (bytesPerToken) => Math.ceil((PAGE * (BYTES_OF_POSITION + bytesPerToken)) / ALIGNMENT) * ALIGNMENT;

// a layer's own keys and values, in elements for each token
const TINY = {
  llama: undefined,
  gpt_oss: undefined,
  llama4_chunks: 4 * (2 * 2 * 4),
  deepseek_v2: 2 * (8 + 4),
  deepseek_v2_lite: 2 * (12 + 4),
  deepseek_v3: 2 * (8 + 4),
  gemma3n: 2 * (2 * 2 * 6), // layers 2 and 3 of 4 read the keys of layers 0 and 1
  gemma4: 2 * (2 * 2 * 6) + 2 * 2 * 8, // layers 3 and 4 of 5 read the keys of layers 1 and 2
  gemma4_dense: undefined,
};

for (const [name, elements] of Object.entries(TINY)) {
  test(`${name}: the bytes of a token are those that the engine allocates`, async () => {
    const config = JSON.parse(readFileSync(tinyModel(`${name}/config.json`), "utf8"));
    const { memory } = await diagnosed(config);
    if (elements !== undefined) assert.equal(memory.bytesPerToken, 2 * elements);
    const bytes = await allocated(tinyModel(name));
    assert.equal(pageOf(memory.bytesPerToken), bytes);

    const info = await rw.modelInfo(tinyModel(name), { contextLength: PAGE, kv: { dtype: "f16" } });
    assert.equal(info.memory.cache, bytes);
    for (const file of ["config.json", "model.safetensors", "model.gguf"]) {
      if (!existsSync(tinyModel(`${name}/${file}`))) continue;
      const { stdout } = await ropewalk(["inspect", tinyModel(`${name}/${file}`), "--context", String(PAGE), "--json"]);
      assert.equal(JSON.parse(stdout).cache.bytes.f16, bytes, file);
    }
    if (!existsSync(tinyModel(`${name}/model.gguf`))) return;
    const gguf = await diagnosed(tinyModel(`${name}/model.gguf`));
    assert.equal(gguf.memory.bytesPerToken, memory.bytesPerToken);
  });
}

const repeated = (count, of) => Array.from({ length: count }, (_, layer) => of(layer));
const slidingUnless = (every) => (layer) => ((layer + 1) % every === 0 ? "full_attention" : "sliding_attention");

/** GGUF metadata of an architecture. */
const metadata = (architecture, keys) => ({
  metadata: {
    "general.architecture": architecture,
    ...Object.fromEntries(Object.entries(keys).map(([key, value]) => [`${architecture}.${key}`, value])),
  },
});

// The numbers of released config.json files that say what is cached, and the bytes at 131,072 tokens in f16 by hand
const N = 131072;
const RELEASED = [
  {
    name: "DeepSeek-V2-Lite",
    // 27 layers × (latent 512 + rotated 64) × 2 bytes; no values
    bytesPerToken: 31104,
    bytes: 31104 * N,
    config: {
      model_type: "deepseek_v2",
      ...{ hidden_size: 2048, num_hidden_layers: 27, num_attention_heads: 16, num_key_value_heads: 16 },
      ...{ kv_lora_rank: 512, q_lora_rank: null, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128 },
      ...{ max_position_embeddings: 163840, rope_theta: 10000 },
    },
    gguf: metadata("deepseek2", {
      ...{ block_count: 27, context_length: 163840, embedding_length: 2048, "rope.freq_base": 10000 },
      ...{ "attention.head_count": 16, "attention.head_count_kv": 1, "attention.kv_lora_rank": 512 },
      ...{ "attention.key_length": 576, "attention.value_length": 512, "rope.dimension_count": 64 },
      ...{ "attention.key_length_mla": 192, "attention.value_length_mla": 128 },
    }),
  },
  {
    name: "Gemma 3n E2B",
    // 20 of 30 layers × 2 (keys and values) × 2 heads × 256 × 2 bytes: 16 with a window of 512, and 4 full
    bytesPerToken: 20 * 2048,
    bytes: 16 * 2048 * 512 + 4 * 2048 * N,
    config: {
      model_type: "gemma3n",
      text_config: {
        model_type: "gemma3n_text",
        ...{ hidden_size: 2048, num_hidden_layers: 30, num_attention_heads: 8, num_key_value_heads: 2, head_dim: 256 },
        ...{ num_kv_shared_layers: 10, sliding_window: 512, intermediate_size: repeated(30, () => 8192) },
        ...{ layer_types: repeated(30, slidingUnless(5)), max_position_embeddings: 32768 },
        ...{ rope_theta: 1e6, rope_local_base_freq: 10000, rope_scaling: null },
      },
    },
    gguf: metadata("gemma3n", {
      ...{
        block_count: 30,
        context_length: 32768,
        embedding_length: 2048,
        feed_forward_length: repeated(30, () => 8192),
      },
      ...{ "attention.head_count": 8, "attention.head_count_kv": 2, "attention.key_length": 256 },
      ...{ "attention.value_length": 256, "attention.sliding_window": 512, "attention.shared_kv_layers": 10 },
      ...{ "attention.sliding_window_pattern": repeated(30, (i) => (i + 1) % 5 !== 0), "rope.freq_base": 1e6 },
    }),
  },
  {
    name: "Gemma 4 E2B",
    // 15 of 35 layers × 2 × 1 head × 2 bytes: 12 of 256 elements with a window of 512, and 3 of 512 elements
    bytesPerToken: 12 * 1024 + 3 * 2048,
    bytes: 12 * 1024 * 512 + 3 * 2048 * N,
    config: {
      model_type: "gemma4",
      text_config: {
        model_type: "gemma4_text",
        ...{ hidden_size: 1536, num_hidden_layers: 35, num_attention_heads: 8, num_key_value_heads: 1 },
        ...{ head_dim: 256, global_head_dim: 512, num_kv_shared_layers: 20, sliding_window: 512 },
        ...{ layer_types: repeated(35, slidingUnless(5)), intermediate_size: 6144, use_double_wide_mlp: true },
        max_position_embeddings: 131072,
        rope_parameters: {
          full_attention: { rope_type: "proportional", rope_theta: 1e6, partial_rotary_factor: 0.25 },
          sliding_attention: { rope_type: "default", rope_theta: 10000 },
        },
      },
    },
    gguf: metadata("gemma4", {
      ...{ block_count: 35, context_length: 131072, embedding_length: 1536, feed_forward_length: 6144 },
      ...{ "attention.head_count": 8, "attention.head_count_kv": 1, "attention.sliding_window": 512 },
      ...{ "attention.key_length": 512, "attention.value_length": 512, "attention.shared_kv_layers": 20 },
      ...{ "attention.key_length_swa": 256, "attention.value_length_swa": 256, "rope.freq_base": 1e6 },
      ...{ "rope.freq_base_swa": 10000, "rope.dimension_count": 512, "rope.dimension_count_swa": 256 },
      "attention.sliding_window_pattern": repeated(35, (i) => (i + 1) % 5 !== 0),
    }),
  },
  {
    name: "Llama 4 Scout",
    // 48 layers × 2 × 8 heads × 128 × 2 bytes: 36 with chunks of 8,192 tokens, and 12 full
    bytesPerToken: 48 * 4096,
    bytes: 36 * 4096 * 8192 + 12 * 4096 * N,
    config: {
      model_type: "llama4",
      text_config: {
        model_type: "llama4_text",
        ...{ hidden_size: 5120, num_hidden_layers: 48, num_attention_heads: 40, num_key_value_heads: 8, head_dim: 128 },
        ...{ attention_chunk_size: 8192, intermediate_size: 8192, intermediate_size_mlp: 16384, no_rope_layers: [] },
        ...{ max_position_embeddings: 10485760, rope_theta: 5e5 },
      },
    },
    gguf: metadata("llama4", {
      ...{ block_count: 48, context_length: 10485760, embedding_length: 5120, feed_forward_length: 16384 },
      ...{ "attention.head_count": 40, "attention.head_count_kv": 8, "attention.key_length": 128 },
      ...{ "attention.value_length": 128, "rope.dimension_count": 128, "rope.freq_base": 5e5, expert_count: 16 },
    }),
  },
];

for (const { name, config, gguf, bytesPerToken, bytes } of RELEASED) {
  test(`${name}: the numbers by hand, from config.json and from GGUF metadata`, async () => {
    for (const source of [config, gguf]) {
      const { memory, findings } = await diagnosed(source, N);
      assert.equal(memory.bytesPerToken, bytesPerToken);
      assert.equal(memory.lengths.find(({ length }) => length === N).bytes, bytes);
      assert.ok(!findings.some(({ code }) => code === "window-within-length"));
    }
    await withFolder(async (folder) => {
      const path = join(folder, "config.json");
      await writeFile(path, JSON.stringify(config));
      const { stdout } = await ropewalk(["inspect", path, "--context", "4096", "--json"]);
      // the engine keeps all tokens, whatever a layer sees
      assert.equal(JSON.parse(stdout).cache.bytes.f16, 4096 * (BYTES_OF_POSITION + bytesPerToken));
    });
  });
}

// One copy of the states of recurrent layers, in f32 by hand: the inputs that the convolution still needs, and a matrix of each head
const HYBRIDS = [
  {
    name: "Qwen3-Next-80B-A3B",
    // 12 of 48 layers × 2 heads × 256 × keys and values × 2 bytes
    bytesPerToken: 24576,
    // 36 layers × (3 inputs × (4096 values + 2 × 16 × 128 queries and keys) + 32 heads × 128 × 128) × 4 bytes
    stateBytes: 36 * (3 * (4096 + 2 * 16 * 128) + 32 * 128 * 128) * 4,
    copies: 3, // two, and one checkpoint, since two would take more than 64 MiB
    attending: [3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47],
    config: {
      model_type: "qwen3_next",
      ...{ hidden_size: 2048, num_hidden_layers: 48, num_attention_heads: 16, num_key_value_heads: 2, head_dim: 256 },
      ...{ linear_conv_kernel_dim: 4, linear_key_head_dim: 128, linear_num_key_heads: 16, linear_num_value_heads: 32 },
      ...{ linear_value_head_dim: 128, full_attention_interval: 4, partial_rotary_factor: 0.25, rope_theta: 1e7 },
      ...{ num_experts: 512, num_experts_per_tok: 10, moe_intermediate_size: 512, max_position_embeddings: 262144 },
      ...{ shared_expert_intermediate_size: 512 },
    },
  },
  {
    name: "LFM2-1.2B",
    // 6 of 16 layers × 8 heads × 64 × keys and values × 2 bytes
    bytesPerToken: 12288,
    // 10 layers × 2 inputs × 2048 × 4 bytes
    stateBytes: 10 * 2 * 2048 * 4,
    copies: 10, // two, and eight checkpoints
    attending: [2, 5, 8, 10, 12, 14],
    config: {
      model_type: "lfm2",
      ...{ hidden_size: 2048, num_hidden_layers: 16, num_attention_heads: 32, num_key_value_heads: 8 },
      ...{ conv_L_cache: 3, full_attn_idxs: [2, 5, 8, 10, 12, 14], max_position_embeddings: 128000, rope_theta: 1e6 },
    },
  },
  {
    name: "Falcon-H1",
    // 24 layers × 2 heads × 128 × keys and values × 2 bytes
    bytesPerToken: 24576,
    // the same layers × (3 inputs × (3072 values + 2 × 256 of B and C) + 48 heads × 64 × 256) × 4 bytes
    stateBytes: 24 * (3 * (3072 + 2 * 256) + 48 * 64 * 256) * 4,
    attending: repeated(24, (layer) => layer),
    hasBoth: true,
    copies: 3, // two, and the one checkpoint of more than 64 MiB
    config: {
      model_type: "falcon_h1",
      ...{ hidden_size: 2048, num_hidden_layers: 24, num_attention_heads: 8, num_key_value_heads: 2, head_dim: 128 },
      ...{ mamba_d_ssm: 3072, mamba_n_heads: 48, mamba_d_head: 64, mamba_n_groups: 1, mamba_d_state: 256 },
      ...{ mamba_d_conv: 4, max_position_embeddings: 131072, rope_theta: 1e11 },
    },
  },
];

for (const { name, config, attending, hasBoth = false, bytesPerToken, stateBytes, copies } of HYBRIDS) {
  test(`${name}: ${hasBoth ? "layers with both have a" : "recurrent layers have no"} cache, and a state of the same size at any length`, async () => {
    const { memory, layers, layersWithoutRope, recurrentLayers } = await diagnosed(config, N);
    assert.deepEqual(layers[0].layers, attending);
    const others = repeated(config.num_hidden_layers, (layer) => layer).filter((layer) => !attending.includes(layer));
    assert.deepEqual(recurrentLayers, hasBoth ? attending : others);
    assert.deepEqual(layersWithoutRope, others);
    assert.deepEqual([memory.bytesPerToken, memory.stateBytes], [bytesPerToken, stateBytes]);
    await withFolder(async (folder) => {
      const path = join(folder, "config.json");
      await writeFile(path, JSON.stringify(config));
      const { stdout } = await ropewalk(["inspect", path, "--context", "4096", "--json"]);
      const { cache, recurrent } = JSON.parse(stdout);
      assert.equal(cache.bytes.f16, 4096 * (BYTES_OF_POSITION + bytesPerToken));
      assert.deepEqual([recurrent.layers, recurrent.bytes], [recurrentLayers, copies * stateBytes]);
      assert.equal(memory.sessionStateBytes, recurrent.bytes);
    });
  });
}

test("tiny models with recurrent layers: the state that the engine allocates", async () => {
  for (const name of ["lfm2", "qwen3_5", "qwen3_next", "falcon_h1"]) {
    for (const file of ["config.json", "model.gguf"]) {
      const source = tinyModel(`${name}/${file}`);
      const given = file === "config.json" ? JSON.parse(readFileSync(source, "utf8")) : source;
      const { memory, recurrentLayers } = await diagnosed(given);
      assert.deepEqual(recurrentLayers, name === "falcon_h1" ? [0, 1, 2] : [0, 1, 3], name);
      const { states } = (await rw.modelInfo(tinyModel(name))).memory;
      assert.deepEqual([10 * memory.stateBytes, memory.sessionStateBytes], [states, states], `${name} ${file}`);
    }
  }
});

test("Llama 4 beyond its length: layers without RoPE see every token, whatever the chunks of the others are", async () => {
  const { layers, findings } = await diagnosed(RELEASED.at(-1).config, 2 ** 24);
  assert.deepEqual(
    layers.map(({ window, layers }) => [window, layers.length]),
    [[8192, 36]],
  );
  assert.ok(!findings.some(({ code }) => code === "window-within-length"));
});
