// Caches files from a server piece by piece as they are read.
import { RopewalkError } from "../../base/errors.js";
import { blobSource } from "../blob_files.js";
import { type ByteSource, MissingFile } from "../byte_source.js";
import { networkError } from "../errors.js";
import type { OpenUrl } from "../http/urls.js";
import {
  cachedFiles,
  type CacheRecord,
  keyOf,
  PIECE_BYTES,
  pieceBytes,
  pieceName,
  readRecord,
  removeFile,
  writeRecord,
} from "./entries.js";
import type { PieceStore } from "./piece_store.js";

/**
 * Wraps `open` so that files are cached. Opening a file always asks the server. If the file's size or version has changed, its cached
 * pieces are removed. If the server can't be reached, the cached pieces are used.
 *
 * @param model URL of the model that the files belong to
 * @param warn called if the store rejects a write, for example because the quota is exceeded; reading continues without the cache
 * @internal
 */
export function withCache(open: OpenUrl, store: PieceStore, model: string, warn: (message: string) => void): OpenUrl {
  return async (url, name, signal) => {
    const key = await keyOf(url);
    const cached = await readRecord(store, key);
    let source: ByteSource | MissingFile;
    try {
      source = await open(url, name, signal);
    } catch (error) {
      const isNetworkError = error instanceof RopewalkError && error.code === "NETWORK";
      if (!isNetworkError || cached === undefined) throw error;
      source =
        cached.size === undefined
          ? new MissingFile("NETWORK", error.message)
          : unreachableSource(name, cached.size, error);
      warn(`${name}: using the cached file because the download failed (${error.message})`);
      return source instanceof MissingFile ? source : new CachedSource(source, store, key, warn);
    }
    if (!(source instanceof MissingFile) && source.size === Infinity) {
      warn(`${name}: not cached: the server sends no length, so the cache can't tell when the file is complete`);
      return source;
    }
    const record: CacheRecord = {
      source: model,
      ...(source instanceof MissingFile ? {} : { size: source.size, version: source.version }),
    };
    const isSame = cached !== undefined && cached.size === record.size && cached.version === record.version;
    if (!isSame || cached.source !== model) {
      try {
        if (!isSame) for (const file of await cachedFiles(store)) if (file.key === key) await removeFile(store, file);
        await writeRecord(store, key, record);
      } catch (error) {
        warn(`${name}: not cached: ${(error as Error).message}`);
        return source;
      }
    }
    return source instanceof MissingFile ? source : new CachedSource(source, store, key, warn);
  };
}

class CachedSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly seekCost = 1 << 20;
  private isFull = false;

  constructor(
    private readonly source: ByteSource,
    private readonly store: PieceStore,
    private readonly key: string,
    private readonly warn: (message: string) => void,
  ) {
    this.name = source.name;
    this.size = source.size;
  }

  async *stream(start: number, end: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    let position = start;
    while (position < end) {
      signal?.throwIfAborted();
      const index = Math.floor(position / PIECE_BYTES);
      const piece = await this.readPiece(index);
      if (piece === undefined) {
        const missingEnd = await this.endOfMissing(index, end);
        for await (const chunk of this.download(index, missingEnd, position, end, signal)) {
          yield chunk;
          position += chunk.length;
        }
        continue;
      }
      const pieceEnd = Math.min((index + 1) * PIECE_BYTES, end);
      for await (const chunk of blobSource(this.name, piece).stream(
        position - index * PIECE_BYTES,
        pieceEnd - index * PIECE_BYTES,
        signal,
      )) {
        yield chunk;
        position += chunk.length;
      }
    }
  }

  /** A cached piece, or undefined if it is missing or incomplete. */
  private async readPiece(index: number): Promise<Blob | undefined> {
    const piece = await this.store.read(pieceName(this.key, index)).catch(() => undefined);
    return piece?.size === this.pieceSize(index) ? piece : undefined;
  }

  private pieceSize(index: number): number {
    return pieceBytes(this.size, index);
  }

  /** The first piece after `index` that is cached or starts at or after `end`. */
  private async endOfMissing(index: number, end: number): Promise<number> {
    let last = index + 1;
    while (last * PIECE_BYTES < end && (await this.readPiece(last)) === undefined) last += 1;
    return last;
  }

  /** Downloads the pieces in [first, last), stores each, and yields the bytes in [start, end). */
  private async *download(
    first: number,
    last: number,
    start: number,
    end: number,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    if (this.isFull) {
      yield* this.source.stream(start, Math.min(last * PIECE_BYTES, end), signal);
      return;
    }
    let piece = new Uint8Array(this.pieceSize(first));
    let index = first;
    let position = first * PIECE_BYTES;
    for await (const chunk of this.source.stream(position, Math.min(last * PIECE_BYTES, this.size), signal)) {
      for (let rest = chunk; rest.length > 0;) {
        const at = position - index * PIECE_BYTES;
        const part = rest.subarray(0, piece.length - at);
        piece.set(part, at);
        const wanted = part.subarray(Math.max(start - position, 0), Math.max(end - position, 0));
        if (wanted.length > 0) yield wanted;
        position += part.length;
        rest = rest.subarray(part.length);
        if (at + part.length < piece.length) continue;
        await this.writePiece(index, piece);
        index += 1;
        if (index < last)
          piece = this.pieceSize(index) === piece.length ? piece : new Uint8Array(this.pieceSize(index));
      }
    }
  }

  private async writePiece(index: number, piece: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.isFull) return;
    try {
      await this.store.write(pieceName(this.key, index), piece);
    } catch (error) {
      this.isFull = true;
      this.warn(`${this.name}: not cached from byte ${index * PIECE_BYTES} on: ${(error as Error).message}`);
    }
  }
}

/** A file whose server can't be reached. Reading a piece that isn't cached raises NETWORK. */
function unreachableSource(name: string, size: number, cause: RopewalkError): ByteSource {
  return {
    name,
    size,
    seekCost: 0,
    // eslint-disable-next-line @typescript-eslint/require-await -- asynchronous like the other sources
    async *stream() {
      networkError(
        name,
        "the download failed and the cache has only part of the file; check the connection and try again",
        { cause },
      );
    },
  };
}
