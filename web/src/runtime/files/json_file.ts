// Reads the text and JSON files of a model.
import * as advise from "../../core/base/advice.js";
import { type Dict, isDict } from "../../core/base/dict.js";
import type { ByteSource } from "./byte_source.js";
import { readRange } from "./byte_source.js";
import { invalidFile } from "./errors.js";
import { MAX_HEADER_BYTES, MAX_JSON_DEPTH, MAX_VALUES } from "./limits.js";

/** Parses UTF-8 bytes as a JSON object. @throws INVALID_FILE @internal */
export function parseJsonObject(file: string, part: string, bytes: Uint8Array): Dict {
  const value = parseJson(file, part, bytes);
  return isDict(value) ? value : invalidFile(file, part, "must be a JSON object");
}

function parseJson(file: string, part: string, bytes: Uint8Array): unknown {
  checkJsonSize(file, part, bytes);
  const text = decodeUtf8(file, part, bytes);
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    return invalidFile(file, part, `is not JSON: ${(cause as Error).message}`, { cause });
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Checks how many values JSON has and how deep they are, before memory is allocated for them: an empty array is two bytes in a file and more
 * than 40 in memory.
 */
function checkJsonSize(file: string, part: string, bytes: Uint8Array): void {
  let values = 0;
  let depth = 0;
  let isString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (isString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) isString = false;
    } else if (byte === QUOTE) isString = true;
    else if (byte === COMMA) values++;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      values++;
      if (++depth > MAX_JSON_DEPTH)
        invalidFile(file, part, `has values nested more than ${MAX_JSON_DEPTH} deep: the file is damaged`);
    }
  }
  if (values > MAX_VALUES)
    invalidFile(file, part, `has ${values} values, more than the limit of ${MAX_VALUES}: the file is damaged`);
}

/** Reads a whole text file. @throws INVALID_FILE if it isn't UTF-8 @internal */
export async function readText(source: ByteSource, signal?: AbortSignal): Promise<string> {
  return decodeUtf8(source.name, "text", await readWhole(source, signal));
}

/** Reads a whole JSON file. @throws INVALID_FILE @internal */
export async function readJson(source: ByteSource, signal?: AbortSignal): Promise<Dict> {
  return parseJsonObject(source.name, "JSON", await readWhole(source, signal));
}

/** Reads a whole JSON file that is a list. @throws INVALID_FILE @internal */
export async function readJsonList(source: ByteSource, signal?: AbortSignal): Promise<readonly unknown[]> {
  const value = parseJson(source.name, "JSON", await readWhole(source, signal));
  return Array.isArray(value) ? (value as unknown[]) : invalidFile(source.name, "JSON", "must be a JSON list");
}

function decodeUtf8(file: string, part: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    return invalidFile(file, part, "is not valid UTF-8", { ...advise.other("download the file again"), cause });
  }
}

async function readWhole(source: ByteSource, signal: AbortSignal | undefined): Promise<Uint8Array> {
  if (source.size <= MAX_HEADER_BYTES) return readRange(source, 0, source.size, signal);
  if (source.size !== Infinity)
    invalidFile(source.name, "size", `must be at most ${MAX_HEADER_BYTES} bytes (got ${source.size})`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of source.stream(0, MAX_HEADER_BYTES, signal)) {
    chunks.push(chunk.slice());
  }
  return new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer());
}
