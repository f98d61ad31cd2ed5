// What a search's result is worth, as warnings.
import { type FoundInWindow } from "../../search/window.js";
import type { ComparedRope } from "../../search/search.js";
import { STARTS } from "../../search/space.js";

/** Share of the numbers' tokens that a model which finds numbers gets right. */
const FINDS = 0.5;

/** The warning about a model that doesn't find the hidden numbers inside its window; undefined for one that does. */
export function windowWarning({ window, right }: FoundInWindow): string | undefined {
  if (right !== undefined && right >= FINDS) return undefined;
  const reason =
    right === undefined
      ? `no hidden number and its question fit into the model's window of ${window} tokens, so it may be unable to find one`
      : `inside its window of ${window} tokens the model gets only ${(100 * right).toFixed(0)} % of hidden numbers right`;
  return `warning: ${reason}: the result means nothing; pass --texts with answers that it gets right there`;
}

/** The warning about a result that other texts don't confirm; undefined if they do, or if there are none. */
export function checkWarning(compared: readonly ComparedRope[]): string | undefined {
  const lossOf = ({ checked }: ComparedRope): number => checked?.loss ?? Infinity;
  const [found, ...others] = compared;
  const best = others.reduce((a, b) => (lossOf(b) < lossOf(a) ? b : a));
  if (found === undefined || lossOf(best) >= lossOf(found)) return undefined;
  const losses = `${lossOf(best).toFixed(4)} against ${lossOf(found).toFixed(4)}`;
  const starts = others.filter(({ name }) => (STARTS as readonly string[]).includes(name));
  const isFitted = starts.some((start) => lossOf(start) < lossOf(found));
  const advice = isFitted
    ? "the result was fitted to the texts that it was searched on; use more of them (--count, --texts)"
    : "which needs no search";
  return `warning: in other texts ${best.name} is better than what was found (${losses})${isFitted ? ": " : ", "}${advice}`;
}
