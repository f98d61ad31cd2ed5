// Streams the weights of a model into wasm memory.
import { fieldOf } from "../../files/errors.js";
import type { ModelFiles, ReadOptions, StoredTensor } from "../../files/model_files.js";
import { tensorBytes, WEIGHT_FORMATS } from "../../../core/quantize/weight_formats.js";
import type { Heap } from "../../../core/memory/heap.js";
import { crc32 } from "../../../core/base/crc32.js";
import type { ConfigReader } from "../config/config_reader.js";
import { SAMPLE_BYTES } from "./fingerprint.js";
import type { PickedUnits, TensorSlice, WeightMapping } from "./weight_mapping.js";

/** A weight that is being loaded. */
interface Progress {
  readonly mapping: WeightMapping;
  missingBytes: number;
  /** Bytes from the start of the weight that have arrived without a gap. */
  leadingBytes: number;
}

/** Where a slice of a tensor is copied to in wasm memory. */
interface Target {
  readonly slice: TensorSlice;
  /** Address of the weight. */
  readonly address: number;
  readonly progress: Progress;
  /** CRC-32 of the slice's first {@link SAMPLE_BYTES} bytes, or of those that have arrived. */
  sample: number;
  /** The beginning of a row that is quantized when the rest of it has arrived; of a transposed matrix, some columns of all rows. */
  partial: Uint8Array;
}

/** The memory that rows are copied to before they are quantized. */
interface Staging {
  readonly address: number;
  readonly bytes: number;
}

const STAGING_BYTES = 1 << 20;
/** Columns of a transposed matrix that are quantized at once: whole blocks of every format. */
const STRIP_COLUMNS = 256;
const NO_BYTES = new Uint8Array(0);

/**
 * The slices of a tensor by their first bytes, and the first one that is still incomplete: chunks arrive in order too. Several weights may take
 * units from the same bytes.
 */
interface Targets {
  readonly list: Target[];
  first: number;
}

/**
 * Streams weights from a model's files into wasm memory. Each byte is read once, in file order. Matrices are quantized row by row, so beyond
 * the weights themselves this needs only a megabyte, or 256 columns of matrices that are stored transposed.
 *
 * @param model - address of a configured model; on failure the caller destroys it
 * @returns the CRC-32 of the beginning of each slice, in the order of `mappings`: see fingerprintOf()
 * @throws {@link RopewalkError} OUT_OF_MEMORY, INVALID_FILE, NETWORK; rejects with the signal's reason.
 * @internal
 */
export async function loadWeights(
  heap: Heap,
  model: number,
  files: ModelFiles,
  reader: ConfigReader,
  mappings: readonly WeightMapping[],
  options: ReadOptions,
): Promise<number[]> {
  const vectors = new Map<WeightMapping, number>();
  const targetsInOrder: Target[] = [];
  const stagingBytes = stagingBytesFor(mappings);
  const staging = { address: stagingBytes > 0 ? heap.allocate(stagingBytes) : 0, bytes: stagingBytes };
  try {
    const targetsByTensor = new Map<string, Targets>();
    for (const mapping of mappings) {
      const address = mapping.isVector ? heap.allocate(mapping.bytes) : reserve(heap, model, reader, mapping);
      if (mapping.isVector) vectors.set(mapping, address);
      if (mapping.values !== undefined)
        new Float32Array(heap.buffer, address, mapping.values.length).set(mapping.values);
      const progress = { mapping, missingBytes: mapping.bytes, leadingBytes: 0 };
      for (const slice of mapping.slices) {
        const targets = targetsByTensor.get(slice.tensor.name) ?? { list: [], first: 0 };
        const target: Target = { slice, address, progress, sample: 0, partial: NO_BYTES };
        targetsInOrder.push(target);
        targets.list.push(target);
        targetsByTensor.set(slice.tensor.name, targets);
      }
    }
    for (const { list } of targetsByTensor.values()) list.sort((a, b) => a.slice.from - b.slice.from);
    const copy = ({ name }: StoredTensor, offset: number, chunk: Uint8Array): void => {
      const targets = targetsByTensor.get(name)!;
      const end = offset + chunk.length;
      let target;
      for (let i = targets.first; (target = targets.list[i]) !== undefined && target.slice.from < end; i++) {
        const { slice, progress } = target;
        const first = Math.max(offset, slice.from);
        const last = Math.min(end, slice.from + slice.bytes);
        if (first < last)
          receive(heap, target, first - slice.from, chunk.subarray(first - offset, last - offset), staging, reader);
        if (!progress.mapping.isVector) pack(heap, model, reader, progress);
      }
      while ((target = targets.list[targets.first]) !== undefined && target.slice.from + target.slice.bytes <= end)
        targets.first++;
    };
    await files.read(
      [...targetsByTensor.keys()].map((name) => files.tensors.get(name)!),
      copy,
      options,
    );
    for (const [mapping, address] of vectors) setVector(heap, model, reader, mapping, address);
  } finally {
    for (const address of vectors.values()) heap.free(address);
    if (staging.address !== 0) heap.free(staging.address);
  }
  check(heap, heap.module.model_finish(model), reader, "tensors");
  return targetsInOrder.map(({ sample }) => sample);
}

