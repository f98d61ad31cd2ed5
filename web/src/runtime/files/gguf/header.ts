// Reads the header of a GGUF file: metadata and tensor descriptions.
import * as advise from "../../../core/base/advice.js";
import { show } from "../../../core/base/show.js";
import { invalidFile, unsupportedModel } from "../errors.js";
import type { HeaderCursor } from "../header_reader.js";
import { MAX_ARRAY_DEPTH, MAX_ENTRIES, MAX_TENSORS } from "../limits.js";
import { checkTensorRanges, type PackedTensor, type StoredTensor } from "../stored_tensor.js";
import {
  elementsOf,
  GGML_TYPES,
  isWeightFormat,
  tensorBytes,
  type WeightFormatName,
  WEIGHT_BLOCKS,
  WEIGHT_FORMATS,
} from "../../../core/quantize/weight_formats.js";

// Why not @huggingface/gguf 0.4.6, which the tests compare with: it drops a leading U+FEFF of a token, silently truncates a string longer
// than half a megabyte at the end of the fetched bytes, replaces invalid UTF-8 with U+FFFD, and lets the second value of a repeated key win.

/** The header of a GGUF file. @internal */
export interface GgufHeader {
  /** Values by key, in file order. 64-bit integers that a number can't hold exactly are bigints. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tensors: readonly StoredTensor[];
  /** Tensors of 8-bit floats, which gguf_floats.ts reads. */
  readonly packed: readonly PackedTensor[];
}

type ReadValue = (cursor: HeaderCursor, part: string) => unknown;

/** A type of metadata value: its size in bytes (the minimum, for strings and arrays), how to read it, and how to read many. */
interface ValueType {
  readonly bytes: number;
  readonly read: ReadValue;
  readonly readMany?: (cursor: HeaderCursor, part: string, count: number) => unknown[];
}

type NumberArray = new (buffer: ArrayBufferLike) => ArrayLike<number>;

/** Numbers of `bytes` bytes. `Numbers` reads many of them, in the order of bytes that all engines have, which is that of the file. */
const scalar = (bytes: number, get: (view: DataView, at: number) => number, Numbers: NumberArray): ValueType => ({
  bytes,
  read: (cursor, part) => cursor.number(bytes, part, get),
  readMany: (cursor, part, count) => Array.from(new Numbers(cursor.take(count * bytes, part).slice().buffer)),
});

const MAX_DIMENSIONS = 4;
const MIN_ENTRY_BYTES = 8 + 4 + 1;
const MIN_TENSOR_BYTES = 8 + 4 + 4 + 8;
const ARRAY = 9;

/** Types of metadata values, indexed by their number (gguf.h). */
const VALUE_TYPES: readonly ValueType[] = [
  scalar(1, (view, at) => view.getUint8(at), Uint8Array),
  scalar(1, (view, at) => view.getInt8(at), Int8Array),
  scalar(2, (view, at) => view.getUint16(at, true), Uint16Array),
  scalar(2, (view, at) => view.getInt16(at, true), Int16Array),
  scalar(4, (view, at) => view.getUint32(at, true), Uint32Array),
  scalar(4, (view, at) => view.getInt32(at, true), Int32Array),
  scalar(4, (view, at) => view.getFloat32(at, true), Float32Array),
  { bytes: 1, read: readBoolean },
  { bytes: 8, read: readString, readMany: (cursor, part, count) => cursor.strings(count, part) },
  { bytes: 12, read: (cursor, part) => readArray(cursor, part, 1) },
  { bytes: 8, read: (cursor, part) => cursor.integer64(part, false) },
  { bytes: 8, read: (cursor, part) => cursor.integer64(part, true) },
  scalar(8, (view, at) => view.getFloat64(at, true), Float64Array),
];

/**
 * Reads the header of a GGUF file of version 2 or 3.
 *
 * @param index of the file among the model's files
 * @param size of the file in bytes, or Infinity
 * @throws INVALID_FILE, UNSUPPORTED_MODEL
 * @internal
 */
