import { invalidFile, unsupportedModel } from "./failures.js";
import type { HeaderCursor } from "./header.js";
import { checkPlaces, type StoredTensor } from "./stored_tensor.js";
import {
  GGML_TYPES,
  isWeightFormat,
  tensorBytes,
  type WeightFormatName,
  WEIGHT_BLOCKS,
  WEIGHT_FORMATS,
} from "./weight_formats.js";

// Why not @huggingface/gguf 0.4.6, which the tests compare with: it drops a leading U+FEFF of a token, silently cuts a string of more than
// half a megabyte where what it has fetched ends, puts replacement characters for what is not UTF-8, and lets a second value of a key win.

/** What a GGUF file says before its data. @internal */
export interface GgufHeader {
  /** By the keys of the file, in its order. Integers of 64 bits that a number does not hold are bigints. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tensors: readonly StoredTensor[];
}

type ReadValue = (cursor: HeaderCursor, part: string) => unknown;

/** The type of a metadata value: its bytes (the fewest, for strings and arrays) and how to read it. */
interface ValueType {
  readonly bytes: number;
  readonly read: ReadValue;
}

const scalar = (bytes: number, get: (view: DataView, at: number) => number): ValueType => ({
  bytes,
  read: (cursor, part) => cursor.number(bytes, part, get),
});

const MOST_NESTED = 4;
const MOST_DIMENSIONS = 4;
const SMALLEST_ENTRY = 8 + 4 + 1;
const SMALLEST_TENSOR = 8 + 4 + 4 + 8;
const ARRAY = 9;

/** Types of metadata values by their number (gguf.h). */
const VALUE_TYPES: readonly ValueType[] = [
  scalar(1, (view, at) => view.getUint8(at)),
  scalar(1, (view, at) => view.getInt8(at)),
  scalar(2, (view, at) => view.getUint16(at, true)),
  scalar(2, (view, at) => view.getInt16(at, true)),
  scalar(4, (view, at) => view.getUint32(at, true)),
  scalar(4, (view, at) => view.getInt32(at, true)),
  scalar(4, (view, at) => view.getFloat32(at, true)),
  { bytes: 1, read: readBoolean },
  { bytes: 8, read: readString },
  { bytes: 12, read: (cursor, part) => readArray(cursor, part, 1) },
  { bytes: 8, read: (cursor, part) => cursor.integer64(part, false) },
  { bytes: 8, read: (cursor, part) => cursor.integer64(part, true) },
  scalar(8, (view, at) => view.getFloat64(at, true)),
];

/**
 * Reads the header of a GGUF file of version 2 or 3.
 *
 * @param index which of the model's files this is
 * @param size of the file, or Infinity
 * @throws INVALID_FILE, UNSUPPORTED_MODEL
 * @internal
 */
export function parseGguf(cursor: HeaderCursor, index: number, size: number): GgufHeader {
  checkVersion(cursor);
  const tensorCount = cursor.count("tensor count");
  const entryCount = cursor.count("metadata count");
  cursor.need(entryCount * SMALLEST_ENTRY, "metadata count");
  const metadata = readMetadata(cursor, entryCount);
  cursor.need(tensorCount * SMALLEST_TENSOR, "tensor count");
  const described = readTensors(cursor, tensorCount);

  const alignment = alignmentOf(cursor.file, metadata);
  const dataStart = Math.ceil(cursor.position / alignment) * alignment;
  const tensors = described.map(({ offset, ...tensor }) => {
    if (offset % alignment !== 0)
      invalidFile(cursor.file, tensor.name, `offset ${offset} is no multiple of the alignment ${alignment}`);
    return { ...tensor, file: index, offset: dataStart + offset };
  });
  checkPlaces(cursor.file, tensors, dataStart, size);
  return { metadata, tensors };
}

function checkVersion(cursor: HeaderCursor): void {
  const magic = cursor.take(4, "magic");
  if (String.fromCharCode(...magic) !== "GGUF") invalidFile(cursor.file, "magic", "the file does not begin with GGUF");
  const version = cursor.u32("version");
  if (version === 2 || version === 3) return;
  if (version !== 0 && (version & 0xffff) === 0) {
    unsupportedModel(
      cursor.file,
      "version",
      "the file is big-endian; convert it with gguf_convert_endian.py of llama.cpp",
    );
  }
  unsupportedModel(cursor.file, "version", `is ${version}; 2 and 3 are read, so convert the model again`);
}

function readMetadata(cursor: HeaderCursor, count: number): Record<string, unknown> {
  const entries = new Map<string, unknown>();
  for (let i = 0; i < count; i++) {
    const key = readString(cursor, `metadata key ${i}`);
    if (entries.has(key)) invalidFile(cursor.file, key, "is given twice");
    entries.set(key, valueType(cursor, key).read(cursor, key));
  }
  return Object.fromEntries(entries); // which makes even __proto__ a plain key
}

function valueType(cursor: HeaderCursor, part: string): ValueType {
  const number = cursor.u32(part);
  return (
    VALUE_TYPES[number] ?? invalidFile(cursor.file, part, `has the unknown value type ${number}: the file is damaged`)
  );
}

function readBoolean(cursor: HeaderCursor, part: string): boolean {
  const byte = cursor.number(1, part, (view, at) => view.getUint8(at));
  if (byte > 1) invalidFile(cursor.file, part, `must be 0 or 1 as a boolean (got ${byte})`);
  return byte === 1;
}

function readString(cursor: HeaderCursor, part: string): string {
  return cursor.utf8(cursor.count(part), part);
}

function readArray(cursor: HeaderCursor, part: string, depth: number): unknown[] {
  if (depth > MOST_NESTED) invalidFile(cursor.file, part, `is nested more than ${MOST_NESTED} arrays deep`);
  const type = valueType(cursor, part);
  const length = cursor.count(part);
  cursor.need(length * type.bytes, part);
  const read: ReadValue = type === VALUE_TYPES[ARRAY] ? (at, name) => readArray(at, name, depth + 1) : type.read;
  const values: unknown[] = [];
  for (let i = 0; i < length; i++) values.push(read(cursor, part));
  return values;
}

type DescribedTensor = Omit<StoredTensor, "file">;

/** The tensors' descriptions, with offsets from the start of the data. */
function readTensors(cursor: HeaderCursor, count: number): DescribedTensor[] {
  const tensors = new Map<string, DescribedTensor>();
  for (let i = 0; i < count; i++) {
    const name = readString(cursor, `tensor name ${i}`);
    if (tensors.has(name)) invalidFile(cursor.file, name, "is the name of two tensors");
    const dimensions = cursor.u32(name);
    if (dimensions > MOST_DIMENSIONS)
      invalidFile(cursor.file, name, `has ${dimensions} dimensions, more than ${MOST_DIMENSIONS}`);
    const shape = Array.from({ length: dimensions }, () => cursor.count(name)).reverse(); // files begin with the innermost
    const format = formatOf(cursor.file, name, cursor.u32(name));
    const bytes = tensorBytes(format, shape) ?? refuseShape(cursor.file, name, format, shape);
    tensors.set(name, { name, format, shape, bytes, offset: cursor.count(name) });
  }
  return [...tensors.values()];
}

function formatOf(file: string, tensor: string, type: number): WeightFormatName {
  const name = GGML_TYPES[type] ?? "";
  if (isWeightFormat(name)) return name;
  const shown = name === "" ? `number ${type}` : name.toUpperCase();
  const have = WEIGHT_FORMATS.map((format) => format.toUpperCase()).join(", ");
  return unsupportedModel(file, tensor, `tensor type ${shown} is not read; take a file with ${have}`);
}

function refuseShape(file: string, tensor: string, format: WeightFormatName, shape: readonly number[]): never {
  const { elements } = WEIGHT_BLOCKS[format];
  return invalidFile(
    file,
    tensor,
    `its shape [${shape.join(", ")}] is not of whole ${format} blocks of ${elements}, or is too large`,
  );
}

function alignmentOf(file: string, metadata: Readonly<Record<string, unknown>>): number {
  const alignment = metadata["general.alignment"] ?? 32;
  const isPower =
    typeof alignment === "number" && Number.isInteger(Math.log2(alignment)) && alignment >= 1 && alignment <= 2 ** 31;
  if (!isPower) invalidFile(file, "general.alignment", `must be a power of two (got ${String(alignment)})`);
  return alignment;
}
