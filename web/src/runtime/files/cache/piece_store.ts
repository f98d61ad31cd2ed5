// Stores named blobs in OPFS or the Cache API.
import type { FilePlatform } from "../platform.js";
import { type Locks, withLock } from "../locks.js";

/** Length of a piece in bytes. An interrupted download loses at most this much, and a piece is held in memory to check it. */
const PIECE_BYTES = 16 << 20;

/** Stores named blobs on this device. Any call may reject, for example because the quota is exceeded. @internal */
export interface PieceStore {
  /** Name of the store in locks. */
  readonly id: string;
  /** Length of a piece of a file in bytes. The last piece may be shorter. */
  readonly pieceBytes: number;
  /** Web Locks, where the engine has them. */
  readonly locks?: Locks | undefined;
  names(): Promise<string[]>;
  read(name: string): Promise<Blob | undefined>;
  write(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  remove(name: string): Promise<void>;
}

const FOLDER = "ropewalk-models";

/** Where downloads are cached. */
export type CacheKind = "opfs" | "cache" | "browser" | "disk" | "none";

/** All kinds of cache, for messages. @internal */
export const CACHE_KINDS: readonly CacheKind[] = ["opfs", "cache", "browser", "disk", "none"];

/** Opens a store, or returns undefined if the environment has none. `browser` means OPFS, or else the Cache API. @internal */
export async function openStore(platform: FilePlatform, kind: CacheKind): Promise<PieceStore | undefined> {
  if (kind === "none" || kind === "disk") return undefined;
  const store = kind === "cache" ? undefined : await createOpfsStore(platform).catch(() => undefined);
  if (store !== undefined || kind === "opfs") return store;
  return createCacheStore(platform).catch(() => undefined);
}

const STORE_NAMES = {
  opfs: "OPFS (origin private file system)",
  cache: "Cache API",
  browser: "OPFS (origin private file system) or Cache API",
  disk: "folder for downloads: only Node has one, for models by name",
} as const;

/** Opens a store, with a warning if the environment has none. @internal */
export async function storeFor(
  platform: FilePlatform,
  kind: CacheKind | undefined,
  warn: (message: string) => void,
): Promise<PieceStore | undefined> {
  if (kind === undefined || kind === "none") return undefined;
  const store = await openStore(platform, kind);
  if (store === undefined)
    warn(
      `not cached: this environment has no ${STORE_NAMES[kind]}${kind === "disk" ? "" : ", or denies access to it"}`,
    );
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

/** FileSystemSyncAccessHandle, for Workers only. Safari before version 26 has no other way to write OPFS files. */
interface SyncFile {
  truncate(size: number): void;
  write(bytes: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  flush(): void;
  close(): void;
}

type OpfsFileHandle = Partial<Pick<FileSystemFileHandle, "createWritable">> & {
  createSyncAccessHandle?(): Promise<SyncFile>;
};

/** Opens a folder of OPFS that can be written; undefined if there is no OPFS. Rejects if it can't be used. @internal */
export async function createOpfsStore(platform: FilePlatform, name = FOLDER): Promise<PieceStore | undefined> {
  const root = await platform.opfsRoot?.();
  const folder = await root?.getDirectoryHandle(name, { create: true });
  if (folder === undefined) return undefined;
  const store = opfsStore(folder, platform.locks);
  // Some engines can't write OPFS files outside a Worker. Locked, because another tab could remove the file in the middle.
  await withLock(store, "probe", async () => {
    await store.write("probe", new Uint8Array(1));
    await store.remove("probe");
  });
  return store;
}

function opfsStore(folder: FileSystemDirectoryHandle, locks: Locks | undefined): PieceStore {
  return {
    id: "opfs",
    pieceBytes: PIECE_BYTES,
    locks,
    async names() {
      const names: string[] = [];
      for await (const name of folder.keys()) names.push(name);
      return names;
    },
    async read(name) {
      const handle = await folder.getFileHandle(name).catch(() => undefined);
      return handle?.getFile();
    },
    async write(name, bytes) {
      const handle = (await folder.getFileHandle(name, { create: true })) as OpfsFileHandle;
      if (handle.createWritable !== undefined) {
        const file = await handle.createWritable();
        await file.write(bytes).catch(async (error: unknown) => {
          await file.abort().catch(() => undefined);
          throw error;
        });
        await file.close();
      } else {
        await writeSync(handle, bytes);
      }
    },
    async remove(name) {
      await folder.removeEntry(name).catch(() => undefined);
    },
  };
}

async function writeSync(handle: OpfsFileHandle, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  if (handle.createSyncAccessHandle === undefined) throw new Error("OPFS files can't be written in this environment");
  const file = await handle.createSyncAccessHandle();
  try {
    file.truncate(0);
    if (file.write(bytes, { at: 0 }) !== bytes.length) throw new Error("the OPFS quota is exceeded");
    file.flush();
  } finally {
    file.close();
  }
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
    locks,
    names: async () => (await cache.keys()).map(({ url }) => url.slice(base.length)),
    read: async (name) => (await cache.match(base + name))?.blob(),
    write: (name, bytes) => cache.put(base + name, new Response(bytes)),
    async remove(name) {
      await cache.delete(base + name);
    },
  };
}
