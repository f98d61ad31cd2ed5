import type { ByteSource } from "./byte_source.js";
import { readRange } from "./byte_source.js";
import { invalidFile } from "./failures.js";
import { LONGEST_HEADER } from "./header.js";

/** What a JSON file holds: nothing about its values is known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value read from JSON is an object. @internal */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that bytes hold. @throws INVALID_FILE @internal */
export function parseJsonObject(file: string, part: string, bytes: Uint8Array): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(decodeUtf8(file, part, bytes));
  } catch (cause) {
    invalidFile(file, part, `is not JSON: ${(cause as Error).message}`, { cause });
  }
  return isJsonObject(value) ? value : invalidFile(file, part, "must be a JSON object");
}

/** Reads a whole file of text. @throws INVALID_FILE where it is not UTF-8 @internal */
export async function readText(source: ByteSource, signal?: AbortSignal): Promise<string> {
  return decodeUtf8(source.name, "text", await readWhole(source, signal));
}

/** Reads a whole file of JSON. @throws INVALID_FILE @internal */
export async function readJson(source: ByteSource, signal?: AbortSignal): Promise<JsonObject> {
  return parseJsonObject(source.name, "JSON", await readWhole(source, signal));
}

function decodeUtf8(file: string, part: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    return invalidFile(file, part, "is not UTF-8", { cause });
  }
}

async function readWhole(source: ByteSource, signal: AbortSignal | undefined): Promise<Uint8Array> {
  if (source.size <= LONGEST_HEADER) return readRange(source, 0, source.size, signal);
  if (source.size !== Infinity)
    invalidFile(source.name, "size", `${source.size} bytes are more than the ${LONGEST_HEADER} that are read`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of source.stream(0, LONGEST_HEADER, signal)) {
    chunks.push(chunk.slice());
  }
  return new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer());
}
