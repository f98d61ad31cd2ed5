// Options of softmax attention that act on scores, for arrays and caches.
import { finiteNumber, trueOrFalse, wholeNumber } from "../base/checks.js";
import type { Given } from "../base/options.js";
import type { Heap } from "../memory/heap.js";
import { type StagedOperand, stagedInput, withStaged } from "../memory/staging.js";
import { listOf, type NumberArray, type Operand } from "../memory/operand.js";
import type { Encoding } from "./position_scheme.js";
import type { Extents } from "../memory/shape.js";
import type { AttentionFields } from "../memory/call_fields.js";

/** The window that wasm takes as "none". */
const NO_WINDOW = 2 ** 31 - 1;

/** Options that act on attention scores, in this order. */
export interface ScoreOptions {
  /** Multiplies q · k; finite. Default: the plan's `softmax_scale` with RoPE, else 1/√head_dim. */
  scale?: number;
  /** [T] finite factors of the queries, one per token, as `rope.queryTemperature()` returns them. Default: all 1. */
  temperature?: NumberArray | null;
  /** Replaces a score s by softCap · tanh(s / softCap); from 0.001 to 1e6. Default: none. */
  softCap?: number | null;
  /**
   * Whether a query attends only to its own token and earlier ones. Queries are the last tokens: of T queries over N keys, query t is
   * token N − T + t, so T must be at most N. If not causal, T can be any number. Default: true.
   */
  causal?: boolean;
  /** Sliding window: a query attends to `window` tokens, its own included. If not causal, to tokens less than `window` away. From 1. Default: all. */
  window?: number | null;
  /** Number of tokens at the start of the sequence that stay visible outside the window, as in StreamingLLM (arXiv:2309.17453). Default: 0. */
  sinkTokens?: number;
  /** [query heads] finite logits that take part in the softmax without a value, as in gpt-oss. Default: none. */
  sinks?: NumberArray | null;
}

/** The names of {@link ScoreOptions}, for option checks. @internal */
export const SCORE_OPTIONS = {
  scale: true,
  temperature: true,
  softCap: true,
  causal: true,
  window: true,
  sinkTokens: true,
  sinks: true,
} as const;

/** Attention options of a wasm call, and the lists that are staged for it. Addresses are filled in then. @internal */
export interface Scores {
  options: AttentionFields;
  lists: [name: "sinks" | "temperatures" | "table" | "slopes", list: StagedOperand][];
}

/** Checks and converts score options. NaN as the scale means the default, which the core, or the caller of this function, knows. @internal */
export function readScores(options: Given<ScoreOptions>, { heads, tokens }: Extents, encoding: Encoding): Scores {
  const { scale, temperature, softCap, causal = true, window, sinkTokens = 0, sinks } = options;
  const lists: Scores["lists"] = [];
  const add = (name: Scores["lists"][number][0], list: Operand | undefined): void => {
    if (list !== undefined) lists.push([name, stagedInput(list)]);
  };
  add("sinks", listOf(sinks, heads, "sinks"));
  add("temperatures", listOf(temperature, tokens, "temperature"));
  add("table", encoding.table);
  add("slopes", encoding.slopes);
  const { scheme, base, table_rows, buckets, max_distance, bidirectional } = encoding.fields; // not a spread, which would take as long as the call
  return {
    options: {
      scheme,
      base,
      table_rows,
      buckets,
      max_distance,
      bidirectional,
      rope: 0,
      causal: trueOrFalse(causal, "causal"),
      scale: scale === undefined ? NaN : finiteNumber(scale, "scale"),
      window: window === undefined || window === null ? NO_WINDOW : wholeNumber(window, 1, NO_WINDOW, "window"),
      sink_tokens: wholeNumber(sinkTokens, 0, NO_WINDOW, "sinkTokens"),
      soft_cap: softCap === undefined || softCap === null ? 0 : finiteNumber(softCap, "softCap"),
      sinks: 0,
      temperatures: 0,
      table: 0,
      slopes: 0,
    },
    lists,
  };
}

/** Makes one call with the operands and the lists of the options in wasm memory. @internal */
export function withStagedScores(
  heap: Heap,
  { options, lists }: Scores,
  operands: readonly (StagedOperand | undefined)[],
  call: (options: AttentionFields) => number,
): void {
  withStaged(heap, lists.length === 0 ? operands : [...operands, ...lists.map(([, list]) => list)], () => {
    for (const [name, list] of lists) options[name] = list.at;
    heap.check(call(options));
  });
}
