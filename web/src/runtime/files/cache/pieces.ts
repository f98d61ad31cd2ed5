// Pieces of a cached file, each with a checksum.
import { pieceName } from "./entries.js";
import type { PieceStore } from "./piece_store.js";

/**
 * SHA-256 follows the bytes of each piece. WebCrypto has it wherever there is a store to keep pieces in, computes it outside the thread that
 * calls it, and needs no code of ours.
 */
const CHECKSUM_BYTES = 32;

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

/** Memory for a piece and its checksum. `bytes` is filled before `writePiece`. @internal */
export function newPiece(
  file: PieceFile,
  index: number,
): { whole: Uint8Array<ArrayBuffer>; bytes: Uint8Array<ArrayBuffer> } {
  const whole = new Uint8Array(storedLength(file, index));
  return { whole, bytes: whole.subarray(0, -CHECKSUM_BYTES) };
}

/** Adds the checksum to a filled piece and stores it. If that fails, nothing is stored of it. @internal */
export async function writePiece(
  file: PieceFile,
  index: number,
  { whole, bytes }: ReturnType<typeof newPiece>,
): Promise<void> {
  whole.set(await checksumOf(bytes), bytes.length);
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

/** The bytes of a stored piece, "damaged" if they don't have their length or checksum, undefined if there is none. @internal */
export async function readPiece(file: PieceFile, index: number): Promise<Uint8Array | "damaged" | undefined> {
  const blob = await file.store.read(pieceName(file.key, file.version, index)).catch(() => undefined);
  if (blob === undefined) return undefined;
  if (blob.size !== storedLength(file, index)) return "damaged";
  try {
    const whole = new Uint8Array(await blob.arrayBuffer());
    const bytes = whole.subarray(0, -CHECKSUM_BYTES);
    const expected = await checksumOf(bytes);
    return whole.subarray(-CHECKSUM_BYTES).every((byte, i) => byte === expected[i]) ? bytes : "damaged";
  } catch {
    return undefined; // removed or replaced while it was read
  }
}

async function checksumOf(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
