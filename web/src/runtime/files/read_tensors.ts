// Streams tensors from a model's files.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import type { ByteSource } from "./byte_source.js";
import { invalidFile, named } from "./errors.js";
import type { ReadProgress } from "./progress.js";
import type { StoredTensor } from "./stored_tensor.js";

/** Receives a chunk of a tensor, which is valid only during the call. `offset` is in bytes from the start of the tensor. */
export type WriteTensor = (tensor: StoredTensor, offset: number, chunk: Uint8Array) => void;

/** What is read of a tensor: its bytes in a file. */
type TensorRange = Pick<StoredTensor, "name" | "file" | "offset" | "bytes">;

/** Options for reading tensors. */
export interface ReadOptions {
  /** Aborts reading: the promise rejects with the signal's reason, and files and connections are closed. */
  signal?: AbortSignal;
  /** Called with the bytes of tensors read so far. */
  onProgress?: (progress: ReadProgress) => void;
}

/**
 * Streams tensors in file order. Tensors close to each other share a stream.
 *
 * @throws what the sources throw; INVALID_FILE if a file ends early; what `write` throws
 * @internal
 */
export async function readTensors<Tensor extends TensorRange>(
  files: readonly ByteSource[],
  tensors: readonly Tensor[],
  write: (tensor: Tensor, offset: number, chunk: Uint8Array) => void,
  options: ReadOptions,
): Promise<void> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const ordered = [...tensors].sort((a, b) => a.file - b.file || a.offset - b.offset);
  const total = ordered.reduce((sum, { bytes }) => sum + bytes, 0);
  let loaded = 0;
  onProgress?.({ loaded, total });
  for (const run of runsOf(files, ordered)) {
    const source = files[run[0]!.file]!;
    const last = run.at(-1)!;
    let position = run[0]!.offset;
    let next = 0;
    for await (const chunk of source.stream(position, last.offset + last.bytes, signal)) {
      const end = position + chunk.length;
      // the tensors with bytes in this chunk; the last one may continue in the next chunk
      for (; next < run.length && run[next]!.offset < end; next++) {
        const tensor = run[next]!;
        const from = Math.max(tensor.offset, position);
        const to = Math.min(tensor.offset + tensor.bytes, end);
        if (to > from) {
          write(tensor, from - tensor.offset, chunk.subarray(from - position, to - position));
          loaded += to - from;
        }
        if (to < tensor.offset + tensor.bytes) break;
      }
      position = end;
      onProgress?.({ loaded, total });
    }
    if (position < last.offset + last.bytes) {
      invalidFile(
        source.name,
        last.name,
        `must end at byte ${last.offset + last.bytes}, but the file ends at byte ${position}`,
        advise.other("download it again"),
      );
    }
  }
}

/** Groups tensors in file order. Starts a new group where a second stream is cheaper than skipping the gap. */
function* runsOf<Tensor extends TensorRange>(
  files: readonly ByteSource[],
  tensors: readonly Tensor[],
): Generator<Tensor[]> {
  let run: Tensor[] = [];
  for (const tensor of tensors) {
    if (tensor.bytes === 0) continue;
    const before = run.at(-1);
    if (before !== undefined) {
      const gap = tensor.offset - (before.offset + before.bytes);
      if (tensor.file !== before.file || gap > files[tensor.file]!.seekCost) {
        yield run;
        run = [];
      }
    }
    run.push(tensor);
  }
  if (run.length > 0) yield run;
}

/** Removes duplicates, and checks that the tensors belong to the model. @throws INVALID_ARGUMENT @internal */
export function uniqueTensors(
  all: ReadonlyMap<string, StoredTensor>,
  requested: Iterable<StoredTensor>,
): StoredTensor[] {
  const tensors = [...new Set(requested)];
  const foreign = tensors.find((tensor) => all.get(tensor.name) !== tensor);
  if (foreign !== undefined) {
    fail(
      "INVALID_ARGUMENT",
      "tensors",
      `${named(foreign.name)} is not a tensor of these files`,
      advise.code("use the objects from `tensors`"),
    );
  }
  return tensors;
}
