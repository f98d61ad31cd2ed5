// What a written GGUF file consists of, and how it is written.
import { writeSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { ModelFiles, StoredTensor } from "../../../runtime/files/model_files.js";
import { tensorBytes, WEIGHT_BLOCKS } from "../../../core/quantize/weight_formats.js";
import type { QuantizeRowsOptions, Ropewalk } from "../../../index.node.js";
import { ggufHeader, type GgufTensor } from "./gguf_header.js";

/** Consecutive rows of a stored tensor that become rows of a written one. */
export interface TensorPart {
  readonly tensor: StoredTensor;
  /** First byte of the part, from the start of the stored tensor. */
  readonly from: number;
  readonly bytes: number;
  /** The written row of the part's first row. */
  readonly firstRow: number;
}

/** A tensor to write, and where its rows come from. */
export interface PlannedTensor extends GgufTensor {
  /** Elements of a row. The elements of a vector are rows of one. */
  readonly columns: number;
  readonly parts: readonly TensorPart[];
  /** The data of a tensor that isn't stored. */
  readonly data?: Uint8Array;
  /** The place of a row among the written ones. Default: rows keep their order. */
  readonly rowOf?: (row: number) => number;
}

/** A file to write. */
export interface GgufPlan {
  /** Metadata entries as bytes. */
  readonly entries: readonly Uint8Array[];
  readonly tensors: readonly PlannedTensor[];
  readonly alignment: number;
}

/** A part that is being written. */
interface Target {
  readonly planned: PlannedTensor;
  readonly part: TensorPart;
  /** Where the tensor's data starts in the file. */
  readonly offset: number;
  row: number;
  /** The beginning of a row. */
  partialRow: Uint8Array;
}

/** Bytes of a batch of rows that are quantized together. */
const BATCH_BYTES = 1 << 22;

/** Writes the file. Needs memory for a few megabytes of rows at a time. Returns its length. */
export async function writeGguf(
  rw: Ropewalk,
  files: ModelFiles,
  { entries, tensors, alignment }: GgufPlan,
  file: FileHandle,
  signal: AbortSignal,
  onProgress: (done: number, total: number) => void,
): Promise<number> {
  const { header, offsets, size } = ggufHeader(entries, tensors, alignment);
  await file.truncate(size);
  writeAt(file, header, 0);
  const targets = new Map<StoredTensor, Target[]>();
  tensors.forEach((planned, i) => {
    if (planned.data !== undefined) writeAt(file, planned.data, offsets[i]!);
    for (const part of planned.parts) {
      const target = { planned, part, offset: offsets[i]!, row: part.firstRow, partialRow: new Uint8Array(0) };
      targets.set(part.tensor, [...(targets.get(part.tensor) ?? []), target]);
    }
  });
  const write = (tensor: StoredTensor, offset: number, chunk: Uint8Array): void => {
    for (const target of targets.get(tensor)!) {
      const { from, bytes } = target.part;
      const [first, last] = [Math.max(offset, from), Math.min(offset + chunk.length, from + bytes)];
      if (first < last) writeRows(rw, file, target, chunk.subarray(first - offset, last - offset));
    }
  };
  await files.read(targets.keys(), write, { signal, onProgress: ({ loaded, total }) => onProgress(loaded, total) });
  return size;
}

/** Writes the rows that are complete with these bytes, and keeps the beginning of the next one. */
function writeRows(rw: Ropewalk, file: FileHandle, target: Target, bytes: Uint8Array): void {
  const { planned, part, offset, partialRow } = target;
  const { columns, format } = planned;
  const stored = part.tensor.format;
  const bytesOf = (name: keyof typeof WEIGHT_BLOCKS): number => tensorBytes(name, [1, columns])!;
  const [storedRow, writtenRow] = [bytesOf(stored), bytesOf(format)];
  const all = Buffer.concat([partialRow, bytes]);
  const batch = Math.max(1, Math.floor(BATCH_BYTES / storedRow)) * storedRow;
  const whole = Math.floor(all.length / storedRow) * storedRow;
  for (let start = 0; start < whole; start += batch) {
    const rows = new Uint8Array(all.subarray(start, Math.min(start + batch, whole)));
    const written =
      stored === format ? rows : rw.quantizeRows(rows, { from: stored, to: format, columns } as QuantizeRowsOptions);
    const count = rows.length / storedRow;
    if (planned.rowOf === undefined) writeAt(file, written, offset + target.row * writtenRow);
    else
      for (let i = 0; i < count; i++)
        writeAt(
          file,
          written.subarray(i * writtenRow, (i + 1) * writtenRow),
          offset + planned.rowOf(target.row + i) * writtenRow,
        );
    target.row += count;
  }
  target.partialRow = all.subarray(whole);
}

function writeAt(file: FileHandle, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(file.fd, bytes, done, bytes.length - done, position + done);
}