export function parseGguf(cursor: HeaderCursor, index: number, size: number): GgufHeader {
  checkVersion(cursor);
  const tensorCount = cursor.countOf("tensors", MIN_TENSOR_BYTES, MAX_TENSORS, "tensor count");
  const entryCount = cursor.countOf("entries", MIN_ENTRY_BYTES, MAX_ENTRIES, "metadata count");
  const metadata = readMetadata(cursor, entryCount);
  const descriptions = readTensors(cursor, tensorCount);

  const alignment = alignmentOf(cursor.file, metadata);
  const dataStart = Math.ceil(cursor.position / alignment) * alignment;
  const placed = descriptions.map(({ offset, ...tensor }) => {
    if (offset % alignment !== 0)
      invalidFile(cursor.file, tensor.name, `offset ${offset} must be a multiple of the alignment ${alignment}`);
    return { ...tensor, file: index, offset: dataStart + offset };
  });
  checkTensorRanges(cursor.file, placed, dataStart, size);
  const packed = placed.filter((tensor): tensor is PackedTensor => "dtype" in tensor);
  return { metadata, tensors: placed.filter((tensor): tensor is StoredTensor => !("dtype" in tensor)), packed };
}

/**
 * The metadata entries of a GGUF file as they are stored, by key: the key, the type of the value, and the value.
 *
 * @throws as parseGguf()
 * @internal
 */
export function parseRawMetadata(cursor: HeaderCursor): Map<string, Uint8Array> {
  checkVersion(cursor);
  cursor.countOf("tensors", MIN_TENSOR_BYTES, MAX_TENSORS, "tensor count");
  const count = cursor.countOf("entries", MIN_ENTRY_BYTES, MAX_ENTRIES, "metadata count");
  const entries = new Map<string, Uint8Array>();
  for (let i = 0; i < count; i++) {
    const start = cursor.position;
    const key = cursor.name(`metadata key ${i}`);
    valueType(cursor, key).read(cursor, key);
    const end = cursor.position;
    cursor.position = start;
    entries.set(key, cursor.take(end - start, key).slice());
  }
  return entries;
}

function checkVersion(cursor: HeaderCursor): void {
  const magic = cursor.take(4, "magic");
  if (String.fromCharCode(...magic) !== "GGUF")
    invalidFile(cursor.file, "magic", "the file isn't GGUF: it doesn't start with \"GGUF\"");
  const version = cursor.u32("version");
  if (version === 2 || version === 3) return;
  if (version !== 0 && (version & 0xffff) === 0) {
    unsupportedModel(
      cursor.file,
      "version",
      "the file is big-endian",
      advise.other("convert it with llama.cpp's gguf_convert_endian.py"),
    );
  }
  unsupportedModel(
    cursor.file,
    "version",
    `GGUF version must be 2 or 3 (got ${version})`,
    advise.other("convert the model again with a current converter"),
  );
}

function readMetadata(cursor: HeaderCursor, count: number): Record<string, unknown> {
  const entries = new Map<string, unknown>();
  for (let i = 0; i < count; i++) {
    const key = cursor.name(`metadata key ${i}`);
    if (entries.has(key)) invalidFile(cursor.file, key, "appears twice in the metadata; keys must be unique");
    entries.set(key, valueType(cursor, key).read(cursor, key));
  }
  return Object.fromEntries(entries); // fromEntries makes __proto__ an ordinary key
}

function valueType(cursor: HeaderCursor, part: string): ValueType {
  const number = cursor.u32(part);
  return (
    VALUE_TYPES[number] ??
    invalidFile(
      cursor.file,
      part,
      `has value type ${number}, expected 0 to ${VALUE_TYPES.length - 1}: the file is damaged`,
      advise.other("download it again"),
    )
  );
}

function readBoolean(cursor: HeaderCursor, part: string): boolean {
  const byte = cursor.number(1, part, (view, at) => view.getUint8(at));
  if (byte > 1) invalidFile(cursor.file, part, `is a boolean and must be 0 or 1 (got ${byte})`);
  return byte === 1;
}

