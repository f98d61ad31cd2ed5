// Reads the header of a safetensors file.
import * as advise from "../../../core/base/advice.js";
import { isDict } from "../../../core/base/dict.js";
import { show } from "../../../core/base/show.js";
import { invalidFile, named, unsupportedModel } from "../errors.js";
import type { HeaderCursor } from "../header_reader.js";
import { parseJsonObject } from "../json_file.js";
import { MAX_DIMENSIONS, MAX_NAME_BYTES, MAX_TENSORS } from "../limits.js";
import { checkTensorRanges, type PackedTensor, type StoredTensor } from "../stored_tensor.js";
import { elementsOf, exactProduct, tensorBytes, type WeightFormatName } from "../../../core/quantize/weight_formats.js";

/** Supported element types, by their name in a header. */
const DTYPES: Readonly<Record<string, WeightFormatName>> = { F32: "f32", F16: "f16", BF16: "bf16" };

/** Element sizes in bytes of the other types in the safetensors format. Weights of these types are an error. */
const OTHER_DTYPES: Readonly<Record<string, number>> = {
  ...{
    BOOL: 1,
    U8: 1,
    I8: 1,
    F8_E4M3: 1,
    F8_E5M2: 1,
    F8_E8M0: 1,
    I16: 2,
    U16: 2,
    I32: 4,
    U32: 4,
    I64: 8,
    U64: 8,
    F64: 8,
    C64: 8,
  },
};

/** Types of the parts of quantized weights. Other tensors of these types are an error. */
const PACKED_DTYPES: readonly string[] = ["I32", "U32", "I64", "U8", "I8", "F8_E4M3"];

/** Masks and position ids, which older versions of transformers saved with the weights. */
const IGNORED_TENSOR = /(^|\.)(attn|attention)\.(bias|masked_bias)$|(^|\.)position_ids$/;

/** Whether a tensor isn't a weight, so that it may be missing or of an unsupported type. @internal */
export function isIgnoredTensor(name: string): boolean {
  return IGNORED_TENSOR.test(name);
}

/** A tensor of any element type. @internal */
export interface SafetensorsEntry {
  readonly name: string;
  /** As in the header: F32, BF16, I64 … */
  readonly dtype: string;
  /** Dimensions, outermost first. */
  readonly shape: readonly number[];
  /** Bytes from the start of the file. */
  readonly offset: number;
  /** Its length in bytes. */
  readonly bytes: number;
}

/**
 * Reads the header of a safetensors file: its length as a 64-bit integer, then JSON. As the format requires, tensors must cover the data
 * without gaps or overlaps. A name that appears twice leaves a gap.
 *
 * @param size of the file in bytes, or Infinity
 * @param bytesOf returns the length of a tensor in bytes, and throws for types that the caller can't use
 * @throws INVALID_FILE, and what `bytesOf` throws
 * @internal
 */
export function parseEntries(
  cursor: HeaderCursor,
  size: number,
  bytesOf: (file: string, name: string, dtype: string, shape: readonly number[]) => number | undefined,
): SafetensorsEntry[] {
  const { file } = cursor;
  const isJson = cursor.take(9, "header length")[8] === 0x7b;
  cursor.position = 0;
  const length = isJson ? cursor.count("header length") : 0;
  if (length === 0) invalidFile(file, "header", "must be JSON that starts with {; the file is not safetensors");
  const json = cursor.take(length, "header");
  const dataStart = cursor.position;
  const header = parseJsonObject(file, "header", json);

  const names = Object.keys(header);
  if (names.length > MAX_TENSORS)
    invalidFile(
      file,
      "header",
      `has ${names.length} tensors, more than the limit of ${MAX_TENSORS}: the file is damaged`,
    );
  const entries: SafetensorsEntry[] = [];
  for (const name of names) {
    if (name === "__metadata__") continue;
    if (name.length > MAX_NAME_BYTES)
      invalidFile(file, name, `names of tensors have at most ${MAX_NAME_BYTES} letters`);
    const entry = header[name];
    const { dtype, shape, begin, end } = parseEntry(file, name, entry);
    const bytes = bytesOf(file, name, dtype, shape);
    if (bytes !== end - begin) {
      invalidFile(
        file,
        name,
        `shape [${shape.join(", ")}] of ${named(dtype)} takes ${bytes ?? "too many"} bytes, but data_offsets span ${end - begin}`,
      );
    }
    entries.push({ name, dtype, shape, offset: dataStart + begin, bytes });
  }
  checkTensorRanges(file, entries, dataStart, size);
  const data = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  const end = entries.reduce((last, { offset, bytes }) => Math.max(last, offset + bytes), dataStart);
  if (dataStart + data !== end)
    invalidFile(file, "data_offsets", "tensors leave a gap, or a name appears twice: the file is damaged");
  if (size !== Infinity && end !== size)
    invalidFile(
      file,
      "size",
      `the tensors end at byte ${end}, but the file has ${size} bytes: it is damaged`,
      advise.other("download it again"),
    );
  return entries;
}

