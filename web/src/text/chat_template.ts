// Renders a conversation with the model's chat template.
import { RopewalkError, fail } from "../base/errors.js";
import { parseTemplate, runTemplate, type Jinja } from "./jinja.js";
import { strftime } from "./strftime.js";

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

/** Raised by a template's call to raise_exception. */
class TemplateException extends Error {}

/** The limit for range() of Jinja's sandbox. */
const MAX_RANGE = 100000;

/**
 * Renders a conversation with the model's chat template, like transformers' apply_chat_template. The text includes special tokens, so
 * encode it with `{ special: false }`. Imports the package `@huggingface/jinja`.
 *
 * @param template `tokenizer.chat_template` of a GGUF file, chat_template.jinja, or `chat_template` of a tokenizer_config.json
 * @throws INVALID_ARGUMENT (messages): there are no messages, or the template rejects them; the error has the template's message.
 *   INVALID_FILE (chat_template): the template can't be parsed, or fails
 */
export async function renderChat(
  template: string,
  messages: readonly ChatMessage[],
  options: ChatOptions = {},
): Promise<string> {
  if (typeof template !== "string") fail("INVALID_FILE", "chat_template", `must be a string (got ${typeof template})`);
  checkMessages(messages);
  const jinja = (await import("@huggingface/jinja")) as unknown as Jinja;
  const program = parse(jinja, template);
  try {
    return runTemplate(jinja, program, variablesOf(messages, options));
  } catch (error) {
    if (error instanceof TemplateException) {
      fail("INVALID_ARGUMENT", "messages", `the model's chat template rejects them: ${error.message}`, {
        cause: error,
      });
    }
    throw failure("the template failed for these messages", error);
  }
}

function checkMessages(messages: readonly ChatMessage[]): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    fail("INVALID_ARGUMENT", "messages", "must be an array of at least one { role, content }");
  }
  messages.forEach((message: unknown, i) => {
    const role = typeof message === "object" && message !== null ? (message as { role?: unknown }).role : undefined;
    if (typeof role !== "string") fail("INVALID_ARGUMENT", `messages[${i}]`, "must be an object with a string `role`");
  });
}

function parse(jinja: Jinja, template: string): unknown {
  try {
    return parseTemplate(jinja, template);
  } catch (error) {
    throw failure("the template cannot be parsed", error);
  }
}

function failure(what: string, error: unknown): RopewalkError {
  const reason = error instanceof Error ? error.message : String(error);
  return new RopewalkError(
    "INVALID_FILE",
    "chat_template",
    `${what}: ${reason}. Use another template, or write the prompt without one`,
    {
      cause: error,
    },
  );
}

function variablesOf(messages: readonly ChatMessage[], options: ChatOptions): Record<string, unknown> {
  const now = options.now ?? new Date();
  const constants = { true: true, false: false, none: null, True: true, False: false, None: null };
  const functions = {
    raise_exception(message: unknown): never {
      throw new TemplateException(String(message));
    },
    strftime_now: (format: unknown) => strftime(now, String(format)),
    range,
  };
  const inputs = {
    messages: messages.map(withReasoning),
    add_generation_prompt: options.addGenerationPrompt ?? true,
    tools: options.tools ?? null,
    documents: null,
    ...(options.beginToken === undefined ? {} : { bos_token: options.beginToken }),
    ...(options.endToken === undefined ? {} : { eos_token: options.endToken }),
  };
  return { ...constants, ...functions, ...inputs, ...options.variables };
}

/** Gives a message's reasoning under both names that templates use. */
function withReasoning(message: ChatMessage): ChatMessage {
  const reasoning = message["reasoning_content"] ?? message["thinking"] ?? message["reasoning"];
  return reasoning === undefined || reasoning === null
    ? message
    : { thinking: reasoning, ...message, reasoning_content: reasoning };
}

function range(first: number, stop?: number, step = 1): number[] {
  const start = stop === undefined ? 0 : first;
  const length = Math.max(0, Math.ceil(((stop ?? first) - start) / step));
  if (!(length <= MAX_RANGE)) throw new RangeError(`range() must have at most ${MAX_RANGE} numbers`);
  return Array.from({ length }, (_, i) => start + i * step);
}
