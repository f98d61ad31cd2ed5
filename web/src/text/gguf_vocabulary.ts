import { RopewalkError } from "../base/errors.js";
import { byteOfPiece, TOKEN_KINDS, Vocabulary, type Spelling } from "./vocabulary.js";

/** Metadata of a GGUF file, by key. Arrays may be typed ones, integers of 64 bits bigint. */
export type GgufMetadata = Readonly<Record<string, unknown>>;

/** Raises INVALID_FILE for a key of the metadata. */
export function refuse(key: string, message: string): never {
  throw new RopewalkError("INVALID_FILE", key, `${message}; the file is damaged or was converted wrongly`);
}

/** A string, or undefined where the key is absent. @throws INVALID_FILE (the key) */
export function stringOf(metadata: GgufMetadata, key: string): string | undefined {
  const value = metadata[key];
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : refuse(key, `must be a string (is ${typeof value})`);
}

/** A truth value, or undefined where the key is absent. @throws INVALID_FILE (the key) */
export function booleanOf(metadata: GgufMetadata, key: string): boolean | undefined {
  const value = metadata[key];
  if (value === undefined || value === null) return undefined;
  return typeof value === "boolean" ? value : refuse(key, `must be true or false (is ${typeof value})`);
}

/** A token id below `size`, or undefined where the key is absent. @throws INVALID_FILE (the key) */
export function tokenOf(metadata: GgufMetadata, key: string, size: number): number | undefined {
  const value = metadata[key];
  if (value === undefined || value === null) return undefined;
  const id = typeof value === "bigint" ? Number(value) : value;
  if (typeof id === "number" && Number.isInteger(id) && id >= 0 && id < size) return id;
  return refuse(key, `must be a token id below ${size} (is ${String(value)})`);
}

/** An array of strings. @throws INVALID_FILE (the key) */
export function stringsOf(metadata: GgufMetadata, key: string): readonly string[] {
  const value = metadata[key];
  if (!Array.isArray(value)) return refuse(key, "must be an array of strings, and is not there");
  const wrong = value.findIndex((item) => typeof item !== "string");
  return wrong < 0 ? (value as string[]) : refuse(key, `must be an array of strings (element ${wrong} is none)`);
}

/** Numbers, `length` of them, or undefined where the key is absent. @throws INVALID_FILE (the key) */
export function numbersOf(metadata: GgufMetadata, key: string, length: number): Float64Array | undefined {
  const value = metadata[key];
  if (value === undefined || value === null) return undefined;
  const isArray = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  if (!isArray) return refuse(key, "must be an array of numbers");
  const items = value as ArrayLike<unknown>;
  if (items.length !== length)
    return refuse(key, `must have a number for each of the ${length} tokens (has ${items.length})`);
  const numbers = Float64Array.from(items as ArrayLike<number>, (item: unknown) =>
    typeof item === "number" || typeof item === "bigint" ? Number(item) : NaN,
  );
  const wrong = numbers.findIndex(Number.isNaN);
  return wrong < 0 ? numbers : refuse(key, `must be an array of numbers (element ${wrong} is none)`);
}

/**
 * Reads `tokenizer.ggml.tokens` and `token_type`.
 *
 * @throws INVALID_FILE (the key at fault)
 */
export function readVocabulary(metadata: GgufMetadata, spelling: Spelling): Vocabulary {
  const key = "tokenizer.ggml.tokens";
  const pieces = stringsOf(metadata, key);
  if (pieces.length === 0) return refuse(key, "must have a token at least");
  const ids = new Map<string, number>();
  pieces.forEach((piece, id) => {
    const other = ids.get(piece);
    if (other !== undefined) refuse(key, `${JSON.stringify(piece)} is there twice, as ${other} and ${id}`);
    ids.set(piece, id);
  });
  return new Vocabulary(pieces, readKinds(metadata, pieces), ids, spelling);
}

function readKinds(metadata: GgufMetadata, pieces: readonly string[]): Uint8Array {
  const key = "tokenizer.ggml.token_type";
  const types = numbersOf(metadata, key, pieces.length);
  const kinds = new Uint8Array(pieces.length).fill(TOKEN_KINDS.normal);
  types?.forEach((type, id) => {
    // 0, "undefined", is what converters write that do not know
    if (!Number.isInteger(type) || type < 0 || type > TOKEN_KINDS.byte)
      refuse(key, `must be types 1 to 6 (token ${id} has ${type})`);
    const piece = pieces[id]!;
    if (type === TOKEN_KINDS.byte && byteOfPiece(piece) === undefined) {
      refuse(key, `token ${id}, ${JSON.stringify(piece)}, is of type byte and names no byte as <0x0A> does`);
    }
    if (type !== 0) kinds[id] = type;
  });
  return kinds;
}
