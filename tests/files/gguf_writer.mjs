// Writes GGUF files with any metadata and tensors, in memory or streamed to disk.
//
// A model is { metadata, tensors, version, alignment }. Metadata is an object or an array of [key, value]. The type of a value follows from
// the value: integers are u32 or i32, bigints u64, other numbers f32. `typed("u8", 3)` sets it explicitly. A tensor is
// { name, type, shape, data } with the outermost dimension first. Data is its bytes, or a function that yields them in chunks; without
// data the tensor is all zeros.

import { open } from "node:fs/promises";

const valueTypes = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"];

/** For each tensor type: its number, elements per block and bytes per block (ggml.h, ggml-common.h). */
export const tensorTypes = {
  f32: [0, 1, 4],
  f16: [1, 1, 2],
  q4_0: [2, 32, 18],
  q4_1: [3, 32, 20],
  q5_0: [6, 32, 22],
  q5_1: [7, 32, 24],
  q8_0: [8, 32, 34],
  q2_k: [10, 256, 84],
  q3_k: [11, 256, 110],
  q4_k: [12, 256, 144],
  q5_k: [13, 256, 176],
  q6_k: [14, 256, 210],
  iq4_nl: [20, 32, 18],
  i32: [26, 1, 4],
  f8_e4m3: [43, 1, 1],
  bf16: [30, 1, 2],
  q1_0: [41, 128, 18],
  q2_0: [42, 64, 18],
  tq1_0: [34, 256, 54],
  tq2_0: [35, 256, 66],
  mxfp4: [39, 32, 17],
  nvfp4: [40, 64, 36],
  iq4_xs: [23, 256, 136],
  iq3_s: [21, 256, 110],
  iq3_xxs: [18, 256, 98],
  iq2_s: [22, 256, 82],
  iq2_xs: [17, 256, 74],
  iq2_xxs: [16, 256, 66],
  iq1_s: [19, 256, 50],
  iq1_m: [29, 256, 56],
};

/** A value with an explicit type: u8 … f64, bool or string. For an array, the type of its elements. */
export const typed = (type, value) => ({ type, value });

class Writer {
  bytes = new Uint8Array(1 << 12);
  length = 0;

  reserve(count) {
    if (this.length + count > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.length + count));
      larger.set(this.bytes);
      this.bytes = larger;
    }
    const view = new DataView(this.bytes.buffer, this.length, count);
    this.length += count;
    return view;
  }

  u32(value) {
    this.reserve(4).setUint32(0, value, true);
  }

  u64(value) {
    this.reserve(8).setBigUint64(0, BigInt(value), true);
  }

  /** A string, or bytes that may be invalid UTF-8. */
  string(text) {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    this.u64(bytes.length);
    new Uint8Array(this.reserve(bytes.length).buffer, this.length - bytes.length, bytes.length).set(bytes);
  }

  value(type, value) {
    const scalars = {
      u8: [1, "setUint8"],
      i8: [1, "setInt8"],
      u16: [2, "setUint16"],
      i16: [2, "setInt16"],
      u32: [4, "setUint32"],
      i32: [4, "setInt32"],
      f32: [4, "setFloat32"],
      bool: [1, "setUint8"],
      u64: [8, "setBigUint64"],
      i64: [8, "setBigInt64"],
      f64: [8, "setFloat64"],
    };
    if (type === "string") return this.string(value);
    if (type === "array") {
      const element = Array.isArray(value) ? typed(typeOf(value[0] ?? 0), value) : value;
      this.u32(valueTypes.indexOf(element.type));
      this.u64(element.value.length);
      for (const item of element.value) this.value(element.type, item);
      return;
    }
    const [size, set] = scalars[type];
    this.reserve(size)[set](0, /64$/.test(type) && type !== "f64" ? BigInt(value) : value, true);
  }
}

function typeOf(value) {
  if (Array.isArray(value) || Array.isArray(value?.value)) return "array";
  if (value instanceof Uint8Array) return "string";
  if (typeof value === "number") return !Number.isInteger(value) ? "f32" : value < 0 ? "i32" : "u32";
  return { bigint: "u64", string: "string", boolean: "bool" }[typeof value] ?? value.type;
}

const isTypedScalar = (value) =>
  typeof value === "object" && !Array.isArray(value) && "type" in value && !Array.isArray(value.value);
const padded = (length, alignment) => Math.ceil(length / alignment) * alignment;

/** Length of a tensor in bytes. */
export function tensorBytes({ type, shape }) {
  const [, elements, bytes] = tensorTypes[type];
  return (shape.reduce((product, length) => product * length, 1) / elements) * bytes;
}

/** The padded header. To write wrong headers, a tensor may have its own offset, typeNumber and dimensions. */
export function ggufHeader({ metadata = {}, tensors = [], version = 3, alignment = 32, tensorCount, entryCount }) {
  const entries = Array.isArray(metadata) ? metadata : Object.entries(metadata);
  const writer = new Writer();
  for (const letter of "GGUF") writer.reserve(1).setUint8(0, letter.charCodeAt(0));
  writer.u32(version);
  writer.u64(tensorCount ?? tensors.length);
  writer.u64(entryCount ?? entries.length);
  for (const [key, value] of entries) {
    writer.string(key);
    const type = typeOf(value);
    writer.u32(valueTypes.indexOf(type));
    writer.value(type, isTypedScalar(value) ? value.value : value);
  }
  let offset = 0;
  for (const tensor of tensors) {
    writer.string(tensor.name);
    const dimensions = tensor.dimensions ?? [...tensor.shape].reverse();
    writer.u32(dimensions.length);
    for (const length of dimensions) writer.u64(length);
    writer.u32(tensor.typeNumber ?? tensorTypes[tensor.type][0]);
    writer.u64(tensor.offset ?? offset);
    offset += padded(tensorBytes(tensor), alignment);
  }
  return writer.bytes.slice(0, padded(writer.length, alignment));
}

function* piecesOf(model) {
  const { tensors = [], alignment = 32 } = model;
  yield ggufHeader(model);
  for (const tensor of tensors) {
    const bytes = tensorBytes(tensor);
    const { data = new Uint8Array(bytes) } = tensor;
    let written = 0;
    for (const piece of typeof data === "function" ? data() : [data]) {
      written += piece.length;
      yield piece;
    }
    if (written !== bytes) throw new Error(`${tensor.name} has ${written} bytes, expected ${bytes}`);
    yield new Uint8Array(padded(bytes, alignment) - bytes);
  }
}

/** A complete file. */
export function ggufBytes(model) {
  return new Uint8Array(Buffer.concat([...piecesOf(model)]));
}

/** Writes a file in chunks, so that tensors may be larger than memory. Returns its length. */
export async function writeGguf(path, model) {
  const file = await open(path, "w");
  let length = 0;
  try {
    for (const piece of piecesOf(model)) {
      await file.writeFile(piece);
      length += piece.length;
    }
  } finally {
    await file.close();
  }
  return length;
}
