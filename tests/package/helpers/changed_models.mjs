// Tiny models with another config.json, and with the tensors that it needs.
import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { tinyModel } from "./models.mjs";

/** The files of a tiny model whose text config is changed, as fields of tests/golden/random/config_fields.json are. */
export function changedFiles(name, { set = {}, remove = [], tensors }) {
  const config = JSON.parse(readFileSync(tinyModel(`${name}/config.json`), "utf8"));
  const text = { ...(config.text_config ?? config), ...set };
  for (const key of remove) delete text[key];
  const changed = config.text_config === undefined ? text : { ...config, text_config: text };
  const weights = readFileSync(tinyModel(`${name}/model.safetensors`));
  return [
    new File([JSON.stringify(changed)], "config.json"),
    new File([tensors === undefined ? weights : otherTensors(weights, tensors)], "model.safetensors"),
  ];
}

/** A safetensors file without some tensors and with new ones. */
function otherTensors(file, { new: made, without }) {
  const headerBytes = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString("utf8", 8, 8 + headerBytes));
  const tensors = new Map();
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__" || without.includes(name)) continue;
    const [begin, end] = entry.data_offsets.map((offset) => 8 + headerBytes + offset);
    tensors.set(name, { dtype: entry.dtype, shape: entry.shape, bytes: file.subarray(begin, end) });
  }
  for (const [name, shape] of namesOf(made)) tensors.set(name, { dtype: "F32", shape, bytes: filled(name, shape) });
  let offset = 0;
  const entries = [...tensors].map(([name, { dtype, shape, bytes }]) => {
    const data_offsets = [offset, (offset += bytes.length)];
    return [name, { dtype, shape, data_offsets }];
  });
  const json = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, ...[...tensors.values()].map(({ bytes }) => bytes)]);
}

/** Every name of patterns in which each `#` is one of some numbers, with its shape. */
function namesOf(patterns) {
  return Object.entries(patterns).flatMap(([pattern, [shape, ...ranges]]) =>
    ranges
      .reduce((names, range) => names.flatMap((name) => range.map((number) => name.replace("#", number))), [pattern])
      .map((name) => [name, shape]),
  );
}

/** The same numbers as `filled` in tests/golden/generate/fields/references.py. */
function filled(name, shape) {
  const count = shape.reduce((product, extent) => product * extent, 1);
  const seed = crc32(name);
  const values = Float32Array.from(
    { length: count },
    (_, index) => (Math.imul(index + seed, 2654435761) >>> 8) / 2 ** 24 - 0.5,
  );
  return Buffer.from(values.buffer);
}

const STRING = 8;
const ARRAY = 9;
/** Types of GGUF: number, bytes, and the method of Buffer that writes one. */
const GGUF_TYPES = {
  u8: [0, 1, "writeUInt8"],
  u16: [2, 2, "writeUInt16LE"],
  i16: [3, 2, "writeInt16LE"],
  u32: [4, 4, "writeUInt32LE"],
  i32: [5, 4, "writeInt32LE"],
  f32: [6, 4, "writeFloatLE"],
  bool: [7, 1, "writeUInt8"],
  u64: [10, 8, "writeBigUInt64LE"],
};
const WIDTHS = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };

/**
 * The GGUF file of a tiny model whose keys are changed, as in tests/golden/random/gguf_keys.json: [type, value], or null for none. `others` are
 * keys without the architecture's prefix.
 */
export function changedGguf(name, changes, others = {}) {
  const file = readFileSync(tinyModel(`${name}/model.gguf`));
  const { entries, tensorCount, infos, weights } = partsOf(file);
  const { value } = entries.find(({ key }) => key === "general.architecture");
  const prefixed = new Map(Object.entries(changes).map(([key, change]) => [`${value}.${key}`, change]));
  for (const [key, change] of Object.entries(others)) prefixed.set(key, change);
  const kept = entries.filter(({ key }) => !prefixed.has(key)).map(({ bytes }) => bytes);
  const added = [...prefixed]
    .filter(([, change]) => change !== null)
    .map(([key, change]) => [packedString(key), packed(change)]);
  const head = Buffer.alloc(24);
  file.copy(head, 0, 0, 8);
  head.writeBigUInt64LE(BigInt(tensorCount), 8);
  head.writeBigUInt64LE(BigInt(kept.length + added.length), 16);
  const all = Buffer.concat([head, ...kept, ...added.flat(), infos]);
  const padding = Buffer.alloc((ALIGNMENT - (all.length % ALIGNMENT)) % ALIGNMENT);
  return [new File([Buffer.concat([all, padding, weights])], "model.gguf")];
}

/** The architecture of a tiny model's GGUF file, its keys without that prefix, and its numbers of layers and of hidden elements. */
export function ggufFactsOf(name) {
  const { entries } = partsOf(readFileSync(tinyModel(`${name}/model.gguf`)));
  const architecture = entries.find(({ key }) => key === "general.architecture").value;
  const own = entries.filter(({ key }) => key.startsWith(`${architecture}.`));
  const number = (key) => {
    const { bytes } = own.find((entry) => entry.key === `${architecture}.${key}`);
    return bytes.readUInt32LE(bytes.length - 4);
  };
  const keys = own.map(({ key }) => key.slice(architecture.length + 1));
  return { architecture, keys, layers: number("block_count"), width: number("embedding_length") };
}

const ALIGNMENT = 32;

function partsOf(file) {
  const [tensorCount, count] = [8, 16].map((at) => Number(file.readBigUInt64LE(at)));
  let at = 24;
  const skipString = () => {
    const length = Number(file.readBigUInt64LE(at));
    at += 8 + length;
    return file.toString("utf8", at - length, at);
  };
  const skip = (type) => {
    if (type === STRING) return skipString();
    if (type !== ARRAY) return void (at += WIDTHS[type]);
    const [element, length] = [file.readUInt32LE(at), Number(file.readBigUInt64LE(at + 4))];
    at += 12;
    for (let index = 0; index < length; index++) skip(element);
  };
  const entries = Array.from({ length: count }, () => {
    const start = at;
    const key = skipString();
    at += 4;
    const value = skip(file.readUInt32LE(at - 4));
    return { key, value, bytes: file.subarray(start, at) };
  });
  const start = at;
  for (let index = 0; index < tensorCount; index++) {
    skipString();
    at += 4 + 8 * file.readUInt32LE(at) + 12;
  }
  return {
    entries,
    tensorCount,
    infos: file.subarray(start, at),
    weights: file.subarray(Math.ceil(at / ALIGNMENT) * ALIGNMENT),
  };
}

function packedString(text) {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(text)));
  return Buffer.concat([length, Buffer.from(text)]);
}

function packed([type, value]) {
  const head = Buffer.alloc(Array.isArray(type) ? 16 : 4);
  if (type === "string") {
    head.writeUInt32LE(STRING);
    return Buffer.concat([head, packedString(value)]);
  }
  const [number, width, write] = GGUF_TYPES[[type].flat()[0]];
  const values = [value].flat();
  const body = Buffer.alloc(width * values.length);
  values.forEach((one, index) => body[write](type === "u64" ? BigInt(one) : Number(one), width * index));
  head.writeUInt32LE(Array.isArray(type) ? ARRAY : number);
  if (Array.isArray(type)) {
    head.writeUInt32LE(number, 4);
    head.writeBigUInt64LE(BigInt(values.length), 8);
  }
  return Buffer.concat([head, body]);
}
