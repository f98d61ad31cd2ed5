import { readScores, SCORE_OPTIONS, type ScoreOptions, withStagedScores } from "../attention/options.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import type { KvCacheCore } from "./core.js";
import { tensorAt } from "../memory/operand.js";
import { NO_ENCODING, type PositionScheme, readScheme } from "../attention/position_scheme.js";
import { openQueries, withOutput } from "../attention/qkv.js";
import type { Layout } from "../memory/shape.js";
import type { Tensor } from "../memory/tensor.js";

/** Options of attention over cached keys and values. */
export interface CachedAttentionOptions<Out = Tensor | Float32Array> extends ScoreOptions {
  /** Order of the dimensions of q and the result. */
  layout: Layout;
  /** Shape of q in that order; not needed for a Tensor. */
  shape?: readonly number[];
  /** Which layer. Default: 0. */
  layer?: number;
  /**
   * Sequence of the single batch row. Default: 0 if the cache has one sequence; otherwise there is a batch row for each sequence, and row i belongs
   * to sequence i.
   */
  sequence?: number;
  /** Position scheme of a layer without RoPE. Layers with RoPE don't take one. Default: `none`. */
  position?: PositionScheme | "none";
  /**
   * Output: as many f32 elements as q, or q itself. Default: a new array or Tensor, like q. The caller disposes of a new Tensor.
   */
  out?: Out;
}

const OPTIONS = optionNames<CachedAttentionOptions>("attend()", {
  ...SCORE_OPTIONS,
  layout: true,
  shape: true,
  layer: true,
  sequence: true,
  position: true,
  out: true,
});

/** @internal */
export function attend<Q extends Tensor | Float32Array, Out extends Tensor | Float32Array = Q>(
  core: KvCacheCore,
  q: Q,
  options: CachedAttentionOptions<Out>,
): Out {
  const {
    layout,
    shape,
    layer: givenLayer,
    sequence: givenSequence,
    position,
    out: givenOut,
    scale,
    temperature,
    softCap,
    causal = true,
    window,
    sinkTokens,
    sinks,
  } = checkOptions(options, OPTIONS);
  const { heap } = core;
  const layer = core.layer(givenLayer);
  const sequence = core.sequenceOrAll(givenSequence);
  const { headDim, group } = core.layers[layer]!;
  const queries = openQueries(heap, q, { layout, shape }, headDim);
  const rows = sequence < 0 ? core.sequences : 1;
  if (queries.length > 0 && queries.extents.batches !== rows) {
    const expected =
      rows === 1 ? "1 batch row" : `${rows} batch rows, one for each sequence, or 1 and its \`sequence\``;
    fail("INVALID_SHAPE", "q", `must have ${expected} (got ${queries.extents.batches})`);
  }
  if (group >= 0 && position !== undefined) {
    fail(
      "INVALID_ARGUMENT",
      "position",
      `must be absent for layer ${layer}, which has RoPE: position schemes are for layers without RoPE`,
    );
  }
  const encoding = group >= 0 ? NO_ENCODING : readScheme(heap, position, queries.extents.heads, headDim, causal);
  const given = { scale, temperature, softCap, causal, window, sinkTokens, sinks };
  const scores = readScores(given, queries.extents, encoding); // the default scale is that of each sequence's current plan

  return withOutput(heap, q, queries, givenOut, [encoding.table], (staged) => {
    const { address } = core; // only now, because reading the options may have run code that disposes of the cache
    if (queries.length === 0) return;
    withStagedScores(heap, scores, [staged.q, staged.out], (wasmOptions) =>
      heap.module.kv_attend(
        address,
        layer,
        sequence,
        tensorAt("f32", queries.extents, staged.q.at, staged.out.at),
        wasmOptions,
      ),
    );
  });
}