/**
 * The weights in a safetensors file. Masks and position ids that older versions of transformers saved are ignored.
 *
 * @param index of the file among the model's files
 * @param size of the file in bytes, or Infinity
 * @throws INVALID_FILE, UNSUPPORTED_MODEL
 * @internal
 */
export function parseSafetensors(
  cursor: HeaderCursor,
  index: number,
  size: number,
): { tensors: StoredTensor[]; packed: PackedTensor[] } {
  const tensors: StoredTensor[] = [];
  const packed: PackedTensor[] = [];
  for (const { dtype, ...range } of parseEntries(cursor, size, weightBytes)) {
    const format = formatOf(dtype);
    if (format !== undefined) tensors.push({ ...range, format, file: index });
    else if (!isIgnoredTensor(range.name)) packed.push({ ...range, dtype, file: index });
  }
  return { tensors, packed };
}

/** Throws UNSUPPORTED_MODEL for a tensor of a type that weights can't have. @internal */
export function refuseDtype(file: string, name: string, dtype: string): never {
  return unsupportedModel(
    file,
    name,
    `dtype ${named(dtype)} is not supported`,
    advise.other(`use a version of the model in ${Object.keys(DTYPES).join(", ")}`),
  );
}

/** Length in bytes of a tensor of any element type; undefined for an unknown type. @internal */
export function elementBytes(dtype: string, shape: readonly number[]): number | undefined {
  const format = formatOf(dtype);
  if (format !== undefined) return tensorBytes(format, shape);
  const size = Object.hasOwn(OTHER_DTYPES, dtype) ? OTHER_DTYPES[dtype]! : undefined;
  const count = elementsOf(shape);
  return size === undefined || count === undefined ? undefined : exactProduct([count, size]);
}

function formatOf(dtype: string): WeightFormatName | undefined {
  return Object.hasOwn(DTYPES, dtype) ? DTYPES[dtype] : undefined;
}

interface ParsedEntry {
  dtype: string;
  shape: number[];
  begin: number;
  end: number;
}

function parseEntry(file: string, name: string, entry: unknown): ParsedEntry {
  if (!isDict(entry)) return invalidFile(file, name, "must be an object with dtype, shape and data_offsets");
  const { dtype, shape, data_offsets: offsets } = entry;
  if (typeof dtype !== "string") return invalidFile(file, name, `dtype must be a string (got ${show(dtype)})`);
  if (!areCounts(shape) || shape.length > MAX_DIMENSIONS)
    return invalidFile(
      file,
      name,
      `shape must be an array of at most ${MAX_DIMENSIONS} integers, 0 or more (got ${show(shape)})`,
    );
  if (!areCounts(offsets) || offsets.length !== 2 || offsets[0]! > offsets[1]!) {
    return invalidFile(file, name, `data_offsets must be two ascending integers, [begin, end] (got ${show(offsets)})`);
  }
  return { dtype, shape, begin: offsets[0]!, end: offsets[1]! };
}

function areCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}

function weightBytes(file: string, name: string, dtype: string, shape: readonly number[]): number | undefined {
  const isOther = Object.hasOwn(OTHER_DTYPES, dtype) && (isIgnoredTensor(name) || PACKED_DTYPES.includes(dtype));
  if (formatOf(dtype) === undefined && !isOther) return refuseDtype(file, name, dtype);
  return elementBytes(dtype, shape);
}
