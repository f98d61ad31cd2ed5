import { invalidFile, unsupportedModel } from "./failures.js";
import type { HeaderCursor } from "./header.js";
import { isJsonObject, parseJsonObject } from "./json_file.js";
import { checkPlaces, type StoredTensor } from "./stored_tensor.js";
import { tensorBytes, type WeightFormatName } from "./weight_formats.js";

/** Formats by their name in a header, and the bytes of an element. */
const DTYPES: Readonly<Record<string, WeightFormatName>> = { F32: "f32", F16: "f16", BF16: "bf16" };

/** Element sizes of what safetensors holds besides; such tensors are left out where they are no weights, else refused. */
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

/** Masks and position ids, which older versions of transformers saved with the weights. */
const NO_WEIGHT = /(^|\.)(attn|attention)\.(bias|masked_bias)$|(^|\.)position_ids$/;

/** Whether a tensor may have been left out for being no weight. @internal */
export function isNoWeight(name: string): boolean {
  return NO_WEIGHT.test(name);
}

/** Where a tensor of any element type lies. @internal */
export interface SafetensorsEntry {
  readonly name: string;
  /** As the header has it: F32, BF16, I64 … */
  readonly dtype: string;
  /** Lengths, outermost first. */
  readonly shape: readonly number[];
  /** Bytes from the start of the file. */
  readonly offset: number;
  /** Its length in bytes. */
  readonly bytes: number;
}

/**
 * Reads the header of a safetensors file: its length in 64 bits, then JSON. Offsets must cover the data without gap or overlap, as the
 * format asks; a name that stands twice is found by the gap it leaves.
 *
 * @param size of the file, or Infinity
 * @param bytesOf what a tensor takes; it refuses what the caller cannot use
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
  if (length === 0) invalidFile(file, "header", "is not that of a safetensors file, which begins with {");
  const json = cursor.take(length, "header");
  const dataStart = cursor.position;
  const header = parseJsonObject(file, "header", json);

  const entries: SafetensorsEntry[] = [];
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const { dtype, shape, begin, end } = described(file, name, entry);
    const bytes = bytesOf(file, name, dtype, shape);
    if (bytes !== end - begin) {
      invalidFile(
        file,
        name,
        `[${shape.join(", ")}] of ${dtype} takes ${bytes ?? "too many"} bytes, not ${end - begin}`,
      );
    }
    entries.push({ name, dtype, shape, offset: dataStart + begin, bytes });
  }
  checkPlaces(file, entries, dataStart, size);
  const data = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  const end = entries.reduce((last, { offset, bytes }) => Math.max(last, offset + bytes), dataStart);
  if (dataStart + data !== end)
    invalidFile(file, "data_offsets", "leave a gap between tensors, or a name stands twice");
  if (size !== Infinity && end !== size)
    invalidFile(file, "size", `the tensors end at byte ${end} of a file of ${size}`);
  return entries;
}

/**
 * The weights that a safetensors file holds; others, which older versions of transformers saved with them, are left out.
 *
 * @param index which of the model's files this is
 * @param size of the file, or Infinity
 * @throws INVALID_FILE, UNSUPPORTED_MODEL
 * @internal
 */
export function parseSafetensors(cursor: HeaderCursor, index: number, size: number): StoredTensor[] {
  return parseEntries(cursor, size, weightBytes).flatMap(({ dtype, ...place }): StoredTensor[] => {
    const format = formatOf(dtype);
    return format === undefined ? [] : [{ ...place, format, file: index }];
  });
}

/** What a tensor of any element type takes; undefined where that is not known. @internal */
export function elementBytes(dtype: string, shape: readonly number[]): number | undefined {
  const format = formatOf(dtype);
  if (format !== undefined) return tensorBytes(format, shape);
  const size = Object.hasOwn(OTHER_DTYPES, dtype) ? OTHER_DTYPES[dtype]! : undefined;
  return size === undefined ? undefined : shape.reduce((product, length) => product * length, size);
}

function formatOf(dtype: string): WeightFormatName | undefined {
  return Object.hasOwn(DTYPES, dtype) ? DTYPES[dtype] : undefined;
}

interface Described {
  dtype: string;
  shape: number[];
  begin: number;
  end: number;
}

function described(file: string, name: string, entry: unknown): Described {
  if (!isJsonObject(entry)) return invalidFile(file, name, "must be an object with dtype, shape and data_offsets");
  const { dtype, shape, data_offsets: offsets } = entry;
  if (typeof dtype !== "string") return invalidFile(file, name, "its dtype must be a string");
  if (!areCounts(shape)) return invalidFile(file, name, "its shape must be a list of integers from 0");
  if (!areCounts(offsets) || offsets.length !== 2 || offsets[0]! > offsets[1]!) {
    return invalidFile(file, name, "its data_offsets must be two integers, begin and end");
  }
  return { dtype, shape, begin: offsets[0]!, end: offsets[1]! };
}

function areCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}

function weightBytes(file: string, name: string, dtype: string, shape: readonly number[]): number | undefined {
  const isUsed = formatOf(dtype) !== undefined || (Object.hasOwn(OTHER_DTYPES, dtype) && isNoWeight(name));
  if (!isUsed)
    return unsupportedModel(
      file,
      name,
      `dtype ${dtype} is not read; take a model in ${Object.keys(DTYPES).join(", ")}`,
    );
  return elementBytes(dtype, shape);
}
