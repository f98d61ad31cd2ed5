// Finds stop strings in generated text.
import { show } from "../../../core/base/show.js";
import { fail } from "../../../core/base/errors.js";
import { overlap } from "../../../core/base/overlap.js";

/**
 * Searches a stream of text for stop strings. Text that may be the beginning of a stop string is withheld until that is
 * decided.
 * @internal
 */
export class StopStrings {
  readonly #stops: readonly string[];
  #withheld = "";
  #isFound = false;

  constructor(stops: readonly unknown[]) {
    const wrong = stops.findIndex((stop) => typeof stop !== "string" || stop === "");
    if (wrong >= 0) fail("INVALID_ARGUMENT", "stop", `must be non-empty strings (got ${show(stops[wrong])})`);
    this.#stops = stops as readonly string[];
  }

  /** Whether a stop string was found. */
  get isFound(): boolean {
    return this.#isFound;
  }

  /** Adds text and returns what can't be part of a stop string. */
  push(text: string): string {
    if (this.#isFound) return "";
    const pending = this.#withheld + text;
    let [first, longest] = [Infinity, 0];
    for (const stop of this.#stops) {
      const index = pending.indexOf(stop);
      if (index >= 0) first = Math.min(first, index);
      longest = Math.max(longest, overlap(pending, stop));
    }
    this.#isFound = first < Infinity;
    const length = this.#isFound ? first : pending.length - longest;
    this.#withheld = this.#isFound ? "" : pending.slice(length);
    return pending.slice(0, length);
  }

  /** Returns the withheld text at the end of the stream. */
  end(): string {
    const rest = this.#withheld;
    this.#withheld = "";
    return rest;
  }
}
