import { RopewalkError } from "../base/errors.js";
import { blobSource } from "./blob_files.js";
import { type ByteSource, NotThere } from "./byte_source.js";
import { networkFailure } from "./failures.js";
import type { OpenUrl } from "./http_files.js";
import {
  type About,
  keptFiles,
  keyOf,
  PIECE,
  pieceBytes,
  pieceName,
  readAbout,
  removeFile,
  writeAbout,
} from "./kept_files.js";
import type { PieceStore } from "./piece_store.js";

/**
 * Opens files that keep what they download. The server is asked each time a file is opened: where its size or version has changed, what
 * was kept is dropped; where the server cannot be reached, what was kept is read.
 *
 * @param model address of the model that the files are of
 * @param warn hears that the store refuses, as when the origin's space is full; reading goes on without it
 * @internal
 */
export function withStore(open: OpenUrl, store: PieceStore, model: string, warn: (message: string) => void): OpenUrl {
  return async (url, name, signal) => {
    const key = await keyOf(url);
    const kept = await readAbout(store, key);
    let source: ByteSource | NotThere;
    try {
      source = await open(url, name, signal);
    } catch (error) {
      const isUnreached = error instanceof RopewalkError && error.code === "NETWORK";
      if (!isUnreached || kept === undefined) throw error;
      source = kept.size === undefined ? new NotThere("NETWORK", error.message) : unreachable(name, kept.size, error);
      warn(`${name}: what was kept is read, for the server does not give it (${error.message})`);
      return source instanceof NotThere ? source : new CachedSource(source, store, key, warn);
    }
    if (!(source instanceof NotThere) && source.size === Infinity) {
      warn(`${name}: is not kept: the server does not tell its length, so nothing tells whether all of it is there`);
      return source;
    }
    const about: About = {
      source: model,
      ...(source instanceof NotThere ? {} : { size: source.size, version: source.version }),
    };
    const isSame = kept !== undefined && kept.size === about.size && kept.version === about.version;
    if (!isSame || kept.source !== model) {
      try {
        if (!isSame) for (const file of await keptFiles(store)) if (file.key === key) await removeFile(store, file);
        await writeAbout(store, key, about);
      } catch (error) {
        warn(`${name}: is not kept: ${(error as Error).message}`);
        return source;
      }
    }
    return source instanceof NotThere ? source : new CachedSource(source, store, key, warn);
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
      const index = Math.floor(position / PIECE);
      const piece = await this.kept(index);
      if (piece === undefined) {
        const missing = await this.missingFrom(index, end);
        for await (const chunk of this.download(index, missing, position, end, signal)) {
          yield chunk;
          position += chunk.length;
        }
        continue;
      }
      const pieceEnd = Math.min((index + 1) * PIECE, end);
      for await (const chunk of blobSource(this.name, piece).stream(
        position - index * PIECE,
        pieceEnd - index * PIECE,
        signal,
      )) {
        yield chunk;
        position += chunk.length;
      }
    }
  }

  /** A piece, if all of it is there. */
  private async kept(index: number): Promise<Blob | undefined> {
    const piece = await this.store.read(pieceName(this.key, index)).catch(() => undefined);
    return piece?.size === this.pieceSize(index) ? piece : undefined;
  }

  private pieceSize(index: number): number {
    return pieceBytes(this.size, index);
  }

  /** The first piece from `index` on that is there or not wanted. */
  private async missingFrom(index: number, end: number): Promise<number> {
    let last = index + 1;
    while (last * PIECE < end && (await this.kept(last)) === undefined) last += 1;
    return last;
  }

  /** Fetches whole pieces, keeps each, and passes on what lies between `start` and `end`. */
  private async *download(
    first: number,
    last: number,
    start: number,
    end: number,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    if (this.isFull) {
      yield* this.source.stream(start, Math.min(last * PIECE, end), signal);
      return;
    }
    let piece = new Uint8Array(this.pieceSize(first));
    let index = first;
    let position = first * PIECE;
    for await (const chunk of this.source.stream(position, Math.min(last * PIECE, this.size), signal)) {
      for (let rest = chunk; rest.length > 0;) {
        const at = position - index * PIECE;
        const part = rest.subarray(0, piece.length - at);
        piece.set(part, at);
        const wanted = part.subarray(Math.max(start - position, 0), Math.max(end - position, 0));
        if (wanted.length > 0) yield wanted;
        position += part.length;
        rest = rest.subarray(part.length);
        if (at + part.length < piece.length) continue;
        await this.keep(index, piece);
        index += 1;
        if (index < last)
          piece = this.pieceSize(index) === piece.length ? piece : new Uint8Array(this.pieceSize(index));
      }
    }
  }

  private async keep(index: number, piece: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.isFull) return;
    try {
      await this.store.write(pieceName(this.key, index), piece);
    } catch (error) {
      this.isFull = true;
      this.warn(`${this.name}: is not kept from byte ${index * PIECE} on: ${(error as Error).message}`);
    }
  }
}

/** A file of a server that does not answer: what is not kept of it raises what the server's answer did. */
function unreachable(name: string, size: number, cause: RopewalkError): ByteSource {
  return {
    name,
    size,
    seekCost: 0,
    // eslint-disable-next-line @typescript-eslint/require-await -- as asynchronous as the other sources
    async *stream() {
      networkFailure(name, "the server does not give the file, and not all of it is kept; connect and try again", {
        cause,
      });
    },
  };
}
