import type { FilePlatform } from "./byte_source.js";

/** Keeps pieces of files on this device, each under a name. Any call may be refused. @internal */
export interface PieceStore {
  names(): Promise<string[]>;
  read(name: string): Promise<Blob | undefined>;
  write(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  remove(name: string): Promise<void>;
}

const FOLDER = "ropewalk-models";

/** Where a model may be kept. */
export type CacheKind = "opfs" | "cache" | "browser" | "none";

/** Every kind of cache, for messages. @internal */
export const CACHE_KINDS: readonly CacheKind[] = ["opfs", "cache", "browser", "none"];

/** The store asked for, or undefined where this place has none. `browser` is the private folder, or else the caches. @internal */
export async function openStore(platform: FilePlatform, kind: CacheKind): Promise<PieceStore | undefined> {
  if (kind === "none") return undefined;
  const folder = kind === "cache" ? undefined : await privateStore(platform).catch(() => undefined);
  if (folder !== undefined || kind === "opfs") return folder;
  return cacheStore(platform).catch(() => undefined);
}

/** The stores in which something may be kept, with their kinds; none is made. @internal */
export async function existingStores({
  privateFolder,
  caches,
}: FilePlatform): Promise<["opfs" | "cache", PieceStore][]> {
  const stores: ["opfs" | "cache", PieceStore][] = [];
  const folder = await Promise.resolve(privateFolder?.())
    .then((root) => root?.getDirectoryHandle(FOLDER))
    .catch(() => undefined);
  if (folder !== undefined) stores.push(["opfs", inFolder(folder)]);
  const hasCache = await Promise.resolve(caches?.has(FOLDER)).catch(() => false);
  if (hasCache) stores.push(["cache", inCache(await caches!.open(FOLDER))]);
  return stores;
}

/** A file of a Worker that is written without a copy beside it: Safari's only way until version 26. */
interface SyncFile {
  truncate(size: number): void;
  write(bytes: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  flush(): void;
  close(): void;
}

type PrivateFile = Partial<Pick<FileSystemFileHandle, "createWritable">> & {
  createSyncAccessHandle?(): Promise<SyncFile>;
};

async function privateStore(platform: FilePlatform): Promise<PieceStore | undefined> {
  const root = await platform.privateFolder?.();
  const folder = await root?.getDirectoryHandle(FOLDER, { create: true });
  if (folder === undefined) return undefined;
  const store = inFolder(folder);
  await store.write("probe", new Uint8Array(1)); // outside a Worker some engines cannot write
  await store.remove("probe");
  return store;
}

function inFolder(folder: FileSystemDirectoryHandle): PieceStore {
  return {
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
      const handle = (await folder.getFileHandle(name, { create: true })) as PrivateFile;
      if (handle.createWritable !== undefined) {
        const file = await handle.createWritable();
        await file.write(bytes).catch(async (error: unknown) => {
          await file.abort().catch(() => undefined);
          throw error;
        });
        await file.close();
      } else {
        await writeAtOnce(handle, bytes);
      }
    },
    async remove(name) {
      await folder.removeEntry(name).catch(() => undefined);
    },
  };
}

async function writeAtOnce(handle: PrivateFile, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  if (handle.createSyncAccessHandle === undefined) throw new Error("the private folder cannot be written here");
  const file = await handle.createSyncAccessHandle();
  try {
    file.truncate(0);
    if (file.write(bytes, { at: 0 }) !== bytes.length) throw new Error("the private folder is full");
    file.flush();
  } finally {
    file.close();
  }
}

async function cacheStore(platform: FilePlatform): Promise<PieceStore | undefined> {
  const cache = await platform.caches?.open(FOLDER);
  return cache === undefined ? undefined : inCache(cache);
}

function inCache(cache: Cache): PieceStore {
  const base = "https://ropewalk.invalid/"; // never fetched: a key must be an address
  return {
    names: async () => (await cache.keys()).map(({ url }) => url.slice(base.length)),
    read: async (name) => (await cache.match(base + name))?.blob(),
    write: (name, bytes) => cache.put(base + name, new Response(bytes)),
    async remove(name) {
      await cache.delete(base + name);
    },
  };
}
