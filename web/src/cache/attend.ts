import { lendScores, readScores, type ScoreOptions } from "../attention/options.js";
import { RopewalkError } from "../base/errors.js";
import type { KvCacheCore } from "./core.js";
import { tensorAt } from "../memory/operand.js";
import { NO_ENCODING, type PositionScheme, readScheme } from "../attention/position_scheme.js";
import { answer, openQueries } from "../attention/qkv.js";
import type { Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** How to attend to what a cache holds. */
export interface CachedAttentionOptions<Out = Tensor | Float32Array> extends ScoreOptions {
  /** Order of the dimensions of q and the result. */
  layout: Layout;
  /** Extents of q in that order; a Tensor has its own. */
  shape?: readonly number[];
  /** Which layer (0). */
  layer?: number;
  /** The sequence that the one batch row belongs to (0 where there is one sequence; else none: batch row i belongs to sequence i). */
  sequence?: number;
  /** How attention learns where tokens stand, in layers without RoPE (`none`). Elsewhere the rope does. */
  position?: PositionScheme | "none";
  /** Where to write: as many f32 elements as q, or q itself (something new of q's kind; a Tensor is then the caller's to dispose of). */
  out?: Out;
}

/** @internal */
export function attend<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
  core: KvCacheCore,
  q: Q,
  options: CachedAttentionOptions<Out>,
): Out {
  const { heap, address } = core;
  const layer = core.layer(options.layer);
  const sequence = core.sequenceOrAll(options.sequence);
  const { headDim, group } = core.layers[layer]!;
  const queries = openQueries(heap, q, options, headDim);
  const rows = sequence < 0 ? core.sequences : 1;
  if (queries.extents.batches !== rows) {
    throw new RopewalkError(
      "INVALID_SHAPE",
      "q",
      `must have a batch row for each sequence, ${rows} here, or one and the name of its sequence`,
    );
  }
  if (group >= 0 && options.position !== undefined) {
    throw new RopewalkError("INVALID_ARGUMENT", "position", `is for layers without RoPE, and layer ${layer} has it`);
  }
  const encoding =
    group >= 0
      ? NO_ENCODING
      : readScheme(heap, options.position ?? "none", queries.extents.heads, headDim, options.causal ?? true);
  const scores = readScores(options, queries.extents, NaN, encoding); // NaN: the scale of the plan in force for each sequence

  return answer(heap, q, queries, options.out, [encoding.table], (loans) => {
    lendScores(heap, scores, [loans.q, loans.out], (wasmOptions) =>
      heap.module.kv_attend(
        address,
        layer,
        sequence,
        tensorAt("f32", queries.extents, loans.q.at, loans.out.at),
        wasmOptions,
      ),
    );
  });
}
