// Small models for tests of reading. Tensors hold a pseudorandom pattern, so that a byte in the wrong place is detected.

import { ggufBytes, tensorBytes, tensorTypes, typed } from "./gguf_writer.mjs";
import { safetensorsBytes } from "./safetensors_writer.mjs";

/** Pseudorandom bytes, seeded by a name. */
export function patternOf(name, length) {
  let state = [...name].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16777619), 2166136261);
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

const withData = (tensor) => ({ ...tensor, data: patternOf(tensor.name, tensorBytes(tensor)) });

/** A GGUF model with one tensor of each supported format, and one of `large` bytes. */
export function ggufModel({ metadata = {}, large = 4096 } = {}) {
  const formats = Object.keys(tensorTypes).filter((type) => !["i32", "f8_e4m3"].includes(type)); // read as other types
  return {
    metadata: {
      "general.architecture": "llama",
      "llama.block_count": 2,
      "llama.rope.freq_base": 500000.5,
      "tokenizer.ggml.tokens": ["<unk>", "\ufeff", "é", "日本", ""],
      ...metadata,
    },
    tensors: [
      ...formats.map((type) => ({ name: `${type}.weight`, type, shape: [3, 256] })),
      { name: "large.weight", type: "f16", shape: [large / 256, 128] },
      { name: "scalar", type: "f32", shape: [] },
    ].map(withData),
  };
}

/** The files of a split GGUF model, by name. */
export function ggufParts(count = 3, { change = (part) => part } = {}) {
  const model = ggufModel();
  const number = (value) => String(value).padStart(5, "0");
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => {
      const tensors = model.tensors.filter((_, t) => t % count === i);
      const numbers = { "split.no": typed("u16", i), "split.count": typed("u16", count) };
      const split = { ...numbers, "split.tensors.count": typed("i32", model.tensors.length) };
      const part = change({ metadata: { ...(i === 0 && model.metadata), ...split }, tensors }, i);
      return [`tiny-${number(i + 1)}-of-${number(count)}.gguf`, ggufBytes(part)];
    }),
  );
}

const tensor = (name, dtype, shape, bytes) => [name, { dtype, shape, data: patternOf(name, bytes) }];
const text = (value) => new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));

/** The JSON files of a safetensors model folder. */
export const folderFiles = {
  "config.json": text({ model_type: "llama", hidden_size: 64 }),
  "tokenizer.json": text({ version: "1.0" }),
  "tokenizer_config.json": text({ eos_token: "</s>" }),
  "generation_config.json": text({ temperature: 0.5 }),
  "chat_template.jinja": text("{{ messages }}"),
};

/** A model folder with one weights file. */
export function safetensorsFolder() {
  const weights = safetensorsBytes(
    Object.fromEntries([
      tensor("a.weight", "F32", [4, 8], 128),
      tensor("attn.bias", "BOOL", [3, 3], 9),
      tensor("b.weight", "BF16", [2, 3, 5], 60),
      tensor("c.bias", "F16", [7], 14),
    ]),
    { metadata: { format: "pt" } },
  );
  return { "model.safetensors": weights, ...folderFiles };
}

/** A model folder with two weights files and an index. */
export function shardedFolder() {
  const files = {
    "model-00001-of-00002.safetensors": safetensorsBytes(Object.fromEntries([tensor("a.weight", "F32", [4, 8], 128)])),
    "model-00002-of-00002.safetensors": safetensorsBytes(
      Object.fromEntries([tensor("b.weight", "F16", [2, 2], 8), tensor("attn.bias", "U8", [2], 2)]),
    ),
  };
  const weight_map = {
    "a.weight": "model-00001-of-00002.safetensors",
    "b.weight": "model-00002-of-00002.safetensors",
    "attn.bias": "model-00002-of-00002.safetensors",
  };
  return { "model.safetensors.index.json": text({ weight_map }), ...files, ...folderFiles };
}
