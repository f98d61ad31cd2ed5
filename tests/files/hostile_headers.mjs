// Headers that claim more than a model can have. Runs in a Worker with little memory (tests/unit/model_bounds.test.mjs), and posts how each
// case ended: { title, code, field, message, milliseconds }.
import { parentPort } from "node:worker_threads";
import { load } from "../../dist/index.node.js";
import { ggufHeader, typed } from "./gguf_writer.mjs";
import { partsOf, written } from "./model_parts.mjs";
import { fileOf } from "./reading.mjs";

const encode = (text) => new TextEncoder().encode(text);

/** A file that begins with `bytes` and claims to have `size`. Its other bytes are zeros, made as they are read. */
class Claimed extends File {
  #bytes;
  #size;
  constructor(name, bytes, size) {
    super([], name);
    this.#bytes = bytes;
    this.#size = size;
  }
  get size() {
    return this.#size;
  }
  slice(start, end) {
    const count = Math.max(0, Math.min(end, this.#size) - start);
    if (count > 1e8) return { stream: () => new Blob([new Uint8Array(1 << 20)]).stream() };
    const part = new Uint8Array(count);
    part.set(this.#bytes.subarray(start, start + count));
    return new Blob([part]);
  }
}

const LONG = 2 ** 50;
const longFile = (header) => new Claimed("model.gguf", header, LONG);

/** GGUF whose first entry is an array of `length` values of a type, followed by zeros. */
function arrayOf(type, length, size = 99e6) {
  const header = ggufHeader({ metadata: { a: typed("u8", []) } });
  const start = 24 + 8 + 1 + 4;
  const view = new DataView(header.buffer, header.byteOffset);
  view.setUint32(start, { u8: 0, bool: 7, string: 8, array: 9, u64: 10, f64: 12 }[type], true);
  view.setBigUint64(start + 4, BigInt(length), true);
  return new Claimed("model.gguf", header.slice(0, start + 12), size);
}

/** A header of zeros with counts of tensors and entries. */
function countsOf(tensors, entries, size = 99e6) {
  return new Claimed("model.gguf", ggufHeader({ tensorCount: tensors, entryCount: entries }).slice(0, 24), size);
}

/** safetensors whose header is this text. */
function headerOf(text) {
  const bytes = encode(text);
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(bytes.length), true);
  return [new File([length, bytes], "model.safetensors"), fileOf("config.json", encode("{}"))];
}

const llama = await partsOf("llama", "gguf");
const moe = await partsOf("qwen3_moe", "gguf");
const hub = await partsOf("qwen3_moe", "safetensors");
const withKeys = (parts, keys, tensors = parts.tensors) =>
  longFile(ggufHeader({ metadata: { ...parts.keys, ...keys }, tensors }));

/** The tensors of a mixture with another number of experts. */
function withExperts(tensors, count) {
  return tensors.map(({ name, type, shape }) => ({
    ...{ name, type },
    shape: /_exps|ffn_gate_inp/.test(name) ? shape.with(0, count) : shape,
  }));
}

/** A mixture whose stacked tensors claim `count` experts. */
function experts(count) {
  return withKeys(moe, { "qwen3moe.expert_count": count }, withExperts(moe.tensors, count));
}

/** A mixture of 30 layers of 4,096 experts. */
function manyLayers() {
  const layer = moe.tensors.filter(({ name }) => name.startsWith("blk.0."));
  const others = moe.tensors.filter(({ name }) => !name.startsWith("blk."));
  const layers = Array.from({ length: 30 }, (_, i) =>
    layer.map((tensor) => ({ ...tensor, name: tensor.name.replace("blk.0.", `blk.${i}.`) })),
  ).flat();
  const keys = { "qwen3moe.expert_count": 4096, "qwen3moe.block_count": 30 };
  return withKeys(moe, keys, [...others, ...withExperts(layers, 4096)]);
}

/** A Hub model with another config. */
const withConfig = (keys) => written({ ...hub, keys: { ...hub.keys, ...keys } }, "safetensors");

const rope = (length) => ({ name: "rope_freqs.weight", type: "f32", shape: [length] });
const wide = (extent) => ({ name: "token_embd.weight", type: "f32", shape: [extent, 32] });
const without = (name) => llama.tensors.filter((tensor) => tensor.name !== name);

/** [title, source, what the field names, what the message says] */
const cases = [
  ["4 million experts", () => experts(4e6), /expert_count$/, /from 1 to 4096/],
  ["2^31 - 1 experts", () => experts(2 ** 31 - 1), /expert_count$/, /from 1 to 4096/],
  ["more pieces than a model has", () => manyLayers(), /tensors$/, /more than 131072 pieces/],
  ["RoPE factors of 3.2 GB", () => withKeys(llama, {}, [...llama.tensors, rope(8e8)]), /rope_freqs/, /at most 8192/],
  [
    "a vocabulary of 2^40",
    () => withKeys(llama, {}, [...without("token_embd.weight"), wide(2 ** 40)]),
    /token_embd/,
    /4194304/,
  ],
  [
    "a hidden size of 2^31 - 1",
    () => withKeys(llama, { "llama.embedding_length": 2 ** 31 - 1 }),
    /embedding_length/,
    /1048576/,
  ],
  [
    "a feed-forward of 2^31 - 1",
    () => withKeys(llama, { "llama.feed_forward_length": 2 ** 31 - 1 }),
    /feed_forward/,
    /1048576/,
  ],
  ["65,536 layers", () => withKeys(llama, { "llama.block_count": 65536 }), /block_count/, /from 1 to 20/],
  ["a million heads", () => withKeys(llama, { "llama.attention.head_count": 1e6 }), /head_count/, /from 1 to 65536/],
  [
    "heads of a million elements",
    () => withKeys(llama, { "llama.attention.key_length": 1e6 }),
    /key_length/,
    /from 1 to 8192/,
  ],
  ["100,000 files", () => withKeys(llama, { "split.count": 99999 }), /split.count/, /one of 99999 parts/],
  ["98 million bytes in an array", () => arrayOf("u8", 98e6), /: a$/, /more than the limit of 4194304/],
  ["98 million booleans", () => arrayOf("bool", 98e6), /: a$/, /more than the limit of 4194304/],
  ["12 million strings", () => arrayOf("string", 12e6), /: a$/, /more than the limit of 4194304/],
  ["8 million arrays", () => arrayOf("array", 8e6), /: a$/, /more than the limit of 4194304/],
  ["4 million empty arrays", () => arrayOf("array", 4e6), /general.architecture/, /must name/],
  ["4 million doubles", () => arrayOf("f64", 2 ** 22), /general.architecture/, /must name/],
  ["7 million entries", () => countsOf(0, 7e6), /metadata count/, /7000000 entries, more than the limit of 65536/],
  ["4 million tensors", () => countsOf(4e6, 0), /tensor count/, /4000000 tensors, more than the limit of 262144/],
  [
    "30 million arrays in JSON",
    () => headerOf(`{"a":[${"[],".repeat(3e7)}1]}`),
    /header/,
    /more than the limit of 4194304/,
  ],
  ["arrays 40 million deep in JSON", () => headerOf(`{"a":${"[".repeat(4e7)}`), /header/, /nested more than 64 deep/],
  [
    "a million tensors in JSON",
    () => headerOf(`{${manyKeys(1e6)}}`),
    /header/,
    /tensors, more than the limit of 262144/,
  ],
  [
    "a list of 2 million layers",
    () => withConfig({ mlp_only_layers: new Array(2e6).fill(9) }),
    /mlp_only_layers/,
    /at most 4096/,
  ],
  ["a name of 90 MB", () => headerOf(`{"${"x".repeat(9e7)}":{}}`), /^model.safetensors: x{200}…$/, /65535/],
  [
    "a dtype of 90 MB",
    () => headerOf(`{"a":{"dtype":"${"x".repeat(9e7)}","shape":[],"data_offsets":[0,0]}}`),
    /: a$/,
    /x{60}…" is not/,
  ],
  [
    "a shape of a million lengths",
    () => headerOf(`{"a":{"dtype":"F32","shape":[${"0,".repeat(1e6)}0],"data_offsets":[0,0]}}`),
    /: a$/,
    /at most 8/,
  ],
];

function manyKeys(count) {
  return Array.from({ length: count }, (_, i) => `"${i.toString(36)}":0`).join(",");
}

const rw = await load({ build: "simd" });
for (const [title, make, field, message] of cases) {
  const source = make();
  const start = performance.now();
  const ended = await rw.modelInfo(source).then(
    () => ({ name: "opens" }),
    (error) => error,
  );
  parentPort.postMessage({
    title,
    code: ended.code,
    isExpected: ended.name === "RopewalkError" && field.test(ended.field) && message.test(ended.message),
    text: `${ended.name} ${ended.code}: ${String(ended.message).slice(0, 300)}`,
    milliseconds: performance.now() - start,
  });
}
