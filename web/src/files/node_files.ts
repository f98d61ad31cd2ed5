import { open, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ByteSource, type FileSet, NotThere } from "./byte_source.js";
import { invalidFile } from "./failures.js";

const STEP = 1 << 19;

/** A path as it is, or that of a `file:` address. @internal */
export function pathOf(address: string | URL): string {
  return /^file:/.test(String(address)) ? fileURLToPath(address) : String(address);
}

/** Whether a path is that of a folder that is there. @internal */
export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** A file or folder of Node's file system. @internal */
export async function nodeFiles(address: string | URL): Promise<FileSet> {
  const path = pathOf(address);
  const isWhole = await isFolder(path);
  const folder = isWhole ? path : dirname(path);
  return {
    first: isWhole ? undefined : basename(path),
    names: isWhole ? await readdir(folder) : undefined,
    open: (name) => openNode(join(folder, name), name),
  };
}

async function openNode(path: string, name: string): Promise<ByteSource | NotThere> {
  try {
    const about = await stat(path);
    if (!about.isFile()) return new NotThere("INVALID_FILE", "is not a file");
    return {
      name,
      size: about.size,
      seekCost: 1 << 16,
      stream: (start, end, signal) => streamNode(path, name, about, start, end, signal),
    };
  } catch (error) {
    return new NotThere("INVALID_FILE", `cannot be read: ${(error as Error).message}`);
  }
}

/** What tells that a file is still the one whose header was read. */
interface FileState {
  readonly size: number;
  readonly mtimeMs: number;
}

async function* streamNode(
  path: string,
  name: string,
  about: FileState,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  const handle = await open(path).catch((cause: unknown) => unreadable(name, cause));
  try {
    const now = await handle.stat();
    const isSame = now.size === about.size && now.mtimeMs === about.mtimeMs;
    if (!isSame) invalidFile(name, "file", "has changed since it was opened; open it again");
    const buffer = new Uint8Array(Math.min(STEP, end - start));
    for (let position = start; position < end;) {
      const length = Math.min(buffer.length, end - position);
      const { bytesRead } = await handle
        .read(buffer, 0, length, position)
        .catch((cause: unknown) => unreadable(name, cause));
      signal?.throwIfAborted();
      if (bytesRead === 0) invalidFile(name, "file", `ends at byte ${position}: it has been cut while it was read`);
      yield buffer.subarray(0, bytesRead);
      position += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

function unreadable(name: string, cause: unknown): never {
  return invalidFile(name, "file", `cannot be read: ${(cause as Error).message}`, { cause });
}
