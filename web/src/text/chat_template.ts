// Renders a conversation with the model's chat template.
import { trueOrFalse } from "../base/checks.js";
import { isDict } from "../base/dict.js";
import { fail, RopewalkError } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { messageOf, printable, show } from "../base/show.js";
import { isArray } from "../base/typed_arrays.js";
import type { Program } from "./template/parse/syntax.js";
import type { Value } from "./template/values/values.js";

type Engine = typeof import("./template/engine.js");

/** A message of a conversation. Templates may read more fields: `tool_calls`, `reasoning_content`, `name`. */
export interface ChatMessage {
  /** `system`, `user`, `assistant`, `tool` or another role that the template supports. */
  role: string;
  content: string;
  [key: string]: unknown;
}

/** Options for rendering a chat template. */
export interface ChatOptions {
  /** Append the start of the assistant's answer (transformers' `add_generation_prompt`). Default true. */
  addGenerationPrompt?: boolean;
  /** Tools as JSON schemas, in the form the template expects. */
  tools?: readonly unknown[];
  /** Text of the beginning-of-sequence token, the template's `bos_token`. */
  beginToken?: string;
  /** Text of the end-of-sequence token, the template's `eos_token`. */
  endToken?: string;
  /** The time for `strftime_now`, written in the local time zone. Default: now. */
  now?: Date;
  /** Other variables that the template reads, such as `enable_thinking`. */
  variables?: Readonly<Record<string, unknown>>;
}

const CHAT_OPTIONS = optionNames<ChatOptions>("renderChat()", {
  addGenerationPrompt: true,
  tools: true,
  beginToken: true,
  endToken: true,
  now: true,
  variables: true,
});

/** Characters of a reason that an error message quotes. */
const MOST_QUOTED = 400;

/**
 * Renders a conversation with the model's chat template, like transformers' apply_chat_template. The text includes special tokens, so
 * encode it with `{ special: false }`. A template is parsed once. A template of up to a million characters may take
 * 200,000 steps, and more for a longer conversation: about a quarter of a second.
 *
 * @param template `tokenizer.chat_template` of a GGUF file, chat_template.jinja, or `chat_template` of a tokenizer_config.json
 * @throws INVALID_ARGUMENT (messages): there are no messages, or the template rejects them; the error has the template's message.
 *   INVALID_FILE (chat_template): the template can't be parsed, fails, or takes too long. UNKNOWN_KEY, INVALID_ARGUMENT for an option
 */
export async function renderChat(
  template: string,
  messages: readonly ChatMessage[],
  options?: ChatOptions,
): Promise<string> {
  const checked = checkOptions(options, CHAT_OPTIONS);
  const inputs = inputsOf(messages, checked);
  const now = timeOf(checked);
  if (typeof template !== "string") fail("INVALID_FILE", "chat_template", `must be a string (got ${show(template)})`);
  const engine = await import("./template/engine.js");
  const program = parse(engine, template);
  const budget = new engine.Budget(inputs);
  const variables = convert(engine, inputs);
  try {
    return engine.runTemplate(program, [...engine.globalsOf(now, budget), ...variables], budget);
  } catch (error) {
    if (error instanceof engine.TemplateException) {
      fail("INVALID_ARGUMENT", "messages", `the model's chat template rejects them: ${error.message}`, {
        cause: error,
      });
    }
    failTemplate("the template failed for these messages", error);
  }
}

/** Checks the option `chatTemplate`, without messages. Throws INVALID_ARGUMENT. @internal */
export async function checkTemplate(template: string): Promise<void> {
  const engine = await import("./template/engine.js");
  try {
    parse(engine, template);
  } catch (cause) {
    if (!(cause instanceof RopewalkError)) throw cause;
    fail("INVALID_ARGUMENT", "chatTemplate", cause.message.replace(`${cause.field}: `, ""), { cause });
  }
}

