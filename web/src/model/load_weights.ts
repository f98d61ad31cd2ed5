// Streams the weights of a model into wasm memory.
import type { ModelFiles, ReadOptions, StoredTensor } from "../files/model_files.js";
import { WEIGHT_FORMATS } from "../files/weight_formats.js";
import type { Heap } from "../memory/heap.js";
import type { ConfigReader } from "./config_reader.js";
import { bytesOf, type TensorSlice, type WeightMapping } from "./weight_mapping.js";

/** A weight that is being loaded. */
interface Progress {
  readonly mapping: WeightMapping;
  missingBytes: number;
}

/** Where a slice of a tensor is copied to in wasm memory. */
interface Target {
  readonly slice: TensorSlice;
  readonly address: number;
  readonly progress: Progress;
}

/**
 * Streams weights from a model's files into wasm memory. Each byte is read once, in file order.
 *
 * @param model - address of a configured model; on failure the caller destroys it
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
): Promise<void> {
  const vectors = new Map<WeightMapping, number>();
  try {
    const targetsByTensor = new Map<string, Target[]>();
    for (const mapping of mappings) {
      const address = mapping.isVector ? heap.allocate(bytesOf(mapping)) : reserve(heap, model, reader, mapping);
      if (mapping.isVector) vectors.set(mapping, address);
      const progress = { mapping, missingBytes: bytesOf(mapping) };
      for (const slice of mapping.slices) {
        const targets = targetsByTensor.get(slice.tensor.name) ?? [];
        targets.push({ slice, address: address + slice.to, progress });
        targetsByTensor.set(slice.tensor.name, targets);
      }
    }
    const copy = ({ name }: StoredTensor, offset: number, chunk: Uint8Array): void => {
      for (const target of targetsByTensor.get(name)!) {
        const { progress } = target;
        progress.missingBytes -= copyOverlap(heap, target, offset, chunk);
        // packed at once, while the next bytes are still being downloaded
        if (progress.missingBytes === 0 && !progress.mapping.isVector) pack(heap, model, reader, progress.mapping);
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
}

function formatOf({ slices }: WeightMapping, reader: ConfigReader): number {
  const { format, name } = slices[0]!.tensor;
  const other = slices.find(({ tensor }) => tensor.format !== format);
  if (other !== undefined)
    throw reader.error(
      "INVALID_FILE",
      other.tensor.name,
      `format must be ${format}, as that of ${name}, which is part of the same weight (got ${other.tensor.format})`,
    );
  return WEIGHT_FORMATS.indexOf(format);
}

function reserve(heap: Heap, model: number, reader: ConfigReader, mapping: WeightMapping): number {
  const { layer, slot, expert, rows, columns, slices } = mapping;
  const result = heap.scratch;
  const status = heap.module.model_reserve(
    model,
    layer,
    slot,
    expert,
    formatOf(mapping, reader),
    rows,
    columns,
    result,
  );
  check(heap, status, reader, slices[0]!.tensor.name);
  return new Uint32Array(heap.buffer, result, 1)[0]!;
}

function setVector(heap: Heap, model: number, reader: ConfigReader, mapping: WeightMapping, address: number): void {
  const { layer, slot, columns, slices, added } = mapping;
  const status = heap.module.model_set_vector(model, layer, slot, formatOf(mapping, reader), address, columns, added);
  check(heap, status, reader, slices[0]!.tensor.name);
}

function pack(heap: Heap, model: number, reader: ConfigReader, { layer, slot, expert, slices }: WeightMapping): void {
  check(heap, heap.module.model_pack(model, layer, slot, expert), reader, slices[0]!.tensor.name);
}

/** Copies the part of a chunk that belongs to a target. Returns the number of bytes copied. */
function copyOverlap(heap: Heap, { slice, address }: Target, offset: number, chunk: Uint8Array): number {
  const first = Math.max(offset, slice.from);
  const end = Math.min(offset + chunk.length, slice.from + slice.bytes);
  if (first >= end) return 0;
  heap.bytes(address + first - slice.from, end - first).set(chunk.subarray(first - offset, end - offset));
  return end - first;
}

function check(heap: Heap, status: number, reader: ConfigReader, tensor: string): void {
  heap.check(status, undefined, `${reader.file}: ${tensor}`);
}
