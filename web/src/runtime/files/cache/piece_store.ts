// What a store of downloads offers.
import type { Locks } from "../locks.js";

/** Length of a piece in bytes. An interrupted download loses at most this much, and a piece is held in memory to check it. @internal */
export const PIECE_BYTES = 16 << 20;

/** Stores named blobs on this device. Any call may reject, for example because the quota is exceeded. @internal */
export interface PieceStore {
  /** Name of the store in locks. */
  readonly id: string;
  /** Length of a piece of a file in bytes. The last piece may be shorter. */
  readonly pieceBytes: number;
  /** Web Locks, where the engine has them. */
  readonly locks?: Locks | undefined;
  names(): Promise<string[]>;
  read(name: string): Promise<Blob | undefined>;
  /**
   * Reads a blob into memory that is asked for then, as far as it goes. Returns the blob's length, or undefined if it can't be read so here and now.
   * Reading a Blob takes up to ten times as long in Chromium, most of it for new memory and for copies between processes.
   */
  readInto?(name: string, memory: () => Uint8Array): Promise<number | undefined>;
  /** Stores a blob whole, or rejects and leaves what had the name before, which engines that only write in place may remove. */
  write(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  remove(name: string): Promise<void>;
}
