// What browsers and Node do differently when reading files.
import type { FileSet } from "./byte_source.js";
import type { Locks } from "./locks.js";
import type { HubDisk } from "./hub/disk.js";

/** Files that are written and read whole. Calls throw INVALID_ARGUMENT (the name) and INVALID_FILE. @internal */
export interface KeptFiles {
  /** Replaces a file of that name. On failure it stays as it was. */
  write(name: string | URL, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  read(name: string | URL): Promise<Uint8Array>;
}

/** File access on the current platform. @internal */
export interface FilePlatform {
  readonly fetch: typeof fetch;
  /** Opens a local file or folder. Missing in browsers. */
  readonly openPath?: (path: string | URL) => Promise<FileSet>;
  /** Whether there is such a file or folder. Missing in browsers. */
  readonly pathExists?: (path: string) => Promise<boolean>;
  /** Models of the Hub on disk. Missing in browsers. */
  readonly hubDisk?: () => Promise<HubDisk>;
  /** Environment variables, where there are any. */
  readonly environment?: () => Readonly<Record<string, string | undefined>>;
  /** Memory of the device in bytes; undefined if it doesn't say. */
  readonly memoryBytes?: () => number | undefined;
  /** Returns the root of the origin private file system (OPFS), where there is one. */
  readonly opfsRoot?: () => Promise<FileSystemDirectoryHandle>;
  /** The Cache API, where there is one. */
  readonly caches?: CacheStorage;
  /** Web Locks, where the engine has them. */
  readonly locks?: Locks | undefined;
  /** Where sessions are kept. Missing in browsers, which keep them in OPFS. */
  readonly keptFiles?: () => Promise<KeptFiles>;
}

/** File access in pages and Workers. OPFS and the Cache API need a secure context. @internal */
export const webFiles: FilePlatform = {
  fetch: (...request) => fetch(...request),
  opfsRoot: async () => navigator.storage.getDirectory(), // rejects without navigator.storage, as in WebKitGTK
  memoryBytes: () => {
    const { deviceMemory } = (globalThis as { navigator?: { deviceMemory?: number } }).navigator ?? {}; // GiB; not in Firefox and Safari
    return deviceMemory === undefined ? undefined : deviceMemory * 2 ** 30;
  },
  get caches() {
    return globalThis.caches;
  },
  get locks() {
    return (navigator as Partial<Navigator>).locks;
  },
};
