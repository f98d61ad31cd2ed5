// Pieces of a cached file, each with a checksum.
import { pieceName } from "./entries.js";
import type { PieceStore } from "./piece_store.js";
import { xxh32 } from "./xxhash.js";

/** XXH32 follows the bytes of each piece. */
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

const storedLength = ({ store, size }: PieceFile, index: number): number =>
  pieceLength(store, size, index) + CHECKSUM_BYTES;

/** Memory of a piece: its bytes, and as it is stored, with its checksum. */
export interface Piece {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly whole: Uint8Array<ArrayBuffer>;
}

const pieceIn = (whole: Uint8Array<ArrayBuffer>): Piece => ({ whole, bytes: whole.subarray(0, -CHECKSUM_BYTES) });

/** Memory for a piece. `bytes` are filled before `writePiece`. @internal */
export function newPiece(file: PieceFile, index: number): Piece {
  return pieceIn(new Uint8Array(storedLength(file, index)));
}

/** Adds the checksum to a filled piece and stores it. If that fails, nothing is stored of it. @internal */
export async function writePiece(file: PieceFile, index: number, { whole, bytes }: Piece): Promise<void> {
  viewOf(whole).setUint32(bytes.length, xxh32(bytes), true);
  const name = pieceName(file.key, file.version, index);
  await file.store.write(name, whole).catch(async (error: unknown) => {
    await file.store.remove(name).catch(() => undefined); // what was there was damaged
    throw error;
  });
}

/** Whether a piece is stored with its length, whatever its bytes. @internal */
export async function hasPiece(file: PieceFile, index: number): Promise<boolean> {
  const blob = await file.store.read(pieceName(file.key, file.version, index)).catch(() => undefined);
  return blob?.size === storedLength(file, index);
}

/**
 * Reads a stored piece, into the memory of another one if it fits. "damaged" if it doesn't have its length or checksum, undefined if there is none.
 * @internal
 */
export async function readPiece(
  file: PieceFile,
  index: number,
  memory: Piece | undefined,
): Promise<Piece | "damaged" | undefined> {
  const { store, key, version } = file;
  const name = pieceName(key, version, index);
  const length = storedLength(file, index);
  try {
    let piece = memory?.whole.length === length ? memory : undefined;
    const found = await store.readInto?.(name, () => (piece ??= newPiece(file, index)).whole);
    if (found !== undefined) return found === length ? checked(piece!) : "damaged";
    const blob = await store.read(name);
    if (blob === undefined) return undefined;
    return blob.size === length ? checked(pieceIn(new Uint8Array(await blob.arrayBuffer()))) : "damaged";
  } catch {
    return undefined; // removed or replaced while it was read, or the store fails
  }
}

function checked(piece: Piece): Piece | "damaged" {
  const { whole, bytes } = piece;
  return viewOf(whole).getUint32(bytes.length, true) === xxh32(bytes) ? piece : "damaged";
}

const viewOf = ({ buffer, byteOffset, length }: Uint8Array): DataView => new DataView(buffer, byteOffset, length);