/** Allocates memory for a matrix in the core, and returns its address. The core must have reserved the bytes that will be copied. */
function reserve(heap: Heap, model: number, reader: ConfigReader, mapping: WeightMapping): number {
  const { layer, slot, expert, loaded, rows, columns } = mapping;
  const result = heap.scratch;
  const code = WEIGHT_FORMATS.indexOf(loaded.format);
  const status = heap.module.model_reserve(model, layer, slot, expert, code, rows, columns, loaded.bytes, result);
  check(heap, status, reader, nameOf(mapping));
  return new Uint32Array(heap.buffer, result, 1)[0]!;
}

function setVector(heap: Heap, model: number, reader: ConfigReader, mapping: WeightMapping, address: number): void {
  const { layer, slot, format, bytes, added } = mapping;
  const code = WEIGHT_FORMATS.indexOf(format);
  check(heap, heap.module.model_set_vector(model, layer, slot, code, address, bytes, added), reader, nameOf(mapping));
}

/** Packs the rows that have arrived, while they are in the processor's cache and the next ones are being downloaded. */
function pack(
  heap: Heap,
  model: number,
  reader: ConfigReader,
  { mapping, missingBytes, leadingBytes }: Progress,
): void {
  const { layer, slot, expert, rows, bytes } = mapping;
  const whole = missingBytes === 0 ? rows : Math.floor(leadingBytes / (bytes / rows));
  check(heap, heap.module.model_pack(model, layer, slot, expert, whole), reader, nameOf(mapping));
}

function nameOf({ slices }: WeightMapping): string {
  return slices[0]?.tensor.name ?? "metadata";
}

/** Takes bytes of a slice, which come after those it has got before. `from` is their place in the slice. */
function receive(
  heap: Heap,
  target: Target,
  from: number,
  part: Uint8Array,
  staging: Staging,
  reader: ConfigReader,
): void {
  const { slice, address, progress } = target;
  const to = slice.to + from;
  const sample = SAMPLE_BYTES - from;
  if (sample > 0) target.sample = crc32(part.subarray(0, sample), target.sample);
  if (slice.picked !== undefined) {
    const { unit, groups, count } = slice.picked;
    progress.missingBytes -= isQuantized(progress.mapping)
      ? quantizeTransposed(heap, target, slice.picked, from, part, staging, reader)
      : copyPicked(heap.bytes(address + slice.to, unit * groups * count), slice.picked, from, part);
    return;
  }
  if (isQuantized(progress.mapping)) {
    quantize(heap, target, to, part, staging, reader);
    return;
  }
  heap.bytes(address + to, part.length).set(part);
  addProgress(progress, to, part.length);
}

/** Copies the picked units of `bytes`, which start at byte `from` of their slice, and returns how many bytes that were. */
function copyPicked(target: Uint8Array, picked: PickedUnits, from: number, bytes: Uint8Array): number {
  const { unit, groups, width, first, step, count } = picked;
  let copied = 0;
  for (let done = 0, length; done < bytes.length; done += length) {
    const index = Math.floor((from + done) / unit);
    const begin = from + done - index * unit; // chunks end anywhere
    length = Math.min(unit - begin, bytes.length - done);
    const group = Math.floor(index / width);
    const place = (index - group * width - first) / step;
    if (place < 0 || place >= count || !Number.isInteger(place)) continue;
    const at = (place * groups + group) * unit + begin;
    for (let i = 0; i < length; i++) target[at + i] = bytes[done + i]!;
    copied += length;
  }
  return copied;
}

/**
 * Collects columns of a transposed matrix, and quantizes them when there are {@link STRIP_COLUMNS}, or when they are the last. `part` starts at
 * byte `from` of the slice. Returns how many bytes were taken.
 */