/** Whether a value is a Date and has a time. A Proxy isn't one, and would throw when it is read. */
function isValidDate(value: unknown): boolean {
  try {
    return Number.isFinite(Date.prototype.getTime.call(value));
  } catch {
    return false;
  }
}

function checkMessages(messages: readonly ChatMessage[]): void {
  if (!isArray(messages) || messages.length === 0) {
    fail("INVALID_ARGUMENT", "messages", "must be an array of at least one { role, content }");
  }
  messages.forEach((message: unknown, i) => {
    const role = typeof message === "object" && message !== null ? (message as { role?: unknown }).role : undefined;
    if (typeof role !== "string") fail("INVALID_ARGUMENT", `messages[${i}]`, "must be an object with a string `role`");
  });
}

function parse(engine: Engine, template: string): Program {
  try {
    return engine.programOf(template);
  } catch (error) {
    failTemplate("the template cannot be parsed", error);
  }
}

/** Converts variables to the template's values. */
function convert(engine: Engine, inputs: Readonly<Record<string, unknown>>): [string, Value][] {
  try {
    return Object.entries(inputs).map(([name, value]) => [name, engine.valueOf(value)]);
  } catch (cause) {
    fail(
      "INVALID_ARGUMENT",
      "messages",
      "they, or the tools or variables, have values that aren't JSON, or that are nested too deeply",
      { cause },
    );
  }
}

function failTemplate(what: string, error: unknown): never {
  const isStackFull = error instanceof RangeError && /call stack|recursion/i.test(error.message);
  const reason = isStackFull ? "it nests too deeply" : messageOf(error);
  const short = reason.length > MOST_QUOTED ? `${reason.slice(0, MOST_QUOTED)}…` : reason;
  fail(
    "INVALID_FILE",
    "chat_template",
    `${what}: ${printable(short)}. Use another template, or write the prompt without one`,
    { cause: error },
  );
}

function timeOf({ now = new Date() }: ChatOptions): Date {
  if (!isValidDate(now)) fail("INVALID_ARGUMENT", "now", `must be a valid Date (got ${show(now)})`);
  return now;
}

/** The variables of a template. Reads each option once. */
function inputsOf(messages: readonly ChatMessage[], options: ChatOptions): Record<string, unknown> {
  const { addGenerationPrompt = true, tools, beginToken, endToken, variables } = options;
  checkMessages(messages);
  trueOrFalse(addGenerationPrompt, "addGenerationPrompt");
  if (!isArray(tools ?? [])) fail("INVALID_ARGUMENT", "tools", `must be an array of JSON schemas (got ${show(tools)})`);
  for (const [name, token] of Object.entries({ beginToken, endToken })) {
    if (token !== undefined && typeof token !== "string")
      fail("INVALID_ARGUMENT", name, `must be a string (got ${show(token)})`);
  }
  if (!isDict(variables ?? {}))
    fail("INVALID_ARGUMENT", "variables", `must be an object of values by name (got ${show(variables)})`);
  const inputs = {
    messages: messages.map(withoutNulls).map(withReasoning),
    add_generation_prompt: addGenerationPrompt,
    tools: tools ?? null,
    documents: null,
    ...(beginToken === undefined ? {} : { bos_token: beginToken }),
    ...(endToken === undefined ? {} : { eos_token: endToken }),
  };
  return { ...inputs, ...variables };
}

/** Leaves out fields that are null, as callers of other APIs write `content: null` and templates test whether a field is there. */
function withoutNulls(message: ChatMessage): ChatMessage {
  const fields = Object.entries(message).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(fields) as ChatMessage;
}

/** Gives a message's reasoning under both names that templates use. */
function withReasoning(message: ChatMessage): ChatMessage {
  const reasoning = message["reasoning_content"] ?? message["thinking"] ?? message["reasoning"];
  return reasoning === undefined || reasoning === null
    ? message
    : { thinking: reasoning, ...message, reasoning_content: reasoning };
}
