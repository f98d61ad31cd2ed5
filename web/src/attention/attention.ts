// Softmax attention over keys and values in arrays or tensors.
import { readScores, type ScoreOptions, withStagedScores } from "./options.js";
import type { DType, ElementArray } from "../memory/elements.js";
import { readPositionsFor, ropeOf } from "./rope_argument.js";
import type { Heap } from "../memory/heap.js";
import { stagedInput } from "../memory/staging.js";
import { tensorAt } from "../memory/operand.js";
import { type PositionScheme, readScheme, ROPE_ENCODING } from "./position_scheme.js";
import { lengthOf, placePositions, type PositionInput } from "../memory/positions.js";
import { openQkv, type QkvOptions, withOutput } from "./qkv.js";
import { type Rope, ropeCore } from "../rope/rope.js";
import type { RopeCore } from "../rope/core.js";
import type { Tensor } from "../memory/tensor.js";

/** Options of attention. B batch rows, T query tokens of H heads, N key tokens of KH heads. H is a multiple of KH. */
export interface AttentionOptions<Out = Tensor | Float32Array> extends QkvOptions, ScoreOptions {
  /** Element type of k and v if they are Uint16Arrays: `"f16"` or `"bf16"`. */
  kvDtype?: DType;
  /** Position encoding. Default: `"none"`, no position encoding at all. With a rope, pass q and k unrotated; they stay unrotated. */
  position?: Rope | PositionScheme | "none";
  /** Positions of the query tokens. Default: N − T + t, the last T of N tokens. */
  positions?: PositionInput;
  /** Positions of the key tokens. Default: 0 … N−1. */
  kvPositions?: PositionInput;
  /** Where to write: an f32 array or Tensor with as many elements as q, or q itself. Default: a new one of q's type; you dispose of a new Tensor. */
  out?: Out;
}

/** @internal */
export function attention<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
  heap: Heap,
  useScalarKernels: boolean,
  q: Q,
  givenKeys: Tensor | ElementArray,
  givenValues: Tensor | ElementArray,
  options: AttentionOptions<Out>,
): Out {
  const { position = "none" } = options;
  const { queries, keys, values } = openQkv(heap, q, givenKeys, givenValues, options, options.kvDtype);
  const { batches, tokens, heads, head_dim } = queries.extents;
  const kvTokens = keys.extents.tokens;
  const rope = ropeCore(position) !== undefined ? ropeOf(heap, position, "position") : undefined;
  const positions = readPositionsFor(rope, options.positions ?? kvTokens - tokens, batches, tokens, "positions");
  const kvPositions = readPositionsFor(rope, options.kvPositions ?? 0, batches, kvTokens, "kvPositions");
  const encoding =
    rope === undefined ? readScheme(heap, position, heads, head_dim, options.causal ?? true) : ROPE_ENCODING;
  const scale =
    rope === undefined
      ? 1 / Math.sqrt(head_dim)
      : softmaxScale(rope, Math.max(lengthOf(positions), lengthOf(kvPositions)));
  const scores = readScores(options, queries.extents, scale, encoding, rope?.address);

  return withOutput(heap, q, queries, options.out, [keys, values, encoding.table], ({ q: query, out }) => {
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

/** The softmax scale of the plan for the largest position of queries and keys. */
function softmaxScale(rope: RopeCore, sequenceLength: number): number {
  rope.useLength(sequenceLength);
  return rope.heap.module.rope_plan(rope.address).softmax_scale;
}
