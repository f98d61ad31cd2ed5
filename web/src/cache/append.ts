import type { DType, ElementArray } from "../memory/elements.js";
import { RopewalkError } from "../base/errors.js";
import type { KvCacheCore } from "./core.js";
import { lend, toRead, toWrite } from "../memory/lend.js";
import { type Opened, openOperand, operandOf, overlap, tensorAt } from "../memory/operand.js";
import { placePositions, type PositionInput, readPositions } from "../memory/positions.js";
import { openKeyValues } from "../attention/qkv.js";
import type { Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** New tokens of a layer. B batch rows, T tokens, KH key heads, H query heads. */
export interface AppendOptions {
  /** Keys, not rotated yet; finite, and within what the cache's element type holds. */
  k: Tensor | ElementArray;
  /** Values, in shape and element type as k. */
  v: Tensor | ElementArray;
  /** Queries of the same tokens, turned in place as the layer's rope says (none). Layout of k, any multiple of its heads; f32 for `attend()`. */
  q?: Tensor | ElementArray;
  /** Order of the dimensions. */
  layout: Layout;
  /** Extents of k and v in that order; Tensors have their own. The heads of q follow from its length. */
  shape?: readonly number[];
  /** Element type of Uint16Arrays: f16 or bf16. */
  dtype?: DType;
  /** Which layer (0). */
  layer?: number;
  /** The sequence that the one batch row belongs to (0 where there is one sequence; else none: batch row i belongs to sequence i). */
  sequence?: number;
  /**
   * Where the tokens stand (after the largest position of their sequence). The first layer to be given a token decides; others may repeat it.
   * As for `rope.rotate()`: an offset, or ids.
   */
  positions?: PositionInput;
}

/** @internal */
export function append(core: KvCacheCore, options: AppendOptions): void {
  const { heap, address } = core;
  const layer = core.layer(options.layer);
  const sequence = core.sequenceOrAll(options.sequence);
  const { headDim } = core.layers[layer]!;
  const { keys, values } = openKeyValues(heap, options.k, options.v, options, headDim);
  const queries = options.q === undefined ? undefined : openNewQueries(core, options.q, keys);
  if (queries !== undefined && (overlap(queries, keys) || overlap(queries, values))) {
    throw new RopewalkError("INVALID_ARGUMENT", "q", "must not overlap k and v: it is turned in place");
  }
  const { batches, tokens } = keys.extents;
  const hasPositions = options.positions !== undefined;
  const positions = readPositions(options.positions ?? 0, batches, tokens, core.axes, "positions");
  const placed = placePositions(heap, positions, heap.idBlock(positions.ids?.length ?? 0), 0);

  const [k, v, q] = [toRead(keys), toRead(values), queries && toWrite(queries, true)];
  lend(heap, [k, v, q], () => {
    const at = q?.at ?? 0;
    const given = queries ?? keys;
    const [keyTensor, queryTensor] = [
      tensorAt(keys.dtype, keys.extents, k.at, 0),
      tensorAt(given.dtype, given.extents, at, at),
    ];
    heap.check(heap.module.kv_append(address, layer, sequence, keyTensor, v.at, queryTensor, hasPositions, placed));
  });
}

/** Queries of the tokens of `keys`: all extents but the heads are theirs, and what 16 bits without a name stand for. */
function openNewQueries(
  { heap }: KvCacheCore,
  q: Tensor | ElementArray,
  { dtype: keyDType, extents, shape }: Opened,
): Opened {
  const { layout, batches, tokens, head_dim } = extents;
  const dtype = q instanceof Uint16Array ? keyDType : undefined;
  const heads = Math.floor(operandOf(heap, q, dtype, "q").length / (batches * tokens * head_dim));
  const expected = shape.map((extent, i) => (layout[i] === "h" ? Math.max(1, heads) : extent));
  return openOperand(heap, q, { layout, shape: expected, dtype }, head_dim, "q", { shape: "q", dtype: "dtype" });
}
