// The options and the result of session.trace().
import { codeIn, wholeNumber } from "../../base/checks.js";
import { fail } from "../../base/errors.js";
import { listOf } from "../../base/lists.js";
import { checkOptions, type OptionNames, optionNames } from "../../base/options.js";
import type { ModelPlan } from "../model_plan.js";
import type { SessionAppendOptions } from "./options.js";
import { checkAttends } from "./cached_rows.js";

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

const DEFAULT_BYTES = 2 ** 30;
const MOST_BYTES = 2 ** 40;

/** @internal */
export interface TraceSettings {
  readonly what: ReadonlySet<Traced>;
  /** Of hidden states. */
  readonly layers: readonly number[];
  /** Those of them with attention. */
  readonly attending: readonly number[];
  readonly heads: readonly number[];
  /** Undefined: all tokens. */
  readonly rows: number | undefined;
  readonly maxBytes: number;
}

/** Throws INVALID_ARGUMENT, UNKNOWN_KEY. @internal */
export function readTraceOptions(given: TraceOptions | undefined, plan: ModelPlan): TraceSettings {
  const options = checkOptions(given, TRACE_OPTIONS);
  const { what = ["attention", "hidden", "logits"], rows, maxBytes = DEFAULT_BYTES } = options;
  const names = listOf(what, "what", `names out of ${TRACED.join(", ")}`);
  const chosen = new Set(names.map((name, i) => TRACED[codeIn(TRACED, name, `what[${i}]`)]!));
  const layers = indices(options.layers, plan.layers.length, "layers");
  const needsAttention = TRACED.some((name) => name !== "hidden" && name !== "logits" && chosen.has(name));
  if (options.layers !== undefined && needsAttention) for (const layer of layers) checkAttends(plan, layer);
  if (chosen.has("values") && plan.config.latent_size > 0) fail("INVALID_ARGUMENT", "what", NO_VALUES);
  return {
    what: chosen,
    layers,
    attending: layers.filter((layer) => plan.shapes[layer]!.has_attention),
    heads: indices(options.heads, plan.config.heads, "heads"),
    rows: rows === undefined ? undefined : wholeNumber(rows, 1, 2 ** 24, "rows"),
    maxBytes: wholeNumber(maxBytes, 0, MOST_BYTES, "maxBytes"),
  };
}

const NO_VALUES = "values aren't cached by this model: it computes them from the latents, which session.keys() returns";

function indices(given: unknown, count: number, field: string): number[] {
  if (given === undefined) return Array.from({ length: count }, (_, i) => i);
  const list = listOf(given, field, "a list of indices").map((index, i) =>
    wholeNumber(index, 0, count - 1, `${field}[${i}]`),
  );
  return [...new Set(list)];
}
