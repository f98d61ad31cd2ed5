// Options of what serves a model.
import { optionalFunction, trueOrFalse, wholeNumber } from "../../core/base/checks.js";
import { fail } from "../../core/base/errors.js";
import { listOf } from "../../core/base/lists.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import type { AdapterOptions } from "../../runtime/model/run/adapters_in_use.js";
import type { ServedModel } from "./served_model.js";

/** How a model is served. */
export interface ServingOptions {
  /**
   * Calls that run at the same time, 1 to 32, each in a session of its own. They share the steps of the model, so four
   * take far less than four times as long as one, and the memory for their keys adds up. Further calls wait. Default: 1.
   */
  parallel?: number;
  /** Model name in responses. Default: its name on the Hub, or that of its file. */
  name?: string;
  /** LoRA adapters that all calls use, from `model.loadAdapter()`. Default: none. */
  adapters?: AdapterOptions;
  /** Which of the model's chat templates to use, as in `model.renderChat()`. Default: `tool_use` for calls with tools, else `default`. */
  templateName?: string;
  /** False: control tokens that are written in messages are text, as in `model.promptTokens()`. Default: true. */
  parseSpecial?: boolean;
  /**
   * Called with what a prompt lacks because the chat template leaves it out, such as text beside calls. Default: the `onWarning` that the model was
   * loaded with, else `console.warn`.
   */
  onWarning?: (message: string) => void;
}

/** The options, checked. */
export interface Serving {
  readonly parallel: number;
  readonly name: string | undefined;
  /** The option of sessions and embeddings. */
  readonly adapting: { readonly adapters?: AdapterOptions };
  readonly chats: ServedChats;
}

/** How chats are rendered. */
export interface ServedChats {
  readonly templateName: string | undefined;
  readonly parseSpecial: boolean;
  readonly onWarning: ServingOptions["onWarning"];
}

/**
 * Throws INVALID_ARGUMENT, UNKNOWN_KEY.
 * @param call - what got the options, for messages
 * @internal
 */
export function readServing(options: ServingOptions | undefined, call: string): Serving {
  const names = optionNames<ServingOptions>(call, {
    parallel: true,
    name: true,
    adapters: true,
    templateName: true,
    parseSpecial: true,
    onWarning: true,
  });
  const { parallel, name, adapters, templateName, parseSpecial, onWarning } = checkOptions(options, names);
  if (name !== undefined && (typeof name !== "string" || name === ""))
    fail("INVALID_ARGUMENT", "name", `must be a text that isn't empty (got ${show(name)})`);
  if (adapters !== undefined) listOf(adapters, "adapters", "loaded adapters");
  return {
    parallel: wholeNumber(parallel ?? 1, 1, 32, "parallel"),
    name,
    adapting: adapters === undefined ? {} : { adapters },
    chats: {
      templateName,
      parseSpecial: trueOrFalse(parseSpecial ?? true, "parseSpecial"),
      onWarning: optionalFunction(onWarning, "onWarning"),
    },
  };
}

/** Model name in responses. @internal */
export function servedName({ info }: Pick<ServedModel, "info">, { name }: Pick<Serving, "name">): string {
  return name ?? info.hub?.repository ?? info.name;
}
