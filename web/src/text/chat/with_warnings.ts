// The option `onWarning` of what renders a chat, here or in a Worker.
import { optionalFunction } from "../../base/checks.js";
import { checkOptions } from "../../base/options.js";
import { CHAT_OPTIONS, type ChatOptions } from "../chat_options.js";
import { type ChatProblem, warn } from "./problems.js";

/** The options of a chat without the functions, which can't be cloned. */
export type PromptOptions = Omit<ChatOptions, "onWarning">;

/** Calls with the options of a chat, and passes on what its prompt lacks as warnings. */
export async function withWarnings<Result extends { readonly problems: readonly ChatProblem[] }>(
  options: ChatOptions | undefined,
  call: (options: PromptOptions) => Promise<Result>,
): Promise<Result> {
  const { onWarning, ...given } = checkOptions(options, CHAT_OPTIONS);
  optionalFunction(onWarning, "onWarning");
  const result = await call(given);
  warn(result.problems, onWarning);
  return result;
}
