// Caches files from a server piece by piece as they are read.
import * as advise from "../../../core/base/advice.js";
import { RopewalkError } from "../../../core/base/errors.js";
import { type ByteSource, MissingFile, readRange } from "../byte_source.js";
import { networkError } from "../errors.js";
import type { OpenUrl } from "../http/urls.js";
import { type CacheRecord, changeFile, keyOf, readRecord, removeOrphans, versionOf, writeRecord } from "./entries.js";
import { withLock } from "../locks.js";
import { collectOrphans } from "./models.js";
import type { PieceStore } from "./piece_store.js";
import { hasPiece, newPiece, type Piece, type PieceFile, pieceLength, readPiece, writePiece } from "./pieces.js";

/** The first bytes of a file that are part of its version, unless it is larger and has a strong ETag. Opening a file has read them already. */
const BEGINNING = 1 << 20;

/**
 * Wraps `open` so that files are cached. Opening a file always asks the server. If the file's size or version has changed, its cached
 * pieces are removed. If the server can't be reached, the cached pieces are used. Pieces are named by the version they belong to, so the
 * bytes of two versions never meet, whatever other tabs do.
 *
 * @param model URL of the model that the files belong to
 * @param warn called if a piece is damaged or the store rejects a write, for example because the quota is exceeded; reading continues
 * @internal
 */
export function withCache(open: OpenUrl, store: PieceStore, model: string, warn: (message: string) => void): OpenUrl {
  let collected: Promise<void> | undefined;
  return async (url, name, signal) => {
    collected ??= collectOrphans(store).catch(() => undefined); // a store that fails is reported when it is written
    const key = await keyOf(url);
    const cached = await readRecord(store, key);
    let source: ByteSource | MissingFile;
    try {
      source = await open(url, name, signal, (await isKnown(store, key, cached)) ? 1 : undefined);
    } catch (error) {
      return openUnreachable(error, store, key, name, warn);
    }
    await collected;
    if (!(source instanceof MissingFile) && source.size === Infinity) {
      warn(`${name}: not cached: the server sends no length, so the cache can't tell when the file is complete`);
      return source;
    }
    const record = await recordOf(model, source, signal);
    try {
      await updateRecord(store, key, record);
    } catch (error) {
      warn(`${name}: not cached: ${(error as Error).message}`);
      return source;
    }
    if (source instanceof MissingFile) return source;
    return new CachedSource(source, { store, key, version: record.version!, size: source.size }, warn);
  };
}

/** Whether headers say if the file has changed, and its beginning is cached, so that no byte of it is needed. */
async function isKnown(store: PieceStore, key: string, record: CacheRecord | undefined): Promise<boolean> {
  const { isExact, size, version } = record ?? {};
  return isExact === true && size !== undefined && version !== undefined && hasPiece({ store, key, version, size }, 0);
}

async function recordOf(
  model: string,
  source: ByteSource | MissingFile,
  signal: AbortSignal | undefined,
): Promise<CacheRecord> {
  if (source instanceof MissingFile) return { source: model };
  const { size } = source;
  const isExact = source.isExact === true && size > BEGINNING; // some servers make ETags of seconds and the length
  const beginning = isExact ? undefined : await readRange(source, 0, Math.min(BEGINNING, size), signal);
  return { source: model, size, version: await versionOf(size, source.version, beginning), isExact };
}

/** Makes `record` the record of a file. Removes the pieces of other versions. */
function updateRecord(store: PieceStore, key: string, record: CacheRecord): Promise<void> {
  return changeFile(store, key, async (file) => {
    const cached = await readRecord(store, key);
    const isSame = cached !== undefined && cached.size === record.size && cached.version === record.version;
    if (!isSame) {
      await writeRecord(store, key, record);
      await removeOrphans(store, file);
    } else if (cached.source !== record.source) {
      await writeRecord(store, key, record).catch(() => undefined); // its pieces are right, even where the store is full
    }
  });
}

/** The cached file if the server can't be reached. Throws `error` if it isn't cached, or if it means something else. */
async function openUnreachable(
  error: unknown,
  store: PieceStore,
  key: string,
  name: string,
  warn: (message: string) => void,
): Promise<ByteSource | MissingFile> {
  const cached = await readRecord(store, key);
  if (!(error instanceof RopewalkError) || error.code !== "NETWORK" || cached === undefined) throw error;
  const { size, version } = cached;
  warn(`${name}: using the cached file because the download failed (${error.problem})`);
  if (size === undefined || version === undefined)
    return new MissingFile("NETWORK", error.problem, error.advice && { advice: error.advice, words: error.words });
  return new CachedSource(unreachableSource(name, size, error), { store, key, version, size }, warn);
}

class CachedSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly seekCost = 1 << 20;
  /** Whether its first piece is stored. */
  isLocal = false;
  /** Whether pieces are no longer stored: the store is full, or the cached file was deleted or replaced. */
  #isEnded = false;

  constructor(
    private readonly source: ByteSource,
    private readonly file: PieceFile,
    private readonly warn: (message: string) => void,
  ) {
    this.name = source.name;
    this.size = source.size;
  }

  async *stream(start: number, end: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const { store, size } = this.file;
    let position = start;
    while (position < end) {
      signal?.throwIfAborted();
      const index = Math.floor(position / store.pieceBytes);
      const first = index * store.pieceBytes;
      const pieceEnd = Math.min(first + pieceLength(store, size, index), end);
      const foundDamage = (): void =>
        this.warn(`${this.name}: the cached bytes from ${position} on are damaged; downloading them again`);
      for await (const chunk of readPiece(this.file, index, [position - first, pieceEnd - first], foundDamage)) {
        if (index === 0) this.isLocal = true;
        signal?.throwIfAborted();
        yield chunk;
        position += chunk.length;
      }
      if (position === pieceEnd) continue;
      signal?.throwIfAborted();
      const missingEnd = await this.#endOfMissing(index, end);
      for await (const chunk of this.#download(index, missingEnd, position, end, signal)) {
        yield chunk;
        position += chunk.length;
      }
    }
  }

  /** The first piece after `index` that is cached or starts at or after `end`. */
  async #endOfMissing(index: number, end: number): Promise<number> {
    let last = index + 1;
    while (last * this.file.store.pieceBytes < end && !(await hasPiece(this.file, last))) last += 1;
    return last;
  }

  /** Downloads the pieces in [first, last), stores each while the next one arrives, and yields the bytes in [start, end). */
  async *#download(
    first: number,
    last: number,
    start: number,
    end: number,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const { pieceBytes } = this.file.store;
    if (this.#isEnded) {
      yield* this.source.stream(start, Math.min(last * pieceBytes, end), signal);
      return;
    }
    let piece = newPiece(this.file, first);
    let written: Piece | undefined;
    let writing = Promise.resolve();
    let index = first;
    let position = first * pieceBytes;
    try {
      for await (const chunk of this.source.stream(position, Math.min(last * pieceBytes, this.size), signal)) {
        for (let rest = chunk; rest.length > 0;) {
          const at = position - index * pieceBytes;
          const part = rest.subarray(0, piece.bytes.length - at);
          piece.bytes.set(part, at);
          const wanted = part.subarray(Math.max(start - position, 0), Math.max(end - position, 0));
          if (wanted.length > 0) yield wanted;
          position += part.length;
          rest = rest.subarray(part.length);
          if (at + part.length < piece.bytes.length) continue;
          await writing;
          writing = this.#write(index, piece);
          writing.catch(() => undefined); // a listener of warnings may throw, which is reported when it is awaited
          index += 1;
          if (index < last) [piece, written] = [this.#memoryFor(index, written), piece];
        }
      }
    } finally {
      await writing;
    }
  }

  /** Memory for a piece that is downloaded: that of one that is stored by now, if it has the same length. */
  #memoryFor(index: number, stored: Piece | undefined): Piece {
    const isFitting = stored?.bytes.length === pieceLength(this.file.store, this.size, index);
    return isFitting ? stored : newPiece(this.file, index);
  }

  /** Stores a piece if the cached file is still this version of it. */
  async #write(index: number, piece: Piece): Promise<void> {
    if (this.#isEnded) return;
    const { store, key, version } = this.file;
    let problem: string | undefined;
    try {
      problem = await withLock(store, key, async () => {
        if ((await readRecord(store, key))?.version !== version) return "the cached file was deleted or replaced";
        await writePiece(this.file, index, piece);
        if (index === 0) this.isLocal = true;
        return undefined;
      });
    } catch (error) {
      problem = (error as Error).message;
    }
    if (problem === undefined) return;
    this.#isEnded = true;
    this.warn(`${this.name}: not cached from byte ${index * store.pieceBytes} on: ${problem}`);
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
      networkError(name, "the download failed and the cache has only part of the file", {
        ...advise.other("check the connection and try again"),
        cause,
      });
    },
  };
}
