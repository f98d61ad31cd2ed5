import { RopewalkError } from "../base/errors.js";
import { readPositionsFor, ropeOf } from "./given_rope.js";
import type { Heap } from "../memory/heap.js";
import { lend, toRead } from "../memory/lend.js";
import { LinearSums } from "./linear_sums.js";
import { floatsOf } from "../memory/operand.js";
import { type PositionInput, slicePositions } from "../memory/positions.js";
import { answer, openQkv, type QkvOptions } from "./qkv.js";
import type { Rope } from "../rope/rope.js";
import type { Tensor } from "../memory/tensor.js";

/** How to attend in linear time. B batch rows, T query tokens of H heads, N key tokens of KH heads; H is a multiple of KH. */
export interface LinearAttentionOptions<Out = Tensor | Float32Array> extends QkvOptions {
  /** Whether a query sees no token after its own (true); queries and keys are then of the same tokens. */
  causal?: boolean;
  /** What turns φ(q) and φ(k) above the line (nothing); its frequencies are the same at every length. */
  rope?: Rope;
  /** Where the query tokens stand; where causal, keys too (at N − T + t: the newest). */
  positions?: PositionInput;
  /** Where the key tokens stand, where not causal (0 … N−1). */
  kvPositions?: PositionInput;
  /** Where to write: as many f32 elements as q, or q itself (something new of q's kind; a Tensor is then the caller's to dispose of). */
  out?: Out;
}

/** @internal */
export function linearAttention<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
  heap: Heap,
  q: Q,
  givenKeys: Tensor | Float32Array,
  givenValues: Tensor | Float32Array,
  options: LinearAttentionOptions<Out>,
): Out {
  const { layout, causal = true } = options;
  floatsOf(heap, givenKeys, "k");
  floatsOf(heap, givenValues, "v");
  const { queries, keys, values } = openQkv(heap, q, givenKeys, givenValues, options);
  const { batches, tokens, heads, head_dim } = queries.extents;
  const { tokens: kvTokens, heads: kvHeads } = keys.extents;
  if (causal && kvTokens !== tokens)
    throw new RopewalkError(
      "INVALID_SHAPE",
      "kvShape",
      `must have q's ${tokens} tokens where causal (got ${kvTokens})`,
    );
  if (causal && options.kvPositions !== undefined) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "kvPositions",
      "are for attention that is not causal: where it is, positions are those of keys too",
    );
  }
  const rope = options.rope === undefined ? undefined : ropeOf(heap, options.rope, "rope");
  const positions = readPositionsFor(rope, options.positions ?? kvTokens - tokens, batches, tokens, "positions");
  const kvPositions = readPositionsFor(rope, options.kvPositions ?? 0, batches, kvTokens, "kvPositions");

  const sums = new LinearSums(heap, heads, kvHeads, head_dim);
  try {
    return answer(heap, q, queries, options.out, [keys, values], ({ q: asked, out }) => {
      const [k, v] = [toRead(keys), toRead(values)];
      const attend = (): void => {
        for (let batch = 0; batch < batches; batch++) {
          const [first, kvFirst] = [batch * tokens * heads * head_dim * 4, batch * kvTokens * kvHeads * head_dim * 4];
          const row = { q: asked.at + first, out: out.at + first, k: k.at + kvFirst, v: v.at + kvFirst, layout };
          sums.reset();
          if (!causal) sums.step("absorb", rope, slicePositions(kvPositions, batch, 0, kvTokens), row);
          sums.step(causal ? "append" : "query", rope, slicePositions(positions, batch, 0, tokens), row);
        }
      };
      lend(heap, [asked, out, k, v], attend, batches > 1); // what is wrong with a row is found when those before it have been answered
    });
  } finally {
    sums.dispose();
  }
}
