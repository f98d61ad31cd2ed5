// Reads weights, among them those that consist of several tensors.
import type { ByteSource } from "../byte_source.js";
import { type ReadOptions, readTensors, type WriteTensor } from "../read_tensors.js";
import type { PackedTensor, StoredTensor } from "../stored_tensor.js";

/** A weight whose parts are arriving. */
interface Weight {
  readonly tensor: StoredTensor;
  readonly data: Record<string, Uint8Array>;
  missing: number;
}

/**
 * Streams weights in file order, as readTensors() does. The parts of a packed weight are kept until the last one has arrived. They are next to
 * each other in a file, so this needs memory for one weight or a few.
 *
 * @throws as readTensors(); INVALID_FILE, UNSUPPORTED_MODEL for the contents of packed weights
 * @internal
 */
export async function readWeights(
  files: readonly ByteSource[],
  tensors: readonly StoredTensor[],
  write: WriteTensor,
  options: ReadOptions,
): Promise<void> {
  const places = new Map<PackedTensor | StoredTensor, { weight: Weight; part: string }>();
  for (const tensor of tensors) {
    if (tensor.packing === undefined) continue;
    const parts = Object.entries(tensor.packing.parts);
    const weight = { tensor, data: {}, missing: parts.reduce((sum, [, { bytes }]) => sum + bytes, 0) };
    for (const [part, stored] of parts) places.set(stored, { weight, part });
  }
  const stored = [...tensors.filter(({ packing }) => packing === undefined), ...places.keys()];
  const receive = (tensor: PackedTensor | StoredTensor, offset: number, chunk: Uint8Array): void => {
    const place = places.get(tensor);
    if (place === undefined) {
      write(tensor as StoredTensor, offset, chunk);
      return;
    }
    const { weight, part } = place;
    (weight.data[part] ??= new Uint8Array(tensor.bytes)).set(chunk, offset);
    weight.missing -= chunk.length;
    if (weight.missing > 0) return;
    let end = 0;
    for (const decoded of weight.tensor.packing!.decode(weight.data)) {
      write(weight.tensor, end, decoded);
      end += decoded.length;
    }
    for (const name of Object.keys(weight.data)) delete weight.data[name];
  };
  await readTensors(files, stored, receive, options);
}
