// Writes a file to disk while it is read, and continues what an earlier download left.
import { node } from "../../../core/base/builtins.node.js";
import type { FileHandle } from "node:fs/promises";
import { RopewalkError } from "../../../core/base/errors.js";
import type { ByteSource } from "../byte_source.js";

const CHUNK_BYTES = 1 << 19;

/**
 * Yields the bytes in [start, end) of a file and writes all of it to `partial`, front to back, after what is there already. Then calls
 * `complete`. Several processes may write to the same file at once: each writes the same bytes at the same place, and has written or found
 * all bytes before its own.
 *
 * @param warn called if the disk refuses a write; reading continues
 * @throws what the source throws; INVALID_FILE from `complete`
 */
export async function* downloadWhileReading(
  source: ByteSource,
  partial: string,
  { start, end }: { start: number; end: number },
  warn: (message: string) => void,
  complete: () => Promise<void>,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const refused = (error: unknown): undefined => {
    warn(`${source.name}: not kept on disk: ${(error as Error).message}`);
  };
  let file = await openPartial(partial).catch(refused);
  if (file === undefined) {
    yield* source.stream(start, end, signal);
    return;
  }
  try {
    const { size } = await file.stat();
    let position = size <= source.size ? size : 0;
    yield* readBack(file, start, Math.min(end, position), signal);
    for await (const chunk of source.stream(position, source.size, signal)) {
      if (file !== undefined) {
        try {
          await writeAt(file, chunk, position);
        } catch (error) {
          refused(error);
          await file.close();
          file = undefined;
        }
      }
      const wanted = chunk.subarray(Math.max(start - position, 0), Math.max(end - position, 0));
      position += chunk.length;
      if (wanted.length > 0) yield wanted;
      if (file === undefined && position >= end) return;
    }
    if (file === undefined || position < source.size) return;
    await file.sync();
  } finally {
    await file?.close();
  }
  await complete().catch((error: unknown) => {
    if (error instanceof RopewalkError) throw error;
    refused(error);
  });
}

async function openPartial(path: string): Promise<FileHandle> {
  await node.fs.mkdir(node.path.dirname(path), { recursive: true });
  return node.fs.open(path, node.streams.constants.O_RDWR | node.streams.constants.O_CREAT, 0o644);
}

async function* readBack(
  file: FileHandle,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(CHUNK_BYTES);
  for (let position = start; position < end;) {
    signal?.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK_BYTES, end - position), position);
    if (bytesRead === 0) throw new Error("a download was removed while it was read");
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}

async function writeAt(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length;)
    written += (await file.write(bytes, written, bytes.length - written, position + written)).bytesWritten;
}

/** Whether a file has the digest that the Hub lists: SHA-256, or that of a git object. */
export async function hasDigest(path: string, etag: string): Promise<boolean> {
  const isGit = etag.length === 40;
  const hash = node.crypto.createHash(isGit ? "sha1" : "sha256");
  if (isGit) hash.update(`blob ${(await node.fs.stat(path)).size}\0`);
  for await (const chunk of node.streams.createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex") === etag;
}
