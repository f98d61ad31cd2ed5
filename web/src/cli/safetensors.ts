import { RopewalkError } from "../errors.js";

/** A tensor's entry in the header of a safetensors file. */
export interface Entry {
  dtype: string;
  shape: readonly number[];
  /** Bytes from the end of the header, begin and end. */
  data_offsets: readonly [begin: number, end: number];
}

/** The header of a safetensors file. */
export interface Header {
  tensors: ReadonlyMap<string, Entry>;
  /** `__metadata__`, as it is. */
  metadata: unknown;
  /** Where data begins. */
  dataStart: number;
}

/** Bytes of an element. */
export const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  ...{ BOOL: 1, U8: 1, I8: 1, F8_E4M3: 1, F8_E5M2: 1, F8_E8M0: 1, I16: 2, U16: 2, F16: 2, BF16: 2 },
  ...{ I32: 4, U32: 4, F32: 4, I64: 8, U64: 8, F64: 8, C64: 8 },
};

/** Longest header that is read; the format's own reader has the same limit. */
const LONGEST_HEADER = 1e8;

/** A header's bytes, its length in front, padded so that data begins at a multiple of eight. */
export function writeHeader(tensors: Readonly<Record<string, Entry>>, metadata?: unknown): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify({ ...(metadata !== undefined && { __metadata__: metadata }), ...tensors }));
  const bytes = new Uint8Array(8 + Math.ceil(json.length / 8) * 8).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(bytes.length - 8), true);
  bytes.set(json, 8);
  return bytes;
}

/**
 * Reads a header, and checks that each tensor has the bytes that its shape asks for, and that all of them lie in the file.
 * @param read - the bytes from `start` to before `end`.
 * @param size - of the file.
 * @throws {@link RopewalkError} INVALID_FILE
 */
export async function readHeader(name: string, size: number, read: (start: number, end: number) => Promise<Uint8Array>): Promise<Header> {
  const fail = (field: string, message: string): never => {
    throw new RopewalkError("INVALID_FILE", `${name}: ${field}`, message);
  };
  if (size < 10) fail("file", "is too short for a safetensors file");
  const begin = await read(0, 9);
  const length = Number(new DataView(begin.buffer, begin.byteOffset).getBigUint64(0, true));
  if (begin[8] !== 0x7b) fail("header", "is not that of a safetensors file, which begins with {");
  if (length > LONGEST_HEADER || 8 + length > size) fail("header", `takes ${length} bytes of a file of ${size}`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await read(8, 8 + length)));
  } catch (cause) {
    fail("header", `is no JSON: ${(cause as Error).message}`);
  }
  const { __metadata__: metadata, ...entries } = parsed as Record<string, unknown>;
  const tensors = new Map<string, Entry>();
  for (const [tensor, entry] of Object.entries(entries)) {
    const problem = problemOf(entry, size - 8 - length);
    if (problem !== undefined) fail(tensor, problem);
    tensors.set(tensor, entry as Entry);
  }
  return { tensors, metadata, dataStart: 8 + length };
}

function problemOf(entry: unknown, dataBytes: number): string | undefined {
  const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Partial<Entry>;
  const areCounts = (list: readonly number[] | undefined): list is readonly number[] =>
    Array.isArray(list) && list.every((item) => Number.isSafeInteger(item) && item >= 0);
  if (typeof dtype !== "string" || !areCounts(shape) || !areCounts(offsets) || (offsets.length as number) !== 2)
    return "must have dtype, shape and data_offsets";
  const size = ELEMENT_BYTES[dtype];
  if (size === undefined) return `has the unknown dtype ${dtype}`;
  const bytes = shape.reduce((product, extent) => product * extent, size);
  if (offsets[1] - offsets[0] !== bytes) return `[${shape.join(", ")}] of ${dtype} takes ${bytes} bytes, not ${offsets[1] - offsets[0]}`;
  return offsets[1] > dataBytes ? `ends at byte ${offsets[1]} of ${dataBytes}: the file is cut short` : undefined;
}
