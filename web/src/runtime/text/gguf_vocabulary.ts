// Reads the vocabulary in the metadata of a GGUF file, and checks the type of each value.
import { show } from "../../core/base/show.js";
import { fail } from "../../core/base/errors.js";
import { isArray } from "../../core/base/typed_arrays.js";
import { isControlName } from "./special_tokens.js";
import { byteOfPiece, TOKEN_KINDS, Vocabulary } from "./vocabulary.js";

/** Metadata of a GGUF file, by key. Arrays may be typed arrays, and 64-bit integers bigints. */
export type GgufMetadata = Readonly<Record<string, unknown>>;

/** Throws INVALID_FILE for a metadata key. */
export function invalid(key: string, message: string): never {
  fail("INVALID_FILE", key, `${message}; the file is damaged or was converted incorrectly`);
}

/** Reads a string; undefined if the key is missing. @throws INVALID_FILE (the key) */
export function stringOf(metadata: GgufMetadata, key: string): string | undefined {
  const value = metadata[key];
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : invalid(key, `must be a string (got ${typeof value})`);
}

/** Reads a boolean; undefined if the key is missing. @throws INVALID_FILE (the key) */
export function booleanOf(metadata: GgufMetadata, key: string): boolean | undefined {
  const value = metadata[key];
  if (value === undefined || value === null) return undefined;
  return typeof value === "boolean" ? value : invalid(key, `must be a boolean (got ${typeof value})`);
}

/** Reads a token id below `size`; undefined if the key is missing. @throws INVALID_FILE (the key) */
export function tokenOf(metadata: GgufMetadata, key: string, size: number): number | undefined {
  const value = metadata[key];
  if (value === undefined || value === null) return undefined;
  const id = typeof value === "bigint" ? Number(value) : value;
  if (typeof id === "number" && Number.isInteger(id) && id >= 0 && id < size) return id;
  return invalid(key, `must be a token id below ${size} (got ${show(value)})`);
}

/** Reads an array of strings. @throws INVALID_FILE (the key) */
export function stringsOf(metadata: GgufMetadata, key: string): readonly string[] {
  const value = metadata[key];
  if (!isArray(value))
    return invalid(key, `must be an array of strings (got ${value === undefined ? "none" : typeof value})`);
  const wrong = value.findIndex((item) => typeof item !== "string");
  return wrong < 0
    ? (value as string[])
    : invalid(key, `must be an array of strings (element ${wrong} is ${typeof value[wrong]})`);
}

/** Reads an array of `length` numbers; undefined if the key is missing. @throws INVALID_FILE (the key) */
export function numbersOf(metadata: GgufMetadata, key: string, length: number): Float64Array | undefined {
  const value = metadata[key];
  if (value === undefined || value === null) return undefined;
  const isList = isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  if (!isList) return invalid(key, `must be an array of numbers (got ${typeof value})`);
  const items = value as ArrayLike<unknown>;
  if (items.length !== length)
    return invalid(key, `must have one number for each of the ${length} tokens (got ${items.length})`);
  const numbers = new Float64Array(length); // Float64Array.from() takes four times as long
  for (let i = 0; i < length; i++) {
    const item = items[i];
    numbers[i] = typeof item === "number" || typeof item === "bigint" ? Number(item) : NaN;
  }
  const wrong = numbers.findIndex(Number.isNaN);
  return wrong < 0 ? numbers : invalid(key, `must be an array of numbers (element ${wrong} is not a number)`);
}

/** Reads an array of bytes, signed or not; undefined if the key is missing. @throws INVALID_FILE (the key) */
export function bytesOf(metadata: GgufMetadata, key: string): Uint8Array | undefined {
  const value = metadata[key];
  const isList = isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  const numbers = numbersOf(metadata, key, isList ? (value as unknown as ArrayLike<unknown>).length : 0);
  const wrong = numbers?.find((number) => !Number.isInteger(number) || number < -128 || number > 255);
  if (wrong !== undefined) return invalid(key, `must be an array of bytes (got ${wrong})`);
  return numbers && Uint8Array.from(numbers, (number) => number & 0xff);
}

/**
 * Reads `tokenizer.ggml.tokens` and `token_type`.
 *
 * @throws INVALID_FILE (the invalid key)
 */
export function readVocabulary(metadata: GgufMetadata): Vocabulary {
  const key = "tokenizer.ggml.tokens";
  // llama.cpp's name for an empty token
  const pieces = stringsOf(metadata, key).map((piece, id) => (piece === "" ? `[EMPTY_${id}]` : piece));
  if (pieces.length === 0) return invalid(key, "must have at least one token");
  const ids = new Map<string, number>();
  pieces.forEach((piece, id) => {
    if (ids.set(piece, id).size > id) return;
    invalid(key, `tokens must be unique (${show(piece)} has ids ${pieces.indexOf(piece)} and ${id})`);
  });
  return new Vocabulary(pieces, readKinds(metadata, pieces), ids);
}

function readKinds(metadata: GgufMetadata, pieces: readonly string[]): Uint8Array {
  const key = "tokenizer.ggml.token_type";
  const types = numbersOf(metadata, key, pieces.length);
  const kinds = new Uint8Array(pieces.length).fill(TOKEN_KINDS.normal);
  types?.forEach((type, id) => {
    // some converters write 0, "undefined", for an unknown type
    if (!Number.isInteger(type) || type < 0 || type > TOKEN_KINDS.byte)
      invalid(key, `types must be integers from 0 to 6 (token ${id} has ${type})`);
    const piece = pieces[id]!;
    if (type === TOKEN_KINDS.byte && byteOfPiece(piece) === undefined) {
      invalid(key, `token ${id} has type byte and must be written like <0x0A> (got ${show(piece)})`);
    }
    if (type !== 0) kinds[id] = type === TOKEN_KINDS.user_defined && isControlName(piece) ? TOKEN_KINDS.control : type;
  });
  return kinds;
}
