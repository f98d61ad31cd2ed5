// Models without RoPE, encoders and embedding models.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { tinyModel } from "../helpers/models.mjs";
import { diagnosed } from "./cases.mjs";

test("models without RoPE have a length, memory and lines to run", async () => {
  const config = JSON.parse(readFileSync(tinyModel("granitemoehybrid/config.json"), "utf8"));
  const { length, servedLength, verdict, memory, recipe, systems } = await diagnosed(config);
  assert.match(
    verdict.text,
    /^Nothing to scale: granitemoehybrid has no RoPE \(position_embedding_type is "nope"\).* It is made for 128 tokens\.$/,
  );
  assert.deepEqual([length, servedLength, verdict.status, systems], [128, 128, "fits", []]);
  const attention = config.layer_types.filter((type) => type === "full_attention").length;
  const headDim = config.hidden_size / config.num_attention_heads;
  const perToken = 2 * 2 * config.num_key_value_heads * headDim * attention; // keys and values, two bytes each
  assert.equal(memory.bytesPerToken, perToken);
  assert.ok(memory.stateBytes > 0);
  assert.deepEqual(
    recipe.blocks.map(({ system }) => system),
    ["llama.cpp", "transformers", "vLLM", "SGLang", "MLX", "Ropewalk", "Ropewalk"],
  );
  for (const { text } of recipe.blocks) assert.doesNotMatch(text, /rope[_-]/i, text);
  assert.match(recipe.blocks[0].text, /-c 128$/);
  assert.match(
    (await diagnosed(config, 1000)).verdict.text,
    /made for 128 tokens, you ask for 1,000: no key changes how far/,
  );
  const mamba = {
    model_type: "mamba2",
    hidden_size: 64,
    num_hidden_layers: 3,
    num_heads: 8,
    head_dim: 16,
    state_size: 16,
    n_groups: 1,
  };
  const pure = await diagnosed(mamba);
  assert.doesNotMatch(pure.verdict.text, /made for/);
  assert.equal(pure.memory.bytesPerToken, 0);
});

test("windows of encoders reach to both sides, and each RoPE has layers", async () => {
  const config = JSON.parse(readFileSync(tinyModel("modernbert/config.json"), "utf8"));
  const { layers, support } = await diagnosed(config);
  assert.equal(support.isEncoder, true);
  assert.deepEqual(layers.map(({ kind }) => kind).sort(), ["full_attention", "sliding_attention"]);
  assert.ok(layers.every((group) => group.layers.length > 0));
});

test("a GGUF file with a pooling is that of an embedding model", async () => {
  const metadata = { "general.architecture": "qwen3", "qwen3.context_length": 32768, "qwen3.block_count": 2 };
  const sizes = {
    "qwen3.embedding_length": 64,
    "qwen3.attention.head_count": 4,
    "qwen3.attention.head_count_kv": 2,
    "qwen3.attention.key_length": 16,
  };
  for (const [pooling, runs] of [
    [undefined, "generates"],
    [0, "generates"],
    [3, "embeds"],
  ]) {
    const given = { ...metadata, ...sizes, ...(pooling !== undefined && { "qwen3.pooling_type": pooling }) };
    const { support, recipe } = await diagnosed({ metadata: given, tensors: {} });
    assert.equal(support.runs, runs);
    const [llama, , command] = recipe.blocks;
    assert.equal(llama.text.includes("--embedding"), runs === "embeds");
    assert.ok(
      command.text.startsWith(runs === "embeds" ? "npx ropewalk embed" : "npx ropewalk generate"),
      command.text,
    );
  }
});
