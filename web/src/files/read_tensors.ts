import { RopewalkError } from "../base/errors.js";
import type { ByteSource } from "./byte_source.js";
import { invalidFile } from "./failures.js";
import type { ReadProgress } from "./progress.js";
import type { StoredTensor } from "./stored_tensor.js";

/** Takes a piece of a tensor; `chunk` is only valid during the call. */
export type WriteTensor = (tensor: StoredTensor, offset: number, chunk: Uint8Array) => void;

/** How to read tensors. */
export interface ReadOptions {
  /** Stops reading; the promise rejects with its reason, and everything that was open is closed. */
  signal?: AbortSignal;
  /** Hears of bytes of tensors as they arrive. */
  onProgress?: (progress: ReadProgress) => void;
}

/**
 * Streams tensors in file order, with one stream for those that lie near one another.
 *
 * @throws what the sources do; INVALID_FILE where a file ends early; what `write` throws
 * @internal
 */
export async function readTensors(
  files: readonly ByteSource[],
  tensors: readonly StoredTensor[],
  write: WriteTensor,
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
      // the tensors with bytes in this chunk; the last of them may go on in the next
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
      invalidFile(source.name, last.name, `the file ends at byte ${position}, within its tensors; download it again`);
    }
  }
}

/** Cuts tensors in file order where a second stream is cheaper than reading on. */
function* runsOf(files: readonly ByteSource[], tensors: readonly StoredTensor[]): Generator<StoredTensor[]> {
  let run: StoredTensor[] = [];
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

/** Checks that tensors are those of the model, and drops what is named twice. @internal */
export function ownTensors(all: ReadonlyMap<string, StoredTensor>, asked: Iterable<StoredTensor>): StoredTensor[] {
  const tensors = [...new Set(asked)];
  const stranger = tensors.find((tensor) => all.get(tensor.name) !== tensor);
  if (stranger !== undefined) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "tensors",
      `${stranger.name} is not a tensor of these files; take it from \`tensors\``,
    );
  }
  return tensors;
}
