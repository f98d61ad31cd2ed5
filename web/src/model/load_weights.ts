// Streams the weights of a model into wasm memory.
import { fieldOf } from "../files/errors.js";
import type { ModelFiles, ReadOptions, StoredTensor } from "../files/model_files.js";
import { WEIGHT_FORMATS } from "../files/weight_formats.js";
import type { Heap } from "../memory/heap.js";
import { crc32 } from "../base/crc32.js";
import type { ConfigReader } from "./config_reader.js";
import { SAMPLE_BYTES } from "./fingerprint.js";
import type { TensorSlice, WeightMapping } from "./weight_mapping.js";

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
  readonly address: number;
  readonly progress: Progress;
  /** CRC-32 of the slice's first {@link SAMPLE_BYTES} bytes, or of those that have arrived. */
  sample: number;
}

/** The slices of a tensor, in its order, and the first one that is still incomplete: chunks arrive in order too. */
interface Targets {
  readonly list: Target[];
  first: number;
}

/**
 * Streams weights from a model's files into wasm memory. Each byte is read once, in file order.
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
  try {
    const targetsByTensor = new Map<string, Targets>();
    for (const mapping of mappings) {
      const address = mapping.isVector ? heap.allocate(mapping.bytes) : reserve(heap, model, reader, mapping);
      if (mapping.isVector) vectors.set(mapping, address);
      const progress = { mapping, missingBytes: mapping.bytes, leadingBytes: 0 };
      for (const slice of mapping.slices) {
        const targets = targetsByTensor.get(slice.tensor.name) ?? { list: [], first: 0 };
        const target: Target = { slice, address: address + slice.to, progress, sample: 0 };
        targetsInOrder.push(target);
        targets.list.push(target);
        targetsByTensor.set(slice.tensor.name, targets);
      }
    }
    for (const { list } of targetsByTensor.values()) list.sort((a, b) => a.slice.from - b.slice.from);
    const copy = ({ name }: StoredTensor, offset: number, chunk: Uint8Array): void => {
      const targets = targetsByTensor.get(name)!;
      const end = offset + chunk.length;
      for (
        let target;
        (target = targets.list[targets.first]) !== undefined && target.slice.from < end;
        targets.first++
      ) {
        const { slice, progress } = target;
        copyOverlap(heap, target, offset, chunk);
        if (!progress.mapping.isVector) pack(heap, model, reader, progress);
        if (slice.from + slice.bytes > end) break;
      }
    };
    await files.read(
      [...targetsByTensor.keys()].map((name) => files.tensors.get(name)!),
      copy,
      options,
    );
    for (const [mapping, address] of vectors) setVector(heap, model, reader, mapping, address);
  } finally {
    for (const address of vectors.values()) heap.free(address);
  }
  check(heap, heap.module.model_finish(model), reader, "tensors");
  return targetsInOrder.map(({ sample }) => sample);
}

/** Allocates memory for a matrix in the core, and returns its address. The core must have reserved the bytes that will be copied. */
function reserve(heap: Heap, model: number, reader: ConfigReader, mapping: WeightMapping): number {
  const { layer, slot, expert, format, rows, columns, bytes } = mapping;
  const result = heap.scratch;
  const code = WEIGHT_FORMATS.indexOf(format);
  const status = heap.module.model_reserve(model, layer, slot, expert, code, rows, columns, bytes, result);
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
  return slices[0]!.tensor.name;
}

/** Copies the part of a chunk that belongs to a target. */
function copyOverlap(heap: Heap, target: Target, offset: number, chunk: Uint8Array): void {
  const { slice, address, progress } = target;
  const first = Math.max(offset, slice.from);
  const end = Math.min(offset + chunk.length, slice.from + slice.bytes);
  if (first >= end) return;
  heap.bytes(address + first - slice.from, end - first).set(chunk.subarray(first - offset, end - offset));
  const sampleEnd = Math.min(end, slice.from + SAMPLE_BYTES);
  if (first < sampleEnd) target.sample = crc32(chunk.subarray(first - offset, sampleEnd - offset), target.sample);
  progress.missingBytes -= end - first;
  if (slice.to + first - slice.from === progress.leadingBytes) progress.leadingBytes += end - first;
}

function check(heap: Heap, status: number, reader: ConfigReader, tensor: string): void {
  heap.check(status, undefined, fieldOf(reader.file, tensor));
}