function quantizeTransposed(
  heap: Heap,
  target: Target,
  picked: PickedUnits,
  from: number,
  part: Uint8Array,
  staging: Staging,
  reader: ConfigReader,
): number {
  const { unit, width, count } = picked;
  const stripBytes = STRIP_COLUMNS * width * unit;
  let copied = 0;
  for (let done = 0, length; done < part.length; done += length) {
    const strip = Math.floor((from + done) / stripBytes);
    const begin = from + done - strip * stripBytes;
    const groups = Math.min(STRIP_COLUMNS, picked.groups - strip * STRIP_COLUMNS);
    const end = groups * width * unit;
    length = Math.min(end - begin, part.length - done);
    if (begin === 0) target.partial = new Uint8Array(count * groups * unit);
    copied += copyPicked(target.partial, { ...picked, groups }, begin, part.subarray(done, done + length));
    if (begin + length < end) continue;
    quantizeStrip(heap, target, strip * STRIP_COLUMNS, groups, staging, reader);
    target.partial = NO_BYTES;
  }
  return copied;
}

/** Quantizes `columns` columns of all rows of a slice, from column `first` on. */
function quantizeStrip(
  heap: Heap,
  { slice, address, progress, partial }: Target,
  first: number,
  columns: number,
  staging: Staging,
  reader: ConfigReader,
): void {
  const { format, loaded, rows, bytes } = progress.mapping;
  const [source, result] = [format, loaded.format].map((name) => WEIGHT_FORMATS.indexOf(name)) as [number, number];
  const given = tensorBytes(format, [columns])!;
  const made = tensorBytes(loaded.format, [columns])!;
  const rowBytes = loaded.bytes / rows;
  const begin = address + (slice.to / (bytes / rows)) * rowBytes + tensorBytes(loaded.format, [first])!;
  const most = Math.floor(staging.bytes / (given + made));
  const count = partial.length / given;
  for (let row = 0; row < count; row += most) {
    const some = Math.min(most, count - row);
    const out = staging.address + some * given;
    heap.bytes(staging.address, some * given).set(partial.subarray(row * given, (row + some) * given));
    const status = heap.module.quantize_rows(source, staging.address, some, columns, result, out);
    check(heap, status, reader, slice.tensor.name);
    const blocks = heap.bytes(out, some * made);
    for (let i = 0; i < some; i++)
      heap.bytes(begin + (row + i) * rowBytes, made).set(blocks.subarray(i * made, (i + 1) * made));
  }
}

/** Quantizes the rows that are complete with `part`, and keeps the beginning of the next one. `to` is the place of `part` in the weight. */
function quantize(
  heap: Heap,
  target: Target,
  to: number,
  part: Uint8Array,
  staging: Staging,
  reader: ConfigReader,
): void {
  const { address, progress } = target;
  const { rows, columns, bytes, format, loaded } = progress.mapping;
  const rowBytes = bytes / rows;
  const [source, result] = [format, loaded.format].map((name) => WEIGHT_FORMATS.indexOf(name)) as [number, number];
  const capacity = Math.floor(staging.bytes / rowBytes) * rowBytes;
  let position = to - target.partial.length;
  for (let taken = 0; taken < part.length;) {
    const kept = target.partial.length;
    const piece = part.subarray(taken, taken + capacity - kept);
    heap.bytes(staging.address, kept).set(target.partial);
    heap.bytes(staging.address + kept, piece.length).set(piece);
    taken += piece.length;
    const count = Math.floor((kept + piece.length) / rowBytes);
    const whole = count * rowBytes;
    target.partial = heap.bytes(staging.address + whole, kept + piece.length - whole).slice();
    const out = address + (position / rowBytes) * (loaded.bytes / rows);
    const status = heap.module.quantize_rows(source, staging.address, count, columns, result, out);
    check(heap, status, reader, target.slice.tensor.name);
    addProgress(progress, position, whole);
    position += whole;
  }
}

function addProgress(progress: Progress, to: number, bytes: number): void {
  progress.missingBytes -= bytes;
  if (to === progress.leadingBytes) progress.leadingBytes += bytes;
}

function isQuantized({ format, loaded }: WeightMapping): boolean {
  return format !== loaded.format;
}

/** A megabyte, or the longest row to quantize. 0 if there is none. */
function stagingBytesFor(mappings: readonly WeightMapping[]): number {
  const rows = mappings.filter(isQuantized).map(({ bytes, rows }) => bytes / rows);
  return rows.length === 0 ? 0 : Math.max(STAGING_BYTES, ...new Set(rows));
}

function check(heap: Heap, status: number, reader: ConfigReader, tensor: string): void {
  heap.check(status, undefined, fieldOf(reader.file, tensor));
}
