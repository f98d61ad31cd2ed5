// Embeddings of texts and scores of pairs, in batches.
import * as advise from "../../../core/base/advice.js";
import type { Advised } from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import { count } from "../../../core/base/checks.js";
import type { AdaptersInUse } from "../run/adapters_in_use.js";
import { EventLoopYielder } from "../run/event_loop.js";
import type { Pooling } from "../plan/embedding_plan.js";
import type { ModelPlan } from "../plan/model_plan.js";
import type { EmbedOptions } from "./options.js";
import type { TextTokens, WholeTextsCore } from "./whole_texts.js";

/**
 * Tokens of a batch, unless a single text has more. Large enough to read each weight once for many tokens, small enough
 * for the second-level cache and to check for aborts between batches.
 */
const BATCH_TOKENS = 128;

/** What a run of texts needs to know. @internal */
export interface TextRun extends Pick<EmbedOptions, "signal" | "onProgress" | "truncate"> {
  readonly pooling: Pooling;
  readonly usesDense: boolean;
  /** Elements of a vector. */
  readonly size: number;
  readonly adapters: AdaptersInUse;
  /** Maximum tokens of a text. */
  readonly maxLength: number;
  /** What would let longer texts in, for errors; undefined if nothing does. */
  readonly longer: Advised | undefined;
  /** Whether a token is special. If the last one of a text is, it stays when the text is cut. */
  readonly isSpecial: (token: number) => boolean;
  /** What an error calls a text. */
  readonly field: (index: number) => string;
  /** What else is among the tokens of each text, for errors. */
  readonly with?: string;
}

/**
 * A vector for each text, in the order of the texts, and the number of tokens that were read. Batches have texts of similar lengths. A text's vector doesn't
 * depend on the other texts of its batch.
 * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_FILE, OUT_OF_MEMORY, DISPOSED; rejects with the signal's reason.
 * @internal
 */
export async function runTexts(
  core: WholeTextsCore,
  given: readonly TextTokens[],
  run: TextRun,
): Promise<{ vectors: Float32Array<ArrayBuffer>[]; tokens: number }> {
  const { signal, onProgress, size } = run;
  const texts = given.map((text, index) => fitted(text, index, run));
  const order = texts.map((_, index) => index).sort((a, b) => texts[a]!.tokens.length - texts[b]!.tokens.length);
  const vectors = new Array<Float32Array<ArrayBuffer>>(texts.length);
  const yielder = new EventLoopYielder();
  for (let first = 0; first < order.length;) {
    signal?.throwIfAborted();
    let last = first;
    let tokens = 0;
    do tokens += texts[order[last++]!]!.tokens.length;
    while (last < order.length && tokens + texts[order[last]!]!.tokens.length <= BATCH_TOKENS);
    const batch = order.slice(first, last);
    const all = core.vectors(
      batch.map((index) => texts[index]!),
      run.pooling,
      run.usesDense,
      size,
      run.adapters,
    );
    if (!all.every(Number.isFinite))
      fail("INVALID_FILE", "tensors", "produce vectors that are not finite: the weights are damaged or too large");
    batch.forEach((index, row) => (vectors[index] = all.slice(row * size, (row + 1) * size)));
    first = last;
    onProgress?.({ done: first, total: texts.length });
    await yielder.yieldIfDue();
  }
  signal?.throwIfAborted();
  return { vectors, tokens: texts.reduce((sum, { tokens }) => sum + tokens.length, 0) };
}

/** What would let longer texts in; undefined if nothing does. @internal */
export function longerTexts(
  contextLength: number,
  { config: { positions }, layers, trainedLength }: ModelPlan,
): Advised | undefined {
  if (positions > 0 && contextLength >= positions) return undefined;
  const hasRope = layers.some(({ rope }) => rope !== null);
  const limits = positions > 0 ? { most: positions } : hasRope && { trained: trainedLength };
  return advise.raise({ option: "contextLength", of: "model", ...limits });
}

function fitted(
  text: TextTokens,
  index: number,
  { maxLength, longer, truncate, isSpecial, field: fieldOf, with: other }: TextRun,
): TextTokens {
  const { tokens, types, least } = text;
  const field = fieldOf(index);
  if (tokens.length === 0) fail("INVALID_ARGUMENT", field, "has no tokens", advise.prompt({ as: "tokens" }));
  if (tokens.length <= maxLength && least === undefined) return text;
  if (truncate !== true) {
    const together = other === undefined ? "" : ` with ${other}`;
    fail(
      "INVALID_ARGUMENT",
      field,
      `has ${least === undefined ? count(tokens.length, "token") : `${least} or more tokens`}${together}, more than the model's ${maxLength}`,
      advise.either(
        advise.other("split it"),
        advise.pass({ option: "truncate", value: "true" }),
        ...(longer === undefined ? [] : [longer]),
      ),
    );
  }
  const keepsLast = isSpecial(tokens[tokens.length - 1]!);
  const cut = (values: Int32Array): Int32Array => {
    const kept = values.slice(0, maxLength);
    if (keepsLast) kept[maxLength - 1] = values[values.length - 1]!;
    return kept;
  };
  return { tokens: cut(tokens), ...(types !== undefined && { types: cut(types) }) };
}

/** The first `dimensions` elements, divided by their length if `normalizes`. @internal */
export function finished(
  vector: Float32Array<ArrayBuffer>,
  dimensions: number,
  normalizes: boolean,
): Float32Array<ArrayBuffer> {
  const kept = dimensions < vector.length ? vector.slice(0, dimensions) : vector;
  if (!normalizes) return kept;
  // as torch's normalize(): a vector of zeros stays one
  const length = Math.max(Math.sqrt(kept.reduce((sum, x) => sum + x * x, 0)), 1e-12);
  return kept.map((x) => x / length);
}
