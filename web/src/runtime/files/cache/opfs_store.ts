// Stores named blobs in a folder of OPFS. A blob is written under a temporary name and gets its own when all its bytes are there, because a file
// exists, empty, before the first byte is written, and stays so if the quota is exceeded or the tab is closed.
import { type Locks, takeReadLock, withLock } from "../locks.js";
import type { FilePlatform } from "../platform.js";
import { BLOCK_BYTES, type OpenBlob, PIECE_BYTES, type PieceStore } from "./piece_store.js";

/** Ends the name of a blob that is being written. @internal */
export const UNFINISHED = ".ropewalk.incomplete";

/** FileSystemSyncAccessHandle, for Workers only. Safari before version 26 has no other way to write OPFS files. Nothing else reads them as fast. */
interface SyncFile {
  getSize(): number;
  read(bytes: Uint8Array, options: { at: number }): number;
  truncate(size: number): void;
  write(bytes: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  flush(): void;
  close(): void;
}

type OpfsFileHandle = Pick<FileSystemFileHandle, "getFile"> &
  Partial<Pick<FileSystemFileHandle, "createWritable">> & {
    /** Without a mode, or in engines that don't know this one, nobody else can open the file meanwhile. */
    createSyncAccessHandle?(options?: { mode: "read-only" }): Promise<SyncFile>;
    /** Replaces a file of that name. Chrome before version 110 and Firefox before 111 don't have it. */
    move?(name: string): Promise<void>;
  };

/**
 * Opens a folder of OPFS that can be written, and removes what writes that were cut off have left there. A full one can still be read.
 * @returns undefined if there is no OPFS. Rejects if it can't be used.
 * @internal
 */
export async function createOpfsStore(platform: FilePlatform, name: string): Promise<PieceStore | undefined> {
  const root = await platform.opfsRoot?.();
  const folder = await root?.getDirectoryHandle(name, { create: true });
  if (folder === undefined) return undefined;
  const store = opfsStore(folder, platform.locks);
  const names = await store.names();
  if (!(await hasWritten(folder, names))) await tryWriting(store);
  await removeUnfinished(store, names);
  return store;
}

/** Whether a file is there whole, and this thread can write such files too: some engines can't outside a Worker. */
async function hasWritten(folder: FileSystemDirectoryHandle, names: readonly string[]): Promise<boolean> {
  const finished = names.find((name) => !name.endsWith(UNFINISHED));
  const file: OpfsFileHandle | undefined =
    finished === undefined ? undefined : await folder.getFileHandle(finished).catch(() => undefined);
  return (file?.createWritable ?? file?.createSyncAccessHandle) !== undefined;
}

/** Writes a file and removes it. Rejects if that isn't possible, unless the quota is exceeded. */
function tryWriting(store: PieceStore): Promise<void> {
  // locked, because another tab could remove the file in the middle
  return withLock(store, "probe", async () => {
    await store.write("probe", new Uint8Array(1)).catch((error: unknown) => {
      if ((error as Error).name !== "QuotaExceededError") throw error;
    });
    await store.remove("probe");
  });
}

/** Removes what writes that were cut off have left. Those of other tabs that run hold a lock. @internal */
export async function removeUnfinished(store: PieceStore, names: readonly string[]): Promise<void> {
  for (const name of names) if (name.endsWith(UNFINISHED)) await withLock(store, name, () => store.remove(name)); // the lock of its write
}

/** @internal */
export function opfsStore(folder: FileSystemDirectoryHandle, locks: Locks | undefined): PieceStore {
  const remove = (name: string): Promise<void> => folder.removeEntry(name).catch(() => undefined);
  const fileAt = async (name: string): Promise<OpfsFileHandle | undefined> =>
    folder.getFileHandle(name).catch(() => undefined);

  /** Writes a file in place, where files have no `move`. On failure it is removed, unless it is as it was. */
  const replace = async (name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> => {
    const before = await fileAt(name);
    try {
      const file: OpfsFileHandle = await folder.getFileHandle(name, { create: true });
      await (file.createWritable === undefined ? writeSync(file, bytes) : writeStream(file, bytes));
    } catch (error) {
      if (before === undefined || before.createWritable === undefined) await remove(name);
      throw error;
    }
  };

  /** Runs `action` while nobody else reads, writes or removes a file: one that a sync access handle reads can't be replaced or removed. */
  const alone = <T>(name: string, action: () => Promise<T>): Promise<T> =>
    withLock(store, `${name}${UNFINISHED}`, action);

  /** Opens a file unless somebody else reads, writes or removes it. */
  const open = async (name: string): Promise<OpenBlob | undefined> => {
    const giveBack = await takeReadLock(store, `${name}${UNFINISHED}`);
    if (giveBack === undefined) return undefined;
    const handle: OpfsFileHandle | undefined = await fileAt(name);
    const file = await handle?.createSyncAccessHandle?.({ mode: "read-only" }).catch(() => undefined);
    if (file !== undefined) return openBlob(file, giveBack);
    giveBack();
    return undefined;
  };

  const store: PieceStore = {
    id: "opfs",
    pieceBytes: PIECE_BYTES,
    blockBytes: BLOCK_BYTES,
    locks,
    async names() {
      const names: string[] = [];
      for await (const name of folder.keys()) names.push(name);
      return names;
    },
    async read(name) {
      return (await fileAt(name))?.getFile();
    },
    open,
    write: (name, bytes) =>
      alone(name, async () => {
        const unfinished = `${name}${UNFINISHED}`;
        try {
          const file: OpfsFileHandle = await folder.getFileHandle(unfinished, { create: true });
          if (file.move === undefined) {
            await replace(name, bytes);
            return;
          }
          await writeNew(file, bytes);
          await moveTo(file, name, () => remove(name));
        } finally {
          await remove(unfinished);
        }
      }),
    remove: (name) => alone(name, () => remove(name)),
  };
  return store;
}

/** A file that is read into one memory. */
function openBlob(file: SyncFile, closed: () => void): OpenBlob {
  let memory = new Uint8Array(0);
  return {
    size: file.getSize(),
    read(start, end) {
      if (memory.length < end - start) memory = new Uint8Array(end - start);
      const part = memory.subarray(0, end - start);
      return part.subarray(0, file.read(part, { at: start }));
    },
    close() {
      file.close();
      closed();
    },
  };
}

const quotaExceeded = (): Error => new DOMException("the OPFS quota is exceeded", "QuotaExceededError");

const cannotWrite = (): never => {
  throw new Error("OPFS files can't be written in this environment");
};

async function expectSize(handle: OpfsFileHandle, { length }: Uint8Array): Promise<void> {
  if ((await handle.getFile()).size !== length) throw quotaExceeded();
}

/** The file has its bytes when the stream is closed. */
async function writeStream(handle: OpfsFileHandle, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const file = await (handle.createWritable?.() ?? cannotWrite());
  await file.write(bytes).catch(async (error: unknown) => {
    await file.abort().catch(() => undefined);
    throw error;
  });
  await file.close();
  await expectSize(handle, bytes);
}

/** Writes a file that has no other use yet. In Chromium, streams take half as long again, but in place a file needs more space than its bytes. */
async function writeNew(handle: OpfsFileHandle, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  if (handle.createSyncAccessHandle === undefined) return writeStream(handle, bytes);
  return writeSync(handle, bytes).catch((error: unknown) => {
    if (handle.createWritable === undefined) throw error;
    return writeStream(handle, bytes);
  });
}

/** Writes in place. */
async function writeSync(handle: OpfsFileHandle, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const file = await (handle.createSyncAccessHandle?.() ?? cannotWrite());
  try {
    file.truncate(0);
    if (file.write(bytes, { at: 0 }) !== bytes.length) throw quotaExceeded();
    file.flush();
  } catch (error) {
    file.truncate(0);
    throw (error as Error).name === "QuotaExceededError" ? quotaExceeded() : error; // Chromium's message doesn't name the quota
  } finally {
    file.close();
  }
  await expectSize(handle, bytes);
}

/** Some engines don't replace a file. */
async function moveTo(handle: OpfsFileHandle, name: string, remove: () => Promise<void>): Promise<void> {
  try {
    await handle.move!(name);
  } catch {
    await remove();
    await handle.move!(name);
  }
}
