// How a download is stored: a JSON record that describes the file, and pieces of one version of it.
import { isDict } from "../../../core/base/dict.js";
import { withoutFragment } from "../http/urls.js";
import { withLock } from "../locks.js";
import type { PieceStore } from "./piece_store.js";

const RECORD = "about";

/** Changes with the layout of pieces, so that those of another layout are those of another version. */
const LAYOUT = 3;

/** Describes a cached file. Stored as JSON next to its pieces. @internal */
export interface CacheRecord {
  /** URL of the model that the file was last opened for. */
  readonly source: string;
  /** Length in bytes; undefined for a file that the server doesn't have. */
  readonly size?: number | undefined;
  /** Identifies the version of the file that its pieces belong to; undefined for a file that the server doesn't have. */
  readonly version?: string | undefined;
  /** Whether that follows from what the server sends, without bytes of the file. */
  readonly isExact?: boolean;
}

/** A file with data in a store. @internal */
export interface CachedFile {
  readonly key: string;
  readonly pieces: readonly CachedPiece[];
}

interface CachedPiece {
  /** Its name in the store. */
  readonly name: string;
  /** Version of the file; undefined for pieces that earlier releases of this package have stored. */
  readonly version: string | undefined;
  readonly index: number;
}

async function sha256(bytes: BufferSource): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const digestOf = (text: string): Promise<string> => sha256(new TextEncoder().encode(text));

/** A key for a URL of any length, made of characters that any store accepts. @internal */
export function keyOf(url: URL): Promise<string> {
  return digestOf(withoutFragment(url));
}

/**
 * A version as 32 hexadecimal digits, from the file's length, its ETag or else its Last-Modified, and its first bytes, unless a strong ETag is enough.
 * They are for small files, for servers that send neither, for weak ETags, and for Last-Modified, which counts whole seconds.
 * @internal
 */
export async function versionOf(
  size: number,
  sent: string | undefined,
  beginning: BufferSource | undefined,
): Promise<string> {
  const first = beginning && (await sha256(beginning));
  return (await digestOf(JSON.stringify([LAYOUT, size, sent ?? null, first ?? null]))).slice(0, 32);
}

/** @internal */
export function pieceName(key: string, version: string, index: number): string {
  return `${key}-${version}-${index}`;
}

/** The record of a file; undefined if there is none or it is damaged. @internal */
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
  const found = new Map<string, CachedPiece[]>();
  for (const name of await store.names()) {
    const [, key, version, part] = /^([0-9a-f]{64})(?:-([0-9a-f]{32}))?-(about|\d+)$/.exec(name) ?? [];
    if (key === undefined || part === undefined) continue;
    const pieces = found.get(key) ?? [];
    found.set(key, pieces);
    if (part !== RECORD) pieces.push({ name, version, index: Number(part) });
  }
  return Array.from(found, ([key, pieces]) => ({ key, pieces }));
}

/** Runs `action` on what is stored of a file, while nothing else changes it. @internal */
export function changeFile<T>(store: PieceStore, key: string, action: (file: CachedFile) => Promise<T>): Promise<T> {
  return withLock(store, key, async () => {
    const files = await cachedFiles(store);
    return action(files.find((file) => file.key === key) ?? { key, pieces: [] });
  });
}

/**
 * Removes the pieces of a file that don't belong to the version in its record: all of them if there is no record. Must be called with the
 * file locked.
 * @internal
 */
export async function removeOrphans(store: PieceStore, { key, pieces }: CachedFile): Promise<void> {
  const record = await readRecord(store, key);
  for (const { name, version } of pieces) {
    if (record?.version === undefined || version !== record.version) await store.remove(name);
  }
  if (record === undefined) await store.remove(`${key}-${RECORD}`);
}

/** Removes a file's record and pieces. Must be called with the file locked. @internal */
export async function removeFile(store: PieceStore, { key, pieces }: CachedFile): Promise<void> {
  await store.remove(`${key}-${RECORD}`); // first, so that an interruption leaves orphans and not a record without its pieces
  for (const { name } of pieces) await store.remove(name);
}

function isRecord(value: unknown): value is CacheRecord {
  if (!isDict(value) || typeof value["source"] !== "string") return false;
  const { size, version } = value;
  if (size === undefined) return version === undefined;
  return Number.isSafeInteger(size) && (size as number) >= 0 && typeof version === "string";
}
