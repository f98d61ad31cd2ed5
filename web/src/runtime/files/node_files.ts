// Files and folders of Node's file system.
import * as advise from "../../core/base/advice.js";
import { node } from "../../core/base/builtins.node.js";
import { type ByteSource, type FileSet, MissingFile } from "./byte_source.js";
import { invalidFile } from "./errors.js";

const CHUNK_BYTES = 1 << 19;

/** Converts a `file:` URL to a path. A path is returned unchanged. @internal */
export function pathOf(pathOrUrl: string | URL): string {
  return /^file:/.test(String(pathOrUrl)) ? node.url.fileURLToPath(pathOrUrl) : String(pathOrUrl);
}

/** Whether a path is an existing folder. @internal */
export async function isFolder(path: string): Promise<boolean> {
  return (await node.fs.stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** A file together with the others in its folder, or a whole folder. @internal */
export async function nodeFiles(pathOrUrl: string | URL): Promise<FileSet> {
  const path = pathOf(pathOrUrl);
  const isDirectory = await isFolder(path);
  const folder = isDirectory ? path : node.path.dirname(path);
  return {
    requested: isDirectory ? undefined : node.path.basename(path),
    names: isDirectory ? await node.fs.readdir(folder) : undefined,
    namesIn: (subfolder) => node.fs.readdir(node.path.join(folder, subfolder)).catch(() => []),
    open: (name) => openNode(node.path.join(folder, name), name),
  };
}

/** Opens a file under a name for messages. @internal */
export async function openNode(path: string, name: string): Promise<ByteSource | MissingFile> {
  try {
    const opened = await node.fs.stat(path);
    if (!opened.isFile()) return new MissingFile("INVALID_FILE", "is not a file");
    return {
      name,
      size: opened.size,
      seekCost: 1 << 16,
      isLocal: true,
      stream: (start, end, signal) => streamNode(path, name, opened, start, end, signal),
    };
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === "ENOENT";
    const reason = isAbsent
      ? `no such file: ${node.path.resolve(path)}`
      : `cannot be read: ${(error as Error).message}`;
    return new MissingFile("INVALID_FILE", reason);
  }
}

/** Shows whether a file is still the one whose header was read. */
interface FileState {
  readonly size: number;
  readonly mtimeMs: number;
}

async function* streamNode(
  path: string,
  name: string,
  opened: FileState,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  const handle = await node.fs.open(path).catch((cause: unknown) => unreadable(name, cause));
  try {
    const now = await handle.stat();
    const isSame = now.size === opened.size && now.mtimeMs === opened.mtimeMs;
    if (!isSame) invalidFile(name, "file", "has changed since it was opened", advise.other("open it again"));
    const read = async (buffer: Uint8Array, position: number): Promise<Uint8Array> => {
      const length = Math.min(buffer.length, end - position);
      const { bytesRead } = await handle.read(buffer, 0, length, position);
      return buffer.subarray(0, bytesRead);
    };
    const length = Math.min(CHUNK_BYTES, end - start);
    let [buffer, free] = [new Uint8Array(length), new Uint8Array(length)];
    let reading = read(buffer, start);
    for (let position = start; position < end;) {
      const chunk = await reading.catch((cause: unknown) => unreadable(name, cause));
      signal?.throwIfAborted();
      if (chunk.length === 0)
        invalidFile(
          name,
          "file",
          `ends at byte ${position}: it was truncated while it was read`,
          advise.other("open it again"),
        );
      position += chunk.length;
      if (position < end) {
        // the next chunk is read while the caller uses this one
        [buffer, free] = [free, buffer];
        reading = read(buffer, position);
        reading.catch(() => undefined); // the caller may leave before it is awaited
      }
      yield chunk;
    }
  } finally {
    await handle.close();
  }
}

function unreadable(name: string, cause: unknown): never {
  return invalidFile(name, "file", `cannot be read: ${(cause as Error).message}`, { cause });
}
