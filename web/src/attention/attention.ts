import { lendScores, readScores, type ScoreOptions } from "./options.js";
import type { DType, ElementArray } from "../memory/elements.js";
import { readPositionsFor, ropeOf } from "./given_rope.js";
import type { Heap } from "../memory/heap.js";
import { toRead } from "../memory/lend.js";
import { tensorAt } from "../memory/operand.js";
import { type PositionScheme, readScheme, ROPE_ENCODING } from "./position_scheme.js";
import { lengthOf, placePositions, type PositionInput } from "../memory/positions.js";
import { answer, openQkv, type QkvOptions } from "./qkv.js";
import { Rope } from "../rope/rope.js";
import type { RopeCore } from "../rope/core.js";
import type { Tensor } from "../memory/tensor.js";

/** How to attend. B batch rows, T query tokens of H heads, N key tokens of KH heads; H is a multiple of KH. */
export interface AttentionOptions<Out = Tensor | Float32Array> extends QkvOptions, ScoreOptions {
  /** Element type of k and v where they are Uint16Arrays: f16 or bf16. */
  kvDtype?: DType;
  /** How attention learns where tokens stand (`none`). With a rope, q and k are given unrotated, and stay so. */
  position?: Rope | PositionScheme | "none";
  /** Where the query tokens stand (at N − T + t: the newest). */
  positions?: PositionInput;
  /** Where the key tokens stand (0 … N−1). */
  kvPositions?: PositionInput;
  /** Where to write: as many f32 elements as q, or q itself (something new of q's kind; a Tensor is then the caller's to dispose of). */
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
  const rope = position instanceof Rope ? ropeOf(heap, position, "position") : undefined;
  const positions = readPositionsFor(rope, options.positions ?? kvTokens - tokens, batches, tokens, "positions");
  const kvPositions = readPositionsFor(rope, options.kvPositions ?? 0, batches, kvTokens, "kvPositions");
  const encoding =
    rope === undefined ? readScheme(heap, position, heads, head_dim, options.causal ?? true) : ROPE_ENCODING;
  const scale =
    rope === undefined
      ? 1 / Math.sqrt(head_dim)
      : softmaxScale(rope, Math.max(lengthOf(positions), lengthOf(kvPositions)));
  const scores = readScores(options, queries.extents, scale, encoding, rope?.address);

  return answer(heap, q, queries, options.out, [keys, values, encoding.table], ({ q: asked, out }) => {
    const [k, v] = [toRead(keys), toRead(values)];
    const count = positions.ids?.length ?? 0;
    const ids = heap.idBlock(count + (kvPositions.ids?.length ?? 0));
    const placed = placePositions(heap, positions, ids, 0);
    const kvPlaced = placePositions(heap, kvPositions, ids + count * 8, 0);
    lendScores(heap, scores, [asked, out, k, v], (wasmOptions) => {
      const [from, held] = [
        tensorAt("f32", queries.extents, asked.at, out.at),
        tensorAt(keys.dtype, keys.extents, k.at, 0),
      ];
      return heap.module.attention_attend(from, held, v.at, placed, kvPlaced, wasmOptions, useScalarKernels);
    });
  });
}

/** The scale of the plan that the core will make, for the largest position of all. */
function softmaxScale(rope: RopeCore, sequenceLength: number): number {
  rope.useLength(sequenceLength);
  return rope.heap.module.rope_plan(rope.address).softmax_scale;
}
