// Whether a model can do at all what a search asks of it: find hidden numbers in a text that fits into its window.
import { RopewalkError } from "../../core/base/errors.js";
import type { Ropewalk } from "../../runtime/ropewalk/ropewalk.js";
import { Evaluator, type SearchModel } from "./evaluate.js";
import { type NeedleOptions, needleTexts } from "./needles.js";
import { ownRope, searchSpace } from "./space.js";
import { type SearchText, tokensOfTexts } from "./texts.js";

/** Options of {@link foundInWindow}: those of the texts that are searched on, and of the search. @internal */
export interface WindowOptions extends NeedleOptions {
  readonly trainedLength: number | undefined;
  readonly signal: AbortSignal;
}

/** How well numbers are found. @internal */
export interface FoundInWindow {
  /** Tokens of the window. */
  readonly window: number;
  /** Share of the numbers' tokens that the model finds most probable; undefined if not even one number fits into the window. */
  readonly right: number | undefined;
}

/**
 * Reads a text of the trained length with the model's own RoPE.
 * @throws RopewalkError INVALID_ARGUMENT, UNSUPPORTED_MODEL, as searchRope()
 * @internal
 */
export async function foundInWindow(
  rw: Ropewalk,
  model: SearchModel,
  { length, trainedLength, signal, needles = 8, ...options }: WindowOptions,
): Promise<FoundInWindow> {
  const { rope, trainedLength: window } = searchSpace(rw, model.info, length, trainedLength);
  const texts = await mostNeedles(model, { ...options, length: window, count: 1 }, needles);
  if (texts === undefined) return { window, right: undefined };
  const tokens = await tokensOfTexts(model.tokenizer, texts, "texts", window);
  const evaluator = await Evaluator.create(model, { length: window, otherTokens: 0, signal });
  try {
    return { window, right: (await evaluator.measured(ownRope(rope), tokens)).right };
  } finally {
    await evaluator.dispose();
  }
}

/** Texts with as many needles as fit, of which each attempt has half. */
async function mostNeedles(
  { tokenizer }: SearchModel,
  options: NeedleOptions,
  needles: number,
): Promise<SearchText[] | undefined> {
  for (let count = needles; count >= 1; count = Math.floor(count / 2)) {
    try {
      return await needleTexts(tokenizer, { ...options, needles: count });
    } catch (error) {
      if (!(error instanceof RopewalkError && error.field === "length")) throw error;
    }
  }
  return undefined;
}
