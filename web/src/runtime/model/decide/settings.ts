// Reads the options of decide().
import { finiteNumber, optionalFunction, optionalSignal, wholeNumber } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import { checkOptions } from "../../../core/base/options.js";
import type { ModelConfig } from "../../../core/memory/model_fields.js";
import type { AdapterOptions } from "../run/adapters_in_use.js";
import { checkContext } from "../session/options.js";
import type { PlaceOptions } from "./answer_place.js";
import { DECIDE_OPTIONS, type DecideOptions } from "./options.js";
import { MOST_OPTIONS } from "./questions.js";

/** The most orders of options. There are no more that differ: two directions, each beginning with each of the options. */
const MOST_ORDERS = 2 * MOST_OPTIONS;

/** Options with defaults, all but those of the chat checked. @internal */
export interface DecideSettings {
  readonly permutations: number;
  readonly temperature: number;
  readonly contextLength: number;
  readonly adapters: AdapterOptions | undefined;
  readonly signal: AbortSignal | undefined;
  readonly chat: PlaceOptions;
}

/** Throws INVALID_ARGUMENT, UNKNOWN_KEY. @internal */
export function readDecideOptions(
  given: DecideOptions | undefined,
  defaultContext: number,
  config: Pick<ModelConfig, "positions">,
): DecideSettings {
  const options = checkOptions(given, DECIDE_OPTIONS);
  const { permutations = 1, temperature = 1, contextLength = defaultContext, adapters, signal, ...chat } = options;
  if (finiteNumber(temperature, "temperature") <= 0)
    fail("INVALID_ARGUMENT", "temperature", `must be above 0 (got ${temperature})`);
  optionalFunction(chat.onWarning, "onWarning");
  return {
    permutations: wholeNumber(permutations, 1, MOST_ORDERS, "permutations"),
    temperature,
    contextLength: checkContext(contextLength, config),
    adapters,
    signal: optionalSignal(signal),
    chat,
  };
}
