// Reads the options of session.trace().
import * as advise from "../../../core/base/advice.js";
import { codeIn, wholeNumber } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import { listOf } from "../../../core/base/lists.js";
import { checkOptions } from "../../../core/base/options.js";
import type { ModelPlan } from "../plan/model_plan.js";
import { checkWatchable } from "../run/layer_walk.js";
import { checkAttends } from "./cached_rows.js";
import { TRACE_OPTIONS, TRACED, type Traced, type TraceOptions } from "./trace_options.js";

const DEFAULT_BYTES = 2 ** 30;
const MAX_BYTES = 2 ** 40;

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

/** Throws INVALID_ARGUMENT, UNKNOWN_KEY, and UNSUPPORTED_MODEL for a model whose layers can't be watched. @internal */
export function readTraceOptions(given: TraceOptions | undefined, plan: ModelPlan): TraceSettings {
  checkWatchable(plan);
  const options = checkOptions(given, TRACE_OPTIONS);
  const { what = ["attention", "hidden", "logits"], rows, maxBytes = DEFAULT_BYTES } = options;
  const names = listOf(what, "what", `names out of ${TRACED.join(", ")}`);
  const chosen = new Set(names.map((name, i) => TRACED[codeIn(TRACED, name, `what[${i}]`)]!));
  const layers = indices(options.layers, plan.layers.length, "layers");
  const needsAttention = TRACED.some((name) => name !== "hidden" && name !== "logits" && chosen.has(name));
  if (options.layers !== undefined && needsAttention) for (const layer of layers) checkAttends(plan, layer);
  if (chosen.has("values") && plan.config.latent.latent > 0)
    fail("INVALID_ARGUMENT", "what", NO_VALUES, advise.call({ calls: ["session.keys"] }));
  return {
    what: chosen,
    layers,
    attending: layers.filter((layer) => plan.shapes[layer]!.has_attention),
    heads: indices(options.heads, plan.config.heads, "heads"),
    rows: rows === undefined ? undefined : wholeNumber(rows, 1, 2 ** 24, "rows"),
    maxBytes: wholeNumber(maxBytes, 0, MAX_BYTES, "maxBytes"),
  };
}

const NO_VALUES = "values aren't cached by this model: it computes them from the latents that it keeps as keys";

function indices(given: unknown, count: number, field: string): number[] {
  if (given === undefined) return Array.from({ length: count }, (_, i) => i);
  const list = listOf(given, field, "a list of indices").map((index, i) =>
    wholeNumber(index, 0, count - 1, `${field}[${i}]`),
  );
  return [...new Set(list)];
}
