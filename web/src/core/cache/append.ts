import type { DType, ElementArray } from "../memory/elements.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { typedArrayName } from "../base/typed_arrays.js";
import type { KvCacheCore } from "./core.js";
import { stagedInput, stagedOutput, withStaged } from "../memory/staging.js";
import { openOperand, operandOf, overlap, type ShapedOperand, tensorAt } from "../memory/operand.js";
import { placePositions, type PositionInput, readPositions } from "../memory/positions.js";
import { openKeyValues } from "../attention/qkv.js";
import type { Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** New tokens of a layer. B batch rows, T tokens, KH key heads, H query heads. */
export interface AppendOptions {
  /** Keys, not rotated yet. They must be finite and within the range of the cache's element type. */
  k: Tensor | ElementArray;
  /** Values, with the shape and element type of k. */
  v: Tensor | ElementArray;
  /**
   * Queries of the same tokens, rotated in place by the layer's rope. They have the layout of k and a multiple of its heads. They
   * must be f32 if they are passed to `attend()`. Default: none.
   */
  q?: Tensor | ElementArray;
  /** Order of the dimensions. */
  layout: Layout;
  /** Shape of k and v in that order. Required unless they are Tensors. The number of heads of q follows from its length. */
  shape?: readonly number[];
  /** Element type of Uint16Arrays: `f16` or `bf16`. */
  dtype?: DType;
  /** Which layer. Default: 0. */
  layer?: number;
  /**
   * Sequence of the single batch row. Default: 0 if the cache has one sequence; otherwise there is a batch row for each sequence, and row i belongs
   * to sequence i.
   */
  sequence?: number;
  /**
   * Positions of the tokens: an offset or ids, as in `rope.rotate()`. Default: they follow the largest position of their sequence. The first layer
   * that gets a token sets its position; other layers may only repeat it.
   */
  positions?: PositionInput;
}

const OPTIONS = optionNames<AppendOptions>("append()", {
  k: true,
  v: true,
  q: true,
  layout: true,
  shape: true,
  dtype: true,
  layer: true,
  sequence: true,
  positions: true,
});

/** @internal */
export function append(core: KvCacheCore, options: AppendOptions): void {
  const {
    k: givenKeys,
    v: givenValues,
    q: givenQueries,
    layout,
    shape,
    dtype,
    layer: givenLayer,
    sequence: givenSequence,
    positions: givenPositions,
  } = checkOptions(options, OPTIONS);
  const { heap } = core;
  const layer = core.layer(givenLayer);
  const sequence = core.sequenceOrAll(givenSequence);
  const { headDim } = core.layers[layer]!;
  const { keys, values } = openKeyValues(heap, givenKeys, givenValues, { layout, shape, dtype }, headDim);
  const queries = givenQueries === undefined ? undefined : openNewQueries(core, givenQueries, keys);
  if (queries !== undefined && (overlap(queries, keys) || overlap(queries, values))) {
    fail("INVALID_ARGUMENT", "q", "must not overlap k or v, because q is rotated in place");
  }
  const { batches, tokens } = keys.extents;
  const hasPositions = givenPositions !== undefined;
  const positions = readPositions(givenPositions ?? 0, batches, tokens, core.axes, "positions");

  // From here on no code of the caller runs, so addresses stay valid.
  const { address } = core;
  if (batches * tokens === 0) return;
  const wasmPositions = placePositions(heap, positions, heap.idBlock(positions.ids?.length ?? 0), 0);
  const [k, v, q] = [stagedInput(keys), stagedInput(values), queries && stagedOutput(queries, true)];
  withStaged(heap, [k, v, q], () => {
    const at = q?.at ?? 0;
    const given = queries ?? keys;
    const [keyTensor, queryTensor] = [
      tensorAt(keys.dtype, keys.extents, k.at, 0),
      tensorAt(given.dtype, given.extents, at, at),
    ];
    heap.check(
      heap.module.kv_append(address, layer, sequence, keyTensor, v.at, queryTensor, hasPositions, wasmPositions),
    );
  });
}

/** Opens queries of the same tokens as `keys`: same shape except the heads, and the same element type for Uint16Arrays. */
function openNewQueries(
  { heap }: KvCacheCore,
  q: Tensor | ElementArray,
  { dtype: keyDType, extents, shape }: ShapedOperand,
): ShapedOperand {
  const { layout, batches, tokens, head_dim } = extents;
  const dtype = typedArrayName(q) === "Uint16Array" ? keyDType : undefined;
  const { length } = operandOf(heap, q, dtype, "q");
  const heads = batches * tokens === 0 ? 0 : Math.floor(length / (batches * tokens * head_dim));
  const expected = shape.map((extent, i) => (layout[i] === "h" ? Math.max(1, heads) : extent));
  return openOperand(heap, q, { layout, shape: expected, dtype }, head_dim, "q", { shape: "q", dtype: "dtype" });
}
