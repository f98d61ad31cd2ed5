// The options of decide(): their types, and their names, which the Worker's client checks before it sends a call.
import { MODEL_ELSEWHERE } from "../../../core/base/elsewhere.js";
import { type OptionNames, optionNames } from "../../../core/base/options.js";
import type { ChatOptions } from "../../text/chat_options.js";
import type { AdapterOptions } from "../run/adapters_in_use.js";

/** Options of {@link Model.decide}. `templateName`, `variables`, `now` and `onWarning` are those of rendering a chat. */
export interface DecideOptions extends Pick<ChatOptions, "templateName" | "variables" | "now" | "onWarning"> {
  /**
   * How many orders of the options each question is asked in, 1 to 510. Their probabilities are averaged, because a model prefers some places. 2 is
   * the given order and its reverse. Twice the number of options puts each option in each place equally often, and more asks no more. Default: 1.
   */
  permutations?: number;
  /** Divides the logarithms of the labels' probabilities, above 0: above 1, the distribution is flatter. Default: 1. */
  temperature?: number;
  /** Maximum number of tokens of a prompt, as in {@link SessionOptions.contextLength}. */
  contextLength?: number;
  /** LoRA adapters, as in {@link SessionOptions.adapters}. */
  adapters?: AdapterOptions;
  /** Aborts between two batches of tokens, and rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** @internal */
export const DECIDE_OPTIONS: OptionNames = optionNames<DecideOptions>(
  "decide()",
  {
    permutations: true,
    temperature: true,
    contextLength: true,
    adapters: true,
    signal: true,
    templateName: true,
    variables: true,
    now: true,
    onWarning: true,
  },
  MODEL_ELSEWHERE,
);
