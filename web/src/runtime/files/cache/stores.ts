// Opens the stores of downloads: OPFS, or the Cache API.
import type { FilePlatform } from "../platform.js";
import type { Locks } from "../locks.js";
import { createOpfsStore, opfsStore } from "./opfs_store.js";
import { BLOCK_BYTES, PIECE_BYTES, type PieceStore } from "./piece_store.js";

const FOLDER = "ropewalk-models";

/** Where downloads are cached. */
export type CacheKind = "opfs" | "cache" | "browser" | "disk" | "none";

/** All kinds of cache, for messages. @internal */
export const CACHE_KINDS: readonly CacheKind[] = ["opfs", "cache", "browser", "disk", "none"];

/**
 * Opens a store, or returns undefined if the environment has none. `browser` means OPFS, or else the Cache API.
 * @param failed - gets the reasons
 * @internal
 */
export async function openStore(
  platform: FilePlatform,
  kind: CacheKind,
  failed: (reason: Error) => undefined = () => undefined,
): Promise<PieceStore | undefined> {
  if (kind === "none" || kind === "disk") return undefined;
  const store = kind === "cache" ? undefined : await createOpfsStore(platform, FOLDER).catch(failed);
  if (store !== undefined || kind === "opfs") return store;
  return createCacheStore(platform).catch(failed);
}

const STORE_NAMES = {
  opfs: "OPFS (origin private file system)",
  cache: "Cache API",
  browser: "OPFS (origin private file system) or Cache API",
  disk: "folder for downloads: only Node has one, for models by name",
} as const;

/** Opens a store, with a warning if the environment has none, or its quota is exceeded. @internal */
export async function storeFor(
  platform: FilePlatform,
  kind: CacheKind | undefined,
  warn: (message: string) => void,
): Promise<PieceStore | undefined> {
  if (kind === undefined || kind === "none") return undefined;
  let why = `this environment has no ${STORE_NAMES[kind]}${kind === "disk" ? "" : ", or denies access to it"}`;
  const store = await openStore(platform, kind, ({ name, message }) => {
    if (name === "QuotaExceededError") why = message;
    return undefined;
  });
  if (store === undefined) warn(`not cached: ${why}`);
  return store;
}

/** The stores that already exist, with their kinds. Creates none. @internal */
export async function existingStores({
  opfsRoot,
  caches,
  locks,
}: FilePlatform): Promise<["opfs" | "cache", PieceStore][]> {
  const stores: ["opfs" | "cache", PieceStore][] = [];
  const folder = await Promise.resolve(opfsRoot?.())
    .then((root) => root?.getDirectoryHandle(FOLDER))
    .catch(() => undefined);
  if (folder !== undefined) stores.push(["opfs", opfsStore(folder, locks)]);
  const hasCache = await Promise.resolve(caches?.has(FOLDER)).catch(() => false);
  if (hasCache) stores.push(["cache", cacheStore(await caches!.open(FOLDER), locks)]);
  return stores;
}

async function createCacheStore(platform: FilePlatform): Promise<PieceStore | undefined> {
  const cache = await platform.caches?.open(FOLDER);
  return cache === undefined ? undefined : cacheStore(cache, platform.locks);
}

function cacheStore(cache: Cache, locks: Locks | undefined): PieceStore {
  const base = "https://ropewalk.invalid/"; // never fetched: cache keys must be URLs
  return {
    id: "cache",
    pieceBytes: PIECE_BYTES,
    blockBytes: BLOCK_BYTES,
    locks,
    names: async () => (await cache.keys()).map(({ url }) => url.slice(base.length)),
    read: async (name) => (await cache.match(base + name))?.blob(),
    write: (name, bytes) => cache.put(base + name, new Response(bytes)),
    async remove(name) {
      await cache.delete(base + name);
    },
  };
}
