// What a store of downloads offers.
import type { Locks } from "../locks.js";

/** Length of a piece in bytes. An interrupted download loses at most this much. @internal */
export const PIECE_BYTES = 16 << 20;

/** Length of a block of a piece in bytes. A block is still in a cache of the processor when it is checked and used after it was read. @internal */
export const BLOCK_BYTES = 1 << 20;

/** A stored blob that is open for reading. */
export interface OpenBlob {
  readonly size: number;
  /** The bytes in [start, end), fewer if it ends before. They are valid until the next call. */
  read(start: number, end: number): Uint8Array;
  close(): void;
}

/** Stores named blobs on this device. Any call may reject, for example because the quota is exceeded. @internal */
export interface PieceStore {
  /** Name of the store in locks. */
  readonly id: string;
  /** Length of a piece of a file in bytes. The last piece may be shorter. */
  readonly pieceBytes: number;
  /** Length of a block of a piece, each with a checksum. The last block may be shorter. */
  readonly blockBytes: number;
  /** Web Locks, where the engine has them. */
  readonly locks?: Locks | undefined;
  names(): Promise<string[]>;
  read(name: string): Promise<Blob | undefined>;
  /**
   * Opens a blob to read parts of it; undefined if there is none, or that isn't possible here and now. Nobody changes it before it is closed.
   * Reading a Blob takes up to ten times as long in Chromium, most of it for new memory and for copies between processes.
   */
  open?(name: string): Promise<OpenBlob | undefined>;
  /** Stores a blob whole, or rejects and leaves what had the name before, which engines that only write in place may remove. */
  write(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  remove(name: string): Promise<void>;
}
