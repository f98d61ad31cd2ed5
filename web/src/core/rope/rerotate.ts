// Moves rotated keys to other positions, or to another plan.
import { checkOptions, optionNames } from "../base/options.js";
import type { DType, ElementArray } from "../memory/elements.js";
import { checkSameHeap, tensorAt } from "../memory/operand.js";
import { forEachChunk, openTensor, placeChunkPositions } from "../memory/chunks.js";
import { checkSequenceLength, lengthOf, type PositionInput, readPositions } from "../memory/positions.js";
import type { RopeCore } from "./core.js";
import type { Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** The rotation of keys: their positions, and the plan they are rotated with. `R` is the type of a rope. */
export interface KeyRotation<R> {
  /** As in {@link RotateOptions.positions}. */
  positions: PositionInput;
  /** As in {@link RotateOptions.axes}. */
  axes?: number;
  /** Sequence length of the plan, for types with length-dependent frequencies. Default: largest position + 1. */
  seqLen?: number;
  /** The rope, if it is another one. */
  rope?: R;
}

/** Options of {@link Rope.rerotate}. */
export interface RerotateOptions<R> {
  /** The present rotation of the keys. */
  from: KeyRotation<R>;
  /** The rotation that the keys get. */
  to: KeyRotation<R>;
  /** Order of the dimensions. */
  layout: Layout;
  /** Shape, in the order of `layout`. Required unless the keys are a Tensor. */
  shape?: readonly number[];
  /** Element type of a Uint16Array: `"f16"` or `"bf16"`. */
  dtype?: DType;
  /** Where to write. Default: in place. */
  out?: Tensor | ElementArray;
}

const OPTIONS = optionNames<RerotateOptions<unknown>>("rerotate()", {
  from: true,
  to: true,
  layout: true,
  shape: true,
  dtype: true,
  out: true,
});
const ROTATION = optionNames<KeyRotation<unknown>>("rerotate()", {
  positions: true,
  axes: true,
  seqLen: true,
  rope: true,
});

/** `coreOf` returns the core of a rope argument, and throws if it isn't a rope. @internal */
export function rerotate<X, R>(
  own: RopeCore,
  keys: X,
  options: RerotateOptions<R>,
  coreOf: (rope: R, field: string) => RopeCore,
): X {
  const { from: givenFrom, to: givenTo, layout, shape, dtype, out = keys } = checkOptions(options, OPTIONS);
  const { heap } = own;
  const tensorOptions = { layout, shape, dtype, out };
  const tensor = openTensor(heap, own.geometry.head_dim, keys, tensorOptions, "keys");
  const { extents, source } = tensor;

  const read = (given: KeyRotation<R> | null | undefined, field: string) => {
    const {
      rope,
      positions: input,
      axes,
      seqLen,
    } = checkOptions<Partial<KeyRotation<R>>>(given ?? undefined, ROTATION, field);
    const core = rope === undefined ? own : coreOf(rope, `${field}.rope`);
    checkSameHeap(heap, core, `${field}.rope`);
    const { batches, tokens } = extents;
    const positions = readPositions(input, batches, tokens, core.axes, `${field}.positions`, axes);
    return { core, positions, sequenceLength: checkSequenceLength(seqLen, `${field}.seqLen`) || lengthOf(positions) };
  };
  const from = read(givenFrom, "from");
  const to = read(givenTo, "to");

  // From here on no code of the caller runs, so addresses stay valid.
  from.core.checkPositions(from.positions, "from.positions", from.sequenceLength);
  to.core.checkPositions(to.positions, "to.positions", to.sequenceLength);
  const [fromRope, toRope] = [from.core.address, to.core.address];
  const fromCount = from.positions.ids?.length ?? 0;
  const ids = heap.idBlock(fromCount + (to.positions.ids?.length ?? 0));
  forEachChunk(heap, tensor, (sourceAddress, targetAddress, part, chunk) => {
    const wasmTensor = tensorAt(source.dtype, part, sourceAddress, targetAddress);
    const fromPositions = placeChunkPositions(heap, from.positions, chunk, ids, from.sequenceLength);
    const toPositions = placeChunkPositions(heap, to.positions, chunk, ids + fromCount * 8, to.sequenceLength);
    heap.check(heap.module.rope_rerotate(wasmTensor, fromRope, fromPositions, toRope, toPositions));
  });
  return out as X;
}
