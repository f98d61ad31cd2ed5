// Options of what serves a model.
import { wholeNumber } from "../base/checks.js";
import { checkOptions, optionNames } from "../base/options.js";

/** How a model is served. */
export interface ServingOptions {
  /**
   * Calls that run at the same time, 1 to 32, each in a session of its own. They share the steps of the model, so four
   * take far less than four times as long as one, and the memory for their keys adds up. Further calls wait. Default: 1.
   */
  parallel?: number;
}

const OPTIONS = optionNames<ServingOptions>("openai()", { parallel: true });

/** Throws INVALID_ARGUMENT, UNKNOWN_KEY. @internal */
export function readParallel(options: ServingOptions | undefined): number {
  return wholeNumber(checkOptions(options, OPTIONS).parallel ?? 1, 1, 32, "parallel");
}
