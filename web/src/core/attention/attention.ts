// Softmax attention over keys and values in arrays or tensors.
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { readScores, SCORE_OPTIONS, type ScoreOptions, withStagedScores } from "./options.js";
import type { DType, ElementArray } from "../memory/elements.js";
import { readPositionsFor, ropeOf, usePositions } from "./rope_argument.js";
import type { Heap } from "../memory/heap.js";
import { stagedInput } from "../memory/staging.js";
import { tensorAt } from "../memory/operand.js";
import { type PositionScheme, readScheme, ROPE_ENCODING } from "./position_scheme.js";
import { placePositions, type PositionInput } from "../memory/positions.js";
import { checkHasValues, openQkv, QKV_OPTIONS, type QkvOptions, withOutput, writeZeros } from "./qkv.js";
import type { Rope } from "../rope/rope.js";
import type { RopeCore } from "../rope/core.js";
import type { Tensor } from "../memory/tensor.js";

/**
 * Options of attention. B batch rows, T query tokens of H heads, N key tokens of KH heads. H is a multiple of KH. Without queries nothing is
 * computed, and without keys (N = 0) the result is zeros.
 */
export interface AttentionOptions<Out = Tensor | Float32Array> extends QkvOptions, ScoreOptions {
  /** Element type of k and v if they are Uint16Arrays: `"f16"` or `"bf16"`. */
  kvDtype?: DType;
  /** Rotates q and k. Pass them unrotated; they stay unrotated. Default: none. */
  rope?: Rope;
  /** Position scheme other than RoPE; not together with `rope`. Default: `"none"`. */
  position?: PositionScheme | "none";
  /** Positions of the query tokens. Default: N − T + t, the last T of N tokens. */
  positions?: PositionInput;
  /** Positions of the key tokens. Default: 0 … N−1. */
  kvPositions?: PositionInput;
  /** Where to write: an f32 array or Tensor with as many elements as q, or q itself. Default: a new one of q's type; you dispose of a new Tensor. */
  out?: Out;
}

const OPTIONS = optionNames<AttentionOptions>("attention()", {
  ...QKV_OPTIONS,
  ...SCORE_OPTIONS,
  kvDtype: true,
  rope: true,
  position: true,
  positions: true,
  kvPositions: true,
  out: true,
});

/** @internal */
export function attention<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
  heap: Heap,
  useScalarKernels: boolean,
  q: Q,
  givenKeys: Tensor | ElementArray,
  givenValues: Tensor | ElementArray,
  options: AttentionOptions<Out>,
): Out {
  checkHasValues(givenValues, options, "attention");
  const {
    layout,
    shape,
    kvShape,
    kvDtype,
    rope: givenRope,
    position,
    positions: givenPositions,
    kvPositions: givenKvPositions,
    out: givenOut,
    scale,
    temperature,
    softCap,
    causal = true,
    window,
    sinkTokens,
    sinks,
  } = checkOptions(options, OPTIONS);
  const { queries, keys, values } = openQkv(heap, q, givenKeys, givenValues, { layout, shape, kvShape }, kvDtype);
  const { batches, tokens, heads, head_dim } = queries.extents;
  const kvTokens = keys.extents.tokens;
  if (givenRope !== undefined && position !== undefined)
    fail("INVALID_ARGUMENT", "position", "must be absent if `rope` is given: a call has one position scheme");
  const rope = givenRope === undefined ? undefined : ropeOf(heap, givenRope, "rope");
  const positions = readPositionsFor(rope, givenPositions ?? kvTokens - tokens, batches, tokens, "positions");
  const kvPositions = readPositionsFor(rope, givenKvPositions ?? 0, batches, kvTokens, "kvPositions");
  const encoding = rope === undefined ? readScheme(heap, position, heads, head_dim, causal) : ROPE_ENCODING;
  const given = { scale, temperature, softCap, causal, window, sinkTokens, sinks };
  const scores = readScores(given, queries.extents, encoding);

  return withOutput(heap, q, queries, givenOut, [keys, values, encoding.table], ({ q: query, out }) => {
    if (queries.length === 0 || kvTokens === 0) {
      writeZeros(heap, out);
      return;
    }
    if (rope !== undefined) usePositions(rope, { positions, kvPositions });
    scores.options.rope = rope?.address ?? 0;
    if (scale === undefined) scores.options.scale = defaultScale(rope, head_dim);
    const [k, v] = [stagedInput(keys), stagedInput(values)];
    const count = positions.ids?.length ?? 0;
    const ids = heap.idBlock(count + (kvPositions.ids?.length ?? 0));
    const placed = placePositions(heap, positions, ids, 0);
    const kvPlaced = placePositions(heap, kvPositions, ids + count * 8, 0);
    withStagedScores(heap, scores, [query, out, k, v], (wasmOptions) => {
      const queryTensor = tensorAt("f32", queries.extents, query.at, out.at);
      const keyTensor = tensorAt(keys.dtype, keys.extents, k.at, 0);
      return heap.module.attention_attend(
        queryTensor,
        keyTensor,
        v.at,
        placed,
        kvPlaced,
        wasmOptions,
        useScalarKernels,
      );
    });
  });
}

/** The softmax scale of the rope's current plan, or without a rope 1/√head_dim. */
function defaultScale(rope: RopeCore | undefined, head_dim: number): number {
  return rope === undefined ? 1 / Math.sqrt(head_dim) : rope.heap.module.rope_plan(rope.address).softmax_scale;
}
