// The options and the result of session.trace(), and the names of the options, which the Worker's client checks.
import { type OptionNames, optionNames } from "../../../core/base/options.js";
import type { SessionAppendOptions } from "./options.js";

/** What a trace can record. */
export const TRACED = ["attention", "hidden", "queries", "keys", "values", "logits"] as const;
/** One of {@link TRACED}. */
export type Traced = (typeof TRACED)[number];

/** Numbers with a shape, in row-major order. */
export interface TraceArray {
  data: Float32Array;
  shape: readonly number[];
}

/** Options of `session.trace()`. */
export interface TraceOptions extends SessionAppendOptions {
  /** What to record. Default: `attention`, `hidden` and `logits`. */
  what?: readonly Traced[];
  /** Layers, from 0. Default: all; for attention, queries, keys and values, those that have them. */
  layers?: readonly number[];
  /** Query heads, from 0, of attention and queries. Default: all. */
  heads?: readonly number[];
  /** Only the last tokens of the text that is read, from 1. Default: all. */
  rows?: number;
  /** The most bytes that the result may take. Default: 2^30. */
  maxBytes?: number;
}

/** What a model computed for some tokens of a text. A row is a token. Layers are counted from 0. */
export interface Trace {
  /** Token ids of the rows. */
  tokens: readonly number[];
  /** Position of the first row in the session. */
  first: number;
  /**
   * For each layer, [heads, rows, session length]: how much each head reads each token, after masks, windows, soft caps and
   * sinks. A row sums to 1, or less with sinks.
   */
  attention: Record<number, TraceArray>;
  /** For each layer, its input, [rows, hiddenSize]. At the number of layers: the output after the final norm. */
  hidden: Record<number, TraceArray>;
  /** For each layer, [heads, rows, headDim], after norms and rotation: as they read the keys. */
  queries: Record<number, TraceArray>;
  /** For each layer, the cached keys, [kvHeads, session length, headDim]: as `session.keys()`. */
  keys: Record<number, TraceArray>;
  /** For each layer, the cached values, in the shape of the keys: as `session.values()`. */
  values: Record<number, TraceArray>;
  /** The logits of the token after each row, [rows, vocabularySize]; undefined if they weren't asked for. */
  logits: TraceArray | undefined;
}

/** @internal */
export const TRACE_OPTIONS: OptionNames = optionNames<TraceOptions>("trace()", {
  what: true,
  layers: true,
  heads: true,
  rows: true,
  maxBytes: true,
  signal: true,
  onProgress: true,
});
