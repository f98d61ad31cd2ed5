// How a download is stored: pieces of the file, and a JSON record that describes it.
import { isJsonObject } from "../json_file.js";
import { withoutFragment } from "../http/urls.js";
import type { PieceStore } from "./piece_store.js";

/** Length of a piece in bytes. An interrupted download loses at most this much, and a piece is held in memory until complete. @internal */
export const PIECE_BYTES = 16 << 20;

const RECORD = "about";

/** Describes a cached file. Stored as JSON next to its pieces. @internal */
export interface CacheRecord {
  /** URL of the model that the file was last opened for. */
  readonly source: string;
  /** Length in bytes; undefined for a file that the server doesn't have. */
  readonly size?: number | undefined;
  readonly version?: string | undefined;
}

/** A file with data in a store. @internal */
export interface CachedFile {
  readonly key: string;
  /** Indices of its stored pieces. */
  readonly pieces: readonly number[];
}

/** A key for a URL of any length, made of characters that any store accepts. @internal */
export async function keyOf(url: URL): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(withoutFragment(url)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @internal */
export function pieceName(key: string, index: number): string {
  return `${key}-${index}`;
}

/** Length of a piece of a file of `size` bytes. @internal */
export function pieceBytes(size: number, index: number): number {
  return Math.max(0, Math.min(PIECE_BYTES, size - index * PIECE_BYTES));
}

/** @internal */
export async function readRecord(store: PieceStore, key: string): Promise<CacheRecord | undefined> {
  try {
    const blob = await store.read(`${key}-${RECORD}`);
    const record: unknown = blob === undefined ? undefined : JSON.parse(await blob.text());
    return isRecord(record) ? record : undefined;
  } catch {
    return undefined; // damaged or unreadable: treated as not cached
  }
}

/** @internal */
export async function writeRecord(store: PieceStore, key: string, record: CacheRecord): Promise<void> {
  await store.write(`${key}-${RECORD}`, new TextEncoder().encode(JSON.stringify(record)));
}

/** Lists every file with a record or a piece in the store. @internal */
export async function cachedFiles(store: PieceStore): Promise<CachedFile[]> {
  const found = new Map<string, number[]>();
  for (const name of await store.names()) {
    const [, key, part] = /^([0-9a-f]{64})-(about|\d+)$/.exec(name) ?? [];
    if (key === undefined || part === undefined) continue;
    const pieces = found.get(key) ?? [];
    found.set(key, pieces);
    if (part !== RECORD) pieces.push(Number(part));
  }
  return Array.from(found, ([key, pieces]) => ({ key, pieces }));
}

/** Removes a file's pieces, then its record. @internal */
export async function removeFile(store: PieceStore, { key, pieces }: CachedFile): Promise<void> {
  for (const index of pieces) await store.remove(pieceName(key, index));
  await store.remove(`${key}-${RECORD}`);
}

function isRecord(value: unknown): value is CacheRecord {
  return (
    isJsonObject(value) &&
    typeof value["source"] === "string" &&
    (value["size"] === undefined || Number.isSafeInteger(value["size"]))
  );
}
