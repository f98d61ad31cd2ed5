// The options of rendering a chat: their types, and their names, which the Worker's client checks before it sends a call.
import { type OptionNames, optionNames } from "../../core/base/options.js";

/** Options for rendering a chat template. */
export interface ChatOptions {
  /** Append the start of the assistant's answer (transformers' `add_generation_prompt`). Default true. */
  addGenerationPrompt?: boolean;
  /** Tools as JSON schemas: `{ type: "function", function: { name, description, parameters } }`, or the functions themselves. */
  tools?: readonly unknown[];
  /**
   * Which of the model's chat templates to use: a name of `model.chatTemplates`. Default: `tool_use` if there are tools and the model has it,
   * else `default`.
   */
  templateName?: string;
  /** Text of the beginning-of-sequence token, the template's `bos_token`. */
  beginToken?: string;
  /** Text of the end-of-sequence token, the template's `eos_token`. */
  endToken?: string;
  /** The time for `strftime_now`, written in the local time zone. Default: now. */
  now?: Date;
  /** Other variables that the template reads, such as `enable_thinking`. */
  variables?: Readonly<Record<string, unknown>>;
  /**
   * Recognize control tokens that are written in a text, messages, tools and variables, such as `<|im_end|>`. Default true, as in transformers and
   * llama.cpp. False reads them as text, for people who aren't trusted: `promptTokens()` only, as text can't say which is which.
   */
  parseSpecial?: boolean;
  /**
   * Called with each text, call and field that isn't in the prompt, because the template leaves it out. Default: the `onWarning` that the model
   * was loaded with, else `console.warn`. Except in `renderChat()`, a text that someone else than the assistant wrote is an error.
   */
  onWarning?: (message: string) => void;
}

const CHAT = {
  addGenerationPrompt: true,
  tools: true,
  templateName: true,
  beginToken: true,
  endToken: true,
  now: true,
  variables: true,
  parseSpecial: true,
  onWarning: true,
} as const;

/** @internal */
export const CHAT_OPTIONS: OptionNames = optionNames<ChatOptions>("renderChat()", CHAT);

/** The names of the options of a call that also renders chats. @internal */
export const CHAT_OPTION_NAMES: typeof CHAT = CHAT;

/** Takes the options of a chat out of others. @internal */
export function splitChatOptions<Options extends ChatOptions>(
  options: Options,
): { chat: ChatOptions; others: Omit<Options, keyof ChatOptions> } {
  const isOfChat = ([name]: readonly [string, unknown]): boolean => Object.hasOwn(CHAT, name);
  const entries = Object.entries(options);
  return {
    chat: Object.fromEntries(entries.filter(isOfChat)),
    others: Object.fromEntries(entries.filter((entry) => !isOfChat(entry))) as Omit<Options, keyof ChatOptions>,
  };
}
