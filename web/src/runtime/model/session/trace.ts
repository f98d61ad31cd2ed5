// Records what session.trace() returns while the text is read.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import type { KvCacheCore } from "../../../core/cache/core.js";
import type { Batch, Recorder } from "../run/layer_walk.js";
import type { ModelCore } from "../run/model_core.js";
import { cachedRows } from "./cached_rows.js";
import type { SessionAppendOptions } from "./options.js";
import type { SessionText } from "./text.js";
import type { Trace, TraceArray } from "./trace_options.js";
import type { TraceSettings } from "./trace_settings.js";

/** @internal */
export class TraceRecorder implements Recorder {
  readonly #core: ModelCore;
  readonly #settings: TraceSettings;
  readonly #trace: Trace;
  /** Tokens of the session afterwards. */
  readonly #length: number;
  readonly #attends: ReadonlySet<number>;

  /** For the last rows of a text of `length` tokens. Throws INVALID_ARGUMENT if that would take too much memory. */
  constructor(core: ModelCore, settings: TraceSettings, tokens: readonly number[], length: number) {
    this.#core = core;
    this.#settings = settings;
    this.#length = length;
    this.#attends = new Set(settings.attending);
    const { what, layers, attending, heads, maxBytes } = settings;
    const { config, shapes } = core.plan;
    const rows = tokens.length;
    const of = (name: "attention" | "hidden" | "queries", shapeOf: (layer: number) => readonly number[]) =>
      (!what.has(name) ? [] : name === "hidden" ? [...layers, config.layers] : attending).map(
        (layer) => [layer, shapeOf(layer)] as const,
      );
    const shapesOf = {
      attention: of("attention", () => [heads.length, rows, length]),
      hidden: of("hidden", () => [rows, config.hidden_size]),
      queries: of("queries", (layer) => [heads.length, rows, shapes[layer]!.head_dim]),
    };
    const logits = what.has("logits") ? [rows, config.vocabulary_size] : undefined;
    const cached = attending.map((layer) => length * shapes[layer]!.kv_heads * shapes[layer]!.head_dim);
    const parts = Number(what.has("keys")) + Number(what.has("values"));
    const traced = Object.values(shapesOf).flatMap((list) => list.map(([, shape]) => sizeOf(shape)));
    const bytes =
      4 *
      [...traced, sizeOf(logits ?? [0]), parts * sizeOf([cached.reduce((a, b) => a + b, 0)])].reduce(
        (a, b) => a + b,
        0,
      );
    if (bytes > maxBytes)
      fail(
        "INVALID_ARGUMENT",
        "maxBytes",
        `this trace takes ${bytes} bytes, more than ${maxBytes}`,
        advise.either(advise.other("choose layers, heads or the last rows"), advise.raise({ option: "maxBytes" })),
      );
    const made = (list: readonly (readonly [number, readonly number[]])[]): Record<number, TraceArray> =>
      Object.fromEntries(list.map(([layer, shape]) => [layer, newArray(shape)]));
    this.#trace = {
      tokens,
      first: length - rows,
      attention: made(shapesOf.attention),
      hidden: made(shapesOf.hidden),
      queries: made(shapesOf.queries),
      keys: {},
      values: {},
      logits: logits && newArray(logits),
    };
  }

  before(layer: number, batch: Batch): void {
    if (layer === this.#core.plan.config.layers) return; // hidden states have the output after the final norm
    this.#copyHidden(layer, batch, () => this.#core.residual(batch.rows));
  }

  after(layer: number, batch: Batch): void {
    if (!this.#attends.has(layer)) return;
    const { heads, what } = this.#settings;
    const queries = this.#trace.queries[layer];
    const attention = this.#trace.attention[layer];
    const rows = this.#trace.tokens.length;
    if (queries !== undefined) {
      const dim = queries.shape[2]!;
      const computed = this.#core.queries(batch.rows, dim);
      const count = this.#core.plan.config.heads;
      this.#each(batch, (token, row) => {
        heads.forEach((head, i) => {
          const from = (token * count + head) * dim;
          queries.data.set(computed.subarray(from, from + dim), (i * rows + row) * dim);
        });
      });
    }
    if (what.has("attention") && attention !== undefined)
      this.#each(batch, (token, row) => {
        const weights = this.#core.attentionOfRow(token, batch.first + token + 1);
        heads.forEach((head, i) => attention.data.set(weights[head]!, (i * rows + row) * this.#length));
      });
  }

  end(batch: Batch): void {
    this.#copyHidden(this.#core.plan.config.layers, batch, () => this.#core.hiddenRows(batch.rows));
    const { logits } = this.#trace;
    if (logits === undefined) return;
    const size = logits.shape[1]!;
    const skipped = Math.max(0, this.#trace.first - batch.first);
    const count = batch.rows - skipped;
    if (count <= 0) return;
    const { heap } = this.#core;
    heap.borrow(count * size * 4, (at) => {
      this.#core.writeLogits(skipped, at, count);
      logits.data.set(heap.floats(at, count * size), (batch.first + skipped - this.#trace.first) * size);
    });
  }

  /** The trace, with the keys and values of the session's cache. */
  finish(cache: KvCacheCore): Trace {
    const { what, attending } = this.#settings;
    const { plan } = this.#core;
    for (const [name, part] of [
      ["keys", "k"],
      ["values", "v"],
    ] as const) {
      if (!what.has(name)) continue;
      for (const layer of attending) {
        const heads = cachedRows(plan, cache, layer, part);
        const all = newArray([heads.length, this.#length, plan.shapes[layer]!.head_dim]);
        heads.forEach((rows, head) => all.data.set(rows, head * rows.length));
        this.#trace[name][layer] = all;
      }
    }
    return this.#trace;
  }

  #copyHidden(layer: number, batch: Batch, rowsOf: () => Float32Array): void {
    const hidden = this.#trace.hidden[layer];
    if (hidden === undefined) return;
    const size = hidden.shape[1]!;
    const rows = rowsOf();
    this.#each(batch, (token, row) => hidden.data.set(rows.subarray(token * size, (token + 1) * size), row * size));
  }

  /** Calls act(index in the batch, row of the trace) for the tokens of a batch that are rows. */
  #each({ first, rows }: Batch, act: (token: number, row: number) => void): void {
    for (let token = Math.max(0, this.#trace.first - first); token < rows; token++)
      act(token, first + token - this.#trace.first);
  }
}

/** As Session.trace(). @internal */
export async function traceText(
  text: SessionText,
  added: Int32Array,
  settings: TraceSettings,
  options: SessionAppendOptions,
): Promise<Trace> {
  const tokens = Array.from(added).slice(-(settings.rows ?? added.length));
  const recorder = new TraceRecorder(text.core, settings, tokens, text.length + added.length);
  text.recorder = recorder;
  try {
    await text.append(added, options);
  } finally {
    text.recorder = undefined;
  }
  text.checkAlive();
  return recorder.finish(text.freshCache());
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function newArray(shape: readonly number[]): TraceArray {
  return { data: new Float32Array(sizeOf(shape)), shape };
}
