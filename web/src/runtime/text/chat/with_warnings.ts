// The option `onWarning` of what renders a chat, here or in a Worker.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import { optionalFunction } from "../../../core/base/checks.js";
import { checkOptions } from "../../../core/base/options.js";
import { CHAT_OPTIONS, type ChatOptions } from "../chat_options.js";
import { type ChatProblem, type OnWarning, warn } from "./problems.js";

/** The options of a chat without the functions, which can't be cloned. */
export type PromptOptions = Omit<ChatOptions, "onWarning">;

/**
 * Calls with the options of a chat, and passes on what its prompt lacks as warnings.
 * @param modelOnWarning - where they go if the options don't say it: what the model was loaded with
 */
export async function withWarnings<Result extends { readonly problems: readonly ChatProblem[] }>(
  options: ChatOptions | undefined,
  call: (options: PromptOptions) => Promise<Result>,
  name = CHAT_OPTIONS.call,
  modelOnWarning?: OnWarning,
): Promise<Result> {
  const { onWarning, ...given } = checkOptions(options, { ...CHAT_OPTIONS, call: name });
  optionalFunction(onWarning, "onWarning");
  const result = await call(given);
  warn(result.problems, onWarning ?? modelOnWarning);
  return result;
}

/** The text of a chat. @throws INVALID_ARGUMENT: text can't say which control tokens are text */
export function wholeText({ text, pieces }: { readonly text: string; readonly pieces?: unknown }): string {
  if (pieces !== undefined)
    fail(
      "INVALID_ARGUMENT",
      "messages",
      "have control tokens, and text can't say that they are none",
      advise.either(advise.call({ calls: ["promptTokens"] }), advise.code("leave out parseSpecial")),
    );
  return text;
}
