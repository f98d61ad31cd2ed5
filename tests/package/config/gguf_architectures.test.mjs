// Every architecture of llama.cpp has its pairing, or is refused by name.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { ropeConfig } from "ropewalk";

const path = new URL("../../golden/llama_cpp_architectures.json", import.meta.url);
const { source, ...types } = JSON.parse(readFileSync(path, "utf8"));

const metadata = (arch, more = {}) => {
  const keys = {
    block_count: 8,
    context_length: 4096,
    embedding_length: 1024,
    "attention.head_count": 8,
    "rope.dimension_count": 128,
    ...more,
  };
  const prefixed = Object.entries(keys).map(([key, value]) => [`${arch}.${key}`, value]);
  return { "general.architecture": arch, ...Object.fromEntries(prefixed) };
};

/** The pairing of each rope type of llama.cpp, for files without and with `rope.dimension_sections`. */
const PAIRINGS = {
  norm: ["interleaved"],
  neox: ["half"],
  mrope: ["half", "half"],
  imrope: ["half", "half"],
  "norm or mrope": ["interleaved", "half"],
  "neox or mrope": ["half", "half"],
  "norm, but its graph asks for neox": ["half"],
};

// DeepSeek-V4 has two kinds of layer that differ in their base.
const layerOf = (arch) => (arch === "deepseek4" ? { layer_type: "main" } : {});

// llama.cpp gives bert a rope type, which its graph doesn't use: positions are learned.
types.neox = types.neox.filter((arch) => arch !== "bert");
types.none.push("bert");

for (const [type, [plain, sectioned]] of Object.entries(PAIRINGS)) {
  test(`architectures of rope type ${type} (${source})`, () => {
    for (const arch of types[type]) {
      const read = (more) => ropeConfig(metadata(arch, more), layerOf(arch)).pairing;
      assert.equal(read(), plain, arch);
      if (sectioned !== undefined) assert.equal(read({ "rope.dimension_sections": [24, 20, 20, 0] }), sectioned, arch);
    }
  });
}

test("architectures without RoPE, and those with the RoPE of another model, are refused by name", () => {
  // llama.cpp names gptj without running it. Files of that name come from other converters, for GPT-J, which has RoPE.
  const none = types.none.filter((arch) => arch !== "gptj");
  for (const [list, code] of [
    [none, "INVALID_CONFIG"],
    [types["of another model"], "UNSUPPORTED_ROPE_TYPE"],
  ]) {
    for (const arch of list) {
      for (const options of [{}, { overrides: { pairing: "half" } }]) {
        assert.throws(
          () => ropeConfig(metadata(arch), options),
          (error) =>
            error.code === code && error.field === "general.architecture" && error.message.includes(`"${arch}"`),
          arch,
        );
      }
    }
  }
});
