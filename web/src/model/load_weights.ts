import type { ModelFiles, ReadOptions, StoredTensor } from "../files/model_files.js";
import { WEIGHT_FORMATS } from "../files/weight_formats.js";
import type { Heap } from "../memory/heap.js";
import type { Facts } from "./facts.js";
import type { Piece, Placement } from "./placement.js";

/** A weight that is being filled. */
interface Filling {
  readonly placement: Placement;
  missing: number;
}

/** Where a piece of a tensor goes in wasm memory. */
interface Target {
  readonly piece: Piece;
  readonly address: number;
  readonly filling: Filling;
}

/**
 * Streams weights from a model's files to where the core wants them, each byte once, in the order of the file.
 *
 * @param model - address of a configured model.
 * @throws {@link RopewalkError} OUT_OF_MEMORY, INVALID_FILE, NETWORK; rejects with the signal's reason. The caller gives the model back.
 * @internal
 */
export async function loadWeights(
  heap: Heap,
  model: number,
  files: ModelFiles,
  facts: Facts,
  placements: readonly Placement[],
  options: ReadOptions,
): Promise<void> {
  const vectors = new Map<Placement, number>();
  try {
    const wanted = new Map<string, Target[]>();
    for (const placement of placements) {
      const address = placement.isVector ? heap.allocate(bytesOf(placement)) : reserve(heap, model, facts, placement);
      if (placement.isVector) vectors.set(placement, address);
      const filling = { placement, missing: bytesOf(placement) };
      for (const piece of placement.pieces) {
        const targets = wanted.get(piece.tensor.name) ?? [];
        targets.push({ piece, address: address + piece.to, filling });
        wanted.set(piece.tensor.name, targets);
      }
    }
    const copy = ({ name }: StoredTensor, offset: number, chunk: Uint8Array): void => {
      for (const target of wanted.get(name)!) {
        const { filling } = target;
        filling.missing -= copyOverlap(heap, target, offset, chunk);
        if (filling.missing === 0 && !filling.placement.isVector) pack(heap, model, facts, filling.placement); // while more is on its way
      }
    };
    await files.read(
      [...wanted.keys()].map((name) => files.tensors.get(name)!),
      copy,
      options,
    );
    for (const [placement, address] of vectors) setVector(heap, model, facts, placement, address);
  } finally {
    for (const address of vectors.values()) heap.free(address);
  }
  check(heap, heap.module.model_finish(model), facts, "tensors");
}

/** Bytes of a weight as it is stored. @internal */
export function bytesOf({ pieces }: Placement): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0);
}

function formatOf({ pieces }: Placement, facts: Facts): number {
  const { format, name } = pieces[0]!.tensor;
  const other = pieces.find(({ tensor }) => tensor.format !== format);
  if (other !== undefined)
    throw facts.error(
      "INVALID_FILE",
      other.tensor.name,
      `is ${other.tensor.format}, but ${name}, which belongs with it, is ${format}`,
    );
  return WEIGHT_FORMATS.indexOf(format);
}

function reserve(heap: Heap, model: number, facts: Facts, placement: Placement): number {
  const { layer, slot, expert, rows, columns, pieces } = placement;
  const result = heap.scratch;
  const status = heap.module.model_reserve(
    model,
    layer,
    slot,
    expert,
    formatOf(placement, facts),
    rows,
    columns,
    result,
  );
  check(heap, status, facts, pieces[0]!.tensor.name);
  return new Uint32Array(heap.buffer, result, 1)[0]!;
}

function setVector(heap: Heap, model: number, facts: Facts, placement: Placement, address: number): void {
  const { layer, slot, columns, pieces, added } = placement;
  const status = heap.module.model_set_vector(model, layer, slot, formatOf(placement, facts), address, columns, added);
  check(heap, status, facts, pieces[0]!.tensor.name);
}

function pack(heap: Heap, model: number, facts: Facts, { layer, slot, expert, pieces }: Placement): void {
  check(heap, heap.module.model_pack(model, layer, slot, expert), facts, pieces[0]!.tensor.name);
}

/** Copies what of a chunk belongs to a target, and returns the number of its bytes. */
function copyOverlap(heap: Heap, { piece, address }: Target, offset: number, chunk: Uint8Array): number {
  const first = Math.max(offset, piece.from);
  const end = Math.min(offset + chunk.length, piece.from + piece.bytes);
  if (first >= end) return 0;
  heap.bytes(address + first - piece.from, end - first).set(chunk.subarray(first - offset, end - offset));
  return end - first;
}

function check(heap: Heap, status: number, facts: Facts, tensor: string): void {
  heap.check(status, undefined, `${facts.file}: ${tensor}`);
}
