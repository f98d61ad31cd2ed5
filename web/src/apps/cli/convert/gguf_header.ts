// Writes the header of a GGUF file.
import { GGML_TYPES, tensorBytes, type WeightFormatName } from "../../../core/quantize/weight_formats.js";

/** A value of the metadata with its type. Arrays have elements of one type. */
export type GgufValue =
  | { readonly type: "u32" | "i32" | "f32"; readonly value: number }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "strings"; readonly value: readonly string[] }
  | { readonly type: "i32s"; readonly value: readonly number[] };

/** A tensor of a file to write. */
export interface GgufTensor {
  readonly name: string;
  readonly format: WeightFormatName;
  /** Dimensions, outermost first. */
  readonly shape: readonly number[];
}

/** Numbers of types (gguf.h). Arrays start with 9 and the type of their elements. */
const TYPES = { u32: [4], i32: [5], f32: [6], bool: [7], string: [8], strings: [9, 8], i32s: [9, 5] } as const;

const VERSION = 3;
const encoder = new TextEncoder();

/** An entry of the metadata, as bytes. */
export function metadataEntry(key: string, value: GgufValue): Uint8Array {
  return join([text(key), ...TYPES[value.type].map((type) => u32(type)), ...valueBytes(value)]);
}

/** The header with its padding, and the offset of each tensor's data from the start of the file. */
export function ggufHeader(
  entries: readonly Uint8Array[],
  tensors: readonly GgufTensor[],
  alignment: number,
): { header: Uint8Array; offsets: number[]; size: number } {
  const padded = (length: number): number => Math.ceil(length / alignment) * alignment;
  const starts: number[] = [];
  let end = 0;
  for (const { format, shape } of tensors) {
    starts.push(end);
    end = padded(end + tensorBytes(format, shape)!);
  }
  const descriptions = tensors.flatMap(({ name, format, shape }, i) => [
    text(name),
    u32(shape.length),
    ...[...shape].reverse().map(u64), // files store the innermost dimension first
    u32(GGML_TYPES.indexOf(format)),
    u64(starts[i]!),
  ]);
  const counts = [encoder.encode("GGUF"), u32(VERSION), u64(tensors.length), u64(entries.length)];
  const parts = join([...counts, ...entries, ...descriptions]);
  const header = new Uint8Array(padded(parts.length));
  header.set(parts);
  return { header, offsets: starts.map((start) => header.length + start), size: header.length + end };
}

function valueBytes(value: GgufValue): Uint8Array[] {
  switch (value.type) {
    case "u32":
      return [u32(value.value)];
    case "i32":
      return [i32s([value.value])];
    case "f32":
      return [new Uint8Array(Float32Array.of(value.value).buffer)];
    case "bool":
      return [Uint8Array.of(Number(value.value))];
    case "string":
      return [text(value.value)];
    case "strings":
      return [u64(value.value.length), ...value.value.map(text)];
    case "i32s":
      return [u64(value.value.length), i32s(value.value)];
  }
}

// Node runs only on little-endian processors with WebAssembly, so typed arrays have the order of the file.
const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);
const u64 = (value: number): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
const i32s = (values: readonly number[]): Uint8Array => new Uint8Array(Int32Array.from(values).buffer);

function text(value: string): Uint8Array {
  const bytes = encoder.encode(value);
  return join([u64(bytes.length), bytes]);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    joined.set(part, end);
    end += part.length;
  }
  return joined;
}
