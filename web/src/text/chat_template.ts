import { RopewalkError } from "../base/errors.js";
import { parseTemplate, runTemplate, type Jinja } from "./jinja.js";
import { strftime } from "./strftime.js";

/** A message of a conversation. Templates may read more of it: `tool_calls`, `reasoning_content`, `name`. */
export interface ChatMessage {
  /** `system`, `user`, `assistant`, `tool`: whatever the template knows. */
  role: string;
  content: string;
  [key: string]: unknown;
}

/** What a chat template is given beside the messages. */
export interface ChatOptions {
  /** End with what begins an answer. Default true. */
  addGenerationPrompt?: boolean;
  /** Tools as JSON schemas, as the template wants them. */
  tools?: readonly unknown[];
  /** Text of the begin token, the template's `bos_token`. */
  beginToken?: string;
  /** Text of the token that ends a text, the template's `eos_token`. */
  endToken?: string;
  /** The time that `strftime_now` tells, in the local zone. Default: now. */
  now?: Date;
  /** Other variables that the template reads, such as `enable_thinking`. */
  variables?: Readonly<Record<string, unknown>>;
}

/** What a template raises itself, by raise_exception. */
class Raised extends Error {}

/** The most elements that range() gives, as in Jinja's sandbox. */
const LONGEST_RANGE = 100000;

/**
 * Writes a conversation as the model was trained to read it, with the model's own template, as transformers' apply_chat_template does.
 * The text has its special tokens in it; encode it with `{ special: false }`. Needs the package `@huggingface/jinja`, imported here.
 *
 * @param template `tokenizer.chat_template` of a GGUF file, chat_template.jinja, or `chat_template` of a tokenizer_config.json
 * @throws INVALID_ARGUMENT (messages): no messages, or such as the template refuses, in its own words.
 *   INVALID_FILE (chat_template): it cannot be read, or fails
 */
export async function renderChat(
  template: string,
  messages: readonly ChatMessage[],
  options: ChatOptions = {},
): Promise<string> {
  if (typeof template !== "string")
    throw new RopewalkError("INVALID_FILE", "chat_template", `must be a string (is ${typeof template})`);
  checkMessages(messages);
  const jinja = (await import("@huggingface/jinja")) as unknown as Jinja;
  const program = parse(jinja, template);
  try {
    return runTemplate(jinja, program, variablesOf(messages, options));
  } catch (error) {
    if (error instanceof Raised) {
      throw new RopewalkError(
        "INVALID_ARGUMENT",
        "messages",
        `the model's chat template refuses them: ${error.message}`,
        { cause: error },
      );
    }
    throw failure("failed with these messages", error);
  }
}

function checkMessages(messages: readonly ChatMessage[]): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new RopewalkError("INVALID_ARGUMENT", "messages", "must be an array of { role, content }, one at least");
  }
  messages.forEach((message: unknown, i) => {
    const role = typeof message === "object" && message !== null ? (message as { role?: unknown }).role : undefined;
    if (typeof role !== "string")
      throw new RopewalkError("INVALID_ARGUMENT", `messages[${i}]`, "must be an object with a role, a string");
  });
}

function parse(jinja: Jinja, template: string): unknown {
  try {
    return parseTemplate(jinja, template);
  } catch (error) {
    throw failure("cannot be read", error);
  }
}

function failure(what: string, error: unknown): RopewalkError {
  const reason = error instanceof Error ? error.message : String(error);
  return new RopewalkError(
    "INVALID_FILE",
    "chat_template",
    `${what}: ${reason}. Write the prompt yourself, or give another template`,
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
      throw new Raised(String(message));
    },
    strftime_now: (format: unknown) => strftime(now, String(format)),
    range,
  };
  const given = {
    messages: messages.map(withReasoning),
    add_generation_prompt: options.addGenerationPrompt ?? true,
    tools: options.tools ?? null,
    documents: null,
    ...(options.beginToken === undefined ? {} : { bos_token: options.beginToken }),
    ...(options.endToken === undefined ? {} : { eos_token: options.endToken }),
  };
  return { ...constants, ...functions, ...given, ...options.variables };
}

/** Templates read the reasoning of an answer under one name or another. */
function withReasoning(message: ChatMessage): ChatMessage {
  const reasoning = message["reasoning_content"] ?? message["thinking"] ?? message["reasoning"];
  return reasoning === undefined || reasoning === null
    ? message
    : { thinking: reasoning, ...message, reasoning_content: reasoning };
}

function range(first: number, stop?: number, step = 1): number[] {
  const start = stop === undefined ? 0 : first;
  const length = Math.max(0, Math.ceil(((stop ?? first) - start) / step));
  if (!(length <= LONGEST_RANGE)) throw new RangeError(`range() of more than ${LONGEST_RANGE} numbers`);
  return Array.from({ length }, (_, i) => start + i * step);
}