function readString(cursor: HeaderCursor, part: string): string {
  return cursor.utf8(cursor.count(part), part);
}

function readArray(cursor: HeaderCursor, part: string, depth: number): unknown[] {
  if (depth > MAX_ARRAY_DEPTH)
    invalidFile(cursor.file, part, `has arrays nested more than ${MAX_ARRAY_DEPTH} deep: the file is damaged`);
  const type = valueType(cursor, part);
  const length = cursor.arrayLength(type.bytes, part);
  if (type.readMany !== undefined) return type.readMany(cursor, part, length);
  const read: ReadValue = type === VALUE_TYPES[ARRAY] ? (at, name) => readArray(at, name, depth + 1) : type.read;
  const values: unknown[] = [];
  for (let i = 0; i < length; i++) values.push(read(cursor, part));
  return values;
}

type TensorDescription = Omit<StoredTensor, "file"> | Omit<PackedTensor, "file">;

/** The name that safetensors files have for 8-bit floats. */
const FLOAT8 = "F8_E4M3";

/** The tensor descriptions, with offsets from the start of the data. */
function readTensors(cursor: HeaderCursor, count: number): TensorDescription[] {
  const tensors = new Map<string, TensorDescription>();
  for (let i = 0; i < count; i++) {
    const name = cursor.name(`tensor name ${i}`);
    if (tensors.has(name)) invalidFile(cursor.file, name, "is the name of two tensors; names must be unique");
    const dimensions = cursor.u32(name);
    if (dimensions > MAX_DIMENSIONS)
      invalidFile(cursor.file, name, `has ${dimensions} dimensions, more than the maximum of ${MAX_DIMENSIONS}`);
    const shape = Array.from({ length: dimensions }, () => cursor.count(name)).reverse(); // files store the innermost first
    const type = cursor.u32(name);
    if (GGML_TYPES[type]?.toUpperCase() === FLOAT8) {
      const bytes = elementsOf(shape) ?? invalidShape(cursor.file, name, FLOAT8, shape);
      tensors.set(name, { name, dtype: FLOAT8, shape, bytes, offset: cursor.count(name) });
      continue;
    }
    const format = formatOf(cursor.file, name, type);
    const bytes = tensorBytes(format, shape) ?? invalidShape(cursor.file, name, format, shape);
    tensors.set(name, { name, format, shape, bytes, offset: cursor.count(name) });
  }
  return [...tensors.values()];
}

function formatOf(file: string, tensor: string, type: number): WeightFormatName {
  const name = GGML_TYPES[type];
  if (name !== undefined && isWeightFormat(name)) return name;
  const shown = name?.toUpperCase() ?? `number ${type}`;
  const supported = [...WEIGHT_FORMATS, FLOAT8].map((format) => format.toUpperCase()).join(", ");
  return unsupportedModel(
    file,
    tensor,
    `tensor type ${shown} is not supported`,
    advise.other(`use a file with ${supported}`),
  );
}

function invalidShape(
  file: string,
  tensor: string,
  format: WeightFormatName | typeof FLOAT8,
  shape: readonly number[],
): never {
  const { elements } = format === FLOAT8 ? { elements: 1 } : WEIGHT_BLOCKS[format];
  return invalidFile(
    file,
    tensor,
    `shape [${shape.join(", ")}] is too large, or its rows are not whole ${format} blocks of ${elements}`,
  );
}

function alignmentOf(file: string, metadata: Readonly<Record<string, unknown>>): number {
  const alignment = metadata["general.alignment"] ?? 32;
  const isPower =
    typeof alignment === "number" && Number.isInteger(Math.log2(alignment)) && alignment >= 1 && alignment <= 2 ** 31;
  if (!isPower) invalidFile(file, "general.alignment", `must be a power of two (got ${show(alignment)})`);
  return alignment;
}
