import { RopewalkError } from "../base/errors.js";

/**
 * Looks for texts that end a generation. Text is held back as long as it may be the beginning of one.
 * @internal
 */
export class StopStrings {
  readonly #stops: readonly string[];
  #held = "";
  #isMet = false;

  constructor(stops: string | readonly string[]) {
    this.#stops = typeof stops === "string" ? [stops] : stops;
    const wrong = this.#stops.find((stop) => typeof stop !== "string" || stop === "");
    if (wrong !== undefined) throw new RopewalkError("INVALID_ARGUMENT", "stop", "must be texts that are not empty");
  }

  /** Whether one has come. */
  get isMet(): boolean {
    return this.#isMet;
  }

  /** Takes more text and returns what is certain not to belong to a stop text. */
  push(text: string): string {
    if (this.#isMet) return "";
    const all = this.#held + text;
    const found = this.#stops.map((stop) => all.indexOf(stop)).filter((at) => at >= 0);
    this.#isMet = found.length > 0;
    const certain = this.#isMet
      ? Math.min(...found)
      : all.length - Math.max(0, ...this.#stops.map((stop) => beginningAtEnd(all, stop)));
    this.#held = this.#isMet ? "" : all.slice(certain);
    return all.slice(0, certain);
  }

  /** What was held back, when nothing more comes. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    return rest;
  }
}

/** Length of the longest beginning of `stop` that `text` ends with. */
function beginningAtEnd(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length;
  }
  return 0;
}
