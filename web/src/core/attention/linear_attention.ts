// Linear attention over keys and values in arrays or tensors.
import { trueOrFalse } from "../base/checks.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { readPositionsFor, ropeOf, usePositions } from "./rope_argument.js";
import type { Heap } from "../memory/heap.js";
import { stagedInput, withStaged } from "../memory/staging.js";
import { LinearSums } from "./linear_sums.js";
import { floatsOf } from "../memory/operand.js";
import { type PositionInput, slicePositions } from "../memory/positions.js";
import { checkHasValues, openQkv, QKV_OPTIONS, type QkvOptions, withOutput, writeZeros } from "./qkv.js";
import type { Rope } from "../rope/rope.js";
import type { Tensor } from "../memory/tensor.js";

/**
 * Options of linear attention. B batch rows, T query tokens of H heads, N key tokens of KH heads. H is a multiple of KH. Without queries nothing is
 * computed, and without keys (N = 0) the result is zeros.
 */
export interface LinearAttentionOptions<Out = Tensor | Float32Array> extends QkvOptions {
  /** Whether a query attends only to its own token and earlier ones. Queries and keys are then of the same tokens. Default: true. */
  causal?: boolean;
  /** Rotates φ(q) and φ(k) in the numerator (none). Its frequencies must not depend on the length. */
  rope?: Rope;
  /** Positions of the query tokens, and of the keys if causal. Default: N − T + t, the last T of N tokens. */
  positions?: PositionInput;
  /** Positions of the key tokens if not causal. Default: 0 … N−1. */
  kvPositions?: PositionInput;
  /** Where to write: an f32 array or Tensor with as many elements as q, or q itself. Default: a new one of q's type; you dispose of a new Tensor. */
  out?: Out;
}

const OPTIONS = optionNames<LinearAttentionOptions>("linearAttention()", {
  ...QKV_OPTIONS,
  causal: true,
  rope: true,
  positions: true,
  kvPositions: true,
  out: true,
});

/** @internal */
export function linearAttention<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
  heap: Heap,
  q: Q,
  givenKeys: Tensor | Float32Array,
  givenValues: Tensor | Float32Array,
  options: LinearAttentionOptions<Out>,
): Out {
  checkHasValues(givenValues, options, "linearAttention");
  const {
    layout,
    shape,
    kvShape,
    causal = true,
    rope: givenRope,
    positions: givenPositions,
    kvPositions: givenKvPositions,
    out: givenOut,
  } = checkOptions(options, OPTIONS);
  trueOrFalse(causal, "causal");
  floatsOf(heap, givenKeys, "k");
  floatsOf(heap, givenValues, "v");
  const { queries, keys, values } = openQkv(heap, q, givenKeys, givenValues, { layout, shape, kvShape });
  const { batches, tokens, heads, head_dim } = queries.extents;
  const { tokens: kvTokens, heads: kvHeads } = keys.extents;
  if (causal && kvTokens !== tokens)
    fail("INVALID_SHAPE", "kvShape", `must have ${tokens} tokens, as q has, for causal attention (got ${kvTokens})`);
  if (causal && givenKvPositions !== undefined) {
    fail(
      "INVALID_ARGUMENT",
      "kvPositions",
      "must not be given for causal attention, where `positions` applies to queries and keys",
    );
  }
  const rope = givenRope === undefined ? undefined : ropeOf(heap, givenRope, "rope");
  const positions = readPositionsFor(rope, givenPositions ?? kvTokens - tokens, batches, tokens, "positions");
  const kvPositions = readPositionsFor(rope, givenKvPositions ?? 0, batches, kvTokens, "kvPositions");

  const isEmpty = queries.length === 0 || kvTokens === 0;
  const sums = isEmpty ? undefined : new LinearSums(heap, heads, kvHeads, head_dim);
  try {
    return withOutput(heap, q, queries, givenOut, [keys, values], ({ q: query, out }) => {
      if (sums === undefined) {
        writeZeros(heap, out);
        return;
      }
      if (rope !== undefined) usePositions(rope, causal ? { positions } : { positions, kvPositions });
      const [k, v] = [stagedInput(keys), stagedInput(values)];
      const attend = (): void => {
        for (let batch = 0; batch < batches; batch++) {
          const [first, kvFirst] = [batch * tokens * heads * head_dim * 4, batch * kvTokens * kvHeads * head_dim * 4];
          const row = { q: query.at + first, out: out.at + first, k: k.at + kvFirst, v: v.at + kvFirst, layout };
          sums.reset();
          if (!causal) sums.step("absorb", rope, slicePositions(kvPositions, batch, 0, kvTokens), row);
          sums.step(causal ? "append" : "query", rope, slicePositions(positions, batch, 0, tokens), row);
        }
      };
      withStaged(heap, [query, out, k, v], attend, batches > 1); // a later row can fail after earlier ones have written their output
    });
  } finally {
    sums?.dispose();
  }
}
