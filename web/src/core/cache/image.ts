import * as advise from "../base/advice.js";
import { savedBytes } from "../base/checks.js";
import { fail } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import type { KvCacheCore } from "./core.js";

/** @internal */
export function save(core: KvCacheCore, sequence: number): Uint8Array {
  const { heap, address } = core;
  const { module } = heap;
  return withObject(
    module.kv_writer_create(),
    (writer) => module.kv_writer_destroy(writer),
    (writer) => {
      heap.check(module.kv_writer_open(writer, address, sequence));
      const image = newBytes(module.kv_writer_bytes(writer));
      inPieces(heap, image, (piece, at) => {
        module.kv_writer_read(writer, at, piece.length);
        piece.set(heap.bytes(at, piece.length));
      });
      return image;
    },
  );
}

/** @internal */
export function restore(core: KvCacheCore, bytes: Uint8Array, sequence: number): void {
  const image = savedBytes(bytes);
  const { heap, address } = core;
  const { module } = heap;
  const check = (status: number): void => heap.check(status, undefined, "bytes");
  withObject(
    module.kv_reader_create(),
    (reader) => module.kv_reader_destroy(reader),
    (reader) => {
      check(module.kv_reader_open(reader, address, sequence, image.length));
      inPieces(heap, image, (piece, at) => {
        heap.bytes(at, piece.length).set(piece);
        check(module.kv_reader_write(reader, at, piece.length));
      });
      check(module.kv_reader_finish(reader));
    },
  );
}

/** Calls `use` with a writer or reader, and always frees it. */
function withObject<T>(object: number, destroy: (object: number) => void, use: (object: number) => T): T {
  if (object === 0) fail("OUT_OF_MEMORY", "", "out of memory", advise.dispose({ of: ["tensors", "caches"] }));
  try {
    return use(object);
  } finally {
    destroy(object);
  }
}

/** Splits bytes into pieces that fit the scratch block, and calls `use` with each piece and the block's address. */
function inPieces(heap: Heap, bytes: Uint8Array, use: (piece: Uint8Array, at: number) => void): void {
  const { scratch, scratchBytes } = heap;
  for (let first = 0; first < bytes.length; first += scratchBytes)
    use(bytes.subarray(first, first + scratchBytes), scratch);
}

function newBytes(length: number): Uint8Array {
  try {
    return new Uint8Array(length);
  } catch (cause) {
    fail("OUT_OF_MEMORY", "", `out of memory: cannot create an array of ${length} bytes`, { cause });
  }
}
