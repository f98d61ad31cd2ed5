// Pieces of a cached file, in blocks that each have a checksum.
import { pieceName } from "./entries.js";
import type { OpenBlob, PieceStore } from "./piece_store.js";
import { xxh32 } from "./xxhash.js";

/** The XXH32 of each block follows the bytes of a piece. */
const CHECKSUM_BYTES = 4;

/** Which bytes of which version a piece holds. */
export interface PieceFile {
  readonly store: PieceStore;
  readonly key: string;
  readonly version: string;
  /** Length of the whole file in bytes. */
  readonly size: number;
}

/** Length of a piece of a file of `size` bytes. @internal */
export function pieceLength({ pieceBytes }: PieceStore, size: number, index: number): number {
  return Math.max(0, Math.min(pieceBytes, size - index * pieceBytes));
}

function storedLength({ store, size }: PieceFile, index: number): number {
  const length = pieceLength(store, size, index);
  return length + CHECKSUM_BYTES * Math.ceil(length / store.blockBytes);
}

/** Memory of a piece: its bytes, and as it is stored, with its checksums. */
export interface Piece {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly whole: Uint8Array<ArrayBuffer>;
}

/** Memory for a piece. `bytes` are filled before `writePiece`. @internal */
export function newPiece(file: PieceFile, index: number): Piece {
  const whole = new Uint8Array(storedLength(file, index));
  return { whole, bytes: whole.subarray(0, pieceLength(file.store, file.size, index)) };
}

/** Adds the checksums to a filled piece and stores it. If that fails, nothing is stored of it. @internal */
export async function writePiece(file: PieceFile, index: number, { whole, bytes }: Piece): Promise<void> {
  const { store, key, version } = file;
  const checksums = viewOf(whole.subarray(bytes.length));
  for (let start = 0, at = 0; start < bytes.length; start += store.blockBytes, at += CHECKSUM_BYTES)
    checksums.setUint32(at, xxh32(bytes.subarray(start, start + store.blockBytes)), true);
  const name = pieceName(key, version, index);
  await store.write(name, whole).catch(async (error: unknown) => {
    await store.remove(name).catch(() => undefined); // what was there was damaged
    throw error;
  });
}

/** Whether a piece is stored with its length, whatever its bytes. @internal */
export async function hasPiece(file: PieceFile, index: number): Promise<boolean> {
  const blob = await file.store.read(pieceName(file.key, file.version, index)).catch(() => undefined);
  return blob?.size === storedLength(file, index);
}

/**
 * Yields the bytes in [start, end) of a stored piece, as far as they have their checksums. A chunk is valid until the next one is requested. Ends
 * early if the piece isn't stored, or is damaged, after `foundDamage` was called.
 * @internal
 */
export async function* readPiece(
  file: PieceFile,
  index: number,
  [start, end]: readonly [number, number],
  foundDamage: () => void,
): AsyncGenerator<Uint8Array> {
  const { blockBytes } = file.store;
  const opened = await openPiece(file, index).catch(() => undefined); // removed meanwhile, or the store fails
  if (opened === undefined) return;
  const length = pieceLength(file.store, file.size, index);
  const read = (from: number, to: number): Uint8Array | undefined => {
    try {
      return opened.read(from, to);
    } catch {
      return undefined;
    }
  };
  try {
    const checksums = opened.size === storedLength(file, index) ? read(length, opened.size)?.slice() : undefined;
    if (checksums?.length !== opened.size - length) {
      foundDamage();
      return;
    }
    for (let first = start - (start % blockBytes); first < end; first += blockBytes) {
      const block = read(first, Math.min(first + blockBytes, length));
      const checksum = viewOf(checksums).getUint32((first / blockBytes) * CHECKSUM_BYTES, true);
      if (block === undefined || xxh32(block) !== checksum) {
        foundDamage();
        return;
      }
      yield block.subarray(Math.max(start - first, 0), end - first);
    }
  } finally {
    opened.close();
  }
}

async function openPiece({ store, key, version }: PieceFile, index: number): Promise<OpenBlob | undefined> {
  const name = pieceName(key, version, index);
  const opened = await store.open?.(name);
  if (opened !== undefined) return opened;
  const bytes = await (await store.read(name))?.arrayBuffer();
  return (
    bytes && {
      size: bytes.byteLength,
      read: (start, end) => new Uint8Array(bytes).subarray(start, end),
      close: () => undefined,
    }
  );
}

const viewOf = ({ buffer, byteOffset, length }: Uint8Array): DataView => new DataView(buffer, byteOffset, length);
