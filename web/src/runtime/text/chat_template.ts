// Renders a conversation with the model's chat template.
import { part } from "../../core/base/part.js";
import * as advise from "../../core/base/advice.js";
import { trueOrFalse } from "../../core/base/checks.js";
import { isDict } from "../../core/base/dict.js";
import { changed, fail, RopewalkError } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";
import { isArray } from "../../core/base/typed_arrays.js";
import { ControlMarks, hasToken, type PromptPiece } from "./chat/control_tokens.js";
import type { ChatMessage } from "./chat/messages.js";
import type { Chat } from "./chat/render.js";
import { type ChatTemplates, templateFor } from "./chat/named_templates.js";
import type { ChatProblem } from "./chat/problems.js";
import { type PromptOptions, withWarnings } from "./chat/with_warnings.js";
import type { ChatOptions } from "./chat_options.js";

export type { ChatMessage, ContentPart } from "./chat/messages.js";
export type { ChatTemplates } from "./chat/named_templates.js";
export type { PromptPiece } from "./chat/control_tokens.js";
export type { PromptOptions } from "./chat/with_warnings.js";
export type { ChatOptions } from "./chat_options.js";

/** A prompt, and what it lacks. */
export interface ChatPrompt {
  readonly text: string;
  /** The text in pieces, if control tokens in some of them are text. */
  readonly pieces?: readonly PromptPiece[];
  readonly problems: readonly ChatProblem[];
}

/**
 * Renders a conversation with the model's chat template, like transformers' apply_chat_template. The text includes special tokens, so
 * encode it with `{ special: false }`. Messages and tools get the form that the template reads, which trials find out: text or parts,
 * arguments of calls as objects or as JSON, `{ type, function }` or functions. A template of up to
 * a million characters may take 200,000 steps, and more for a longer conversation: about a quarter of a second, and as much for each trial.
 *
 * @param template `tokenizer.chat_template` of a GGUF file, chat_template.jinja, or `chat_template` of a tokenizer_config.json; or several of
 *   them by name
 * @throws INVALID_ARGUMENT (messages): there are no messages, or the template rejects them; the error has the template's message.
 *   INVALID_FILE (chat_template): the template can't be parsed, fails, or takes too long. UNKNOWN_KEY, INVALID_ARGUMENT for an option
 */
export async function renderChat(
  template: string | ChatTemplates,
  messages: readonly ChatMessage[],
  options?: ChatOptions,
): Promise<string> {
  const templates = isDict(template) ? template : { default: template };
  if (options?.parseSpecial === false)
    fail(
      "INVALID_ARGUMENT",
      "parseSpecial",
      "needs the model's tokens",
      advise.either(advise.call({ calls: ["promptTokens"] }), advise.code("leave out parseSpecial")),
    );
  return (await withWarnings(options, (given) => renderPrompt(templates, messages, given))).text;
}

/** Renders as renderChat(), and says what the prompt lacks. @internal */
export async function renderPrompt(
  templates: ChatTemplates,
  messages: readonly ChatMessage[],
  options: PromptOptions,
  controlTokens: (written: string) => readonly string[] = () => [],
): Promise<ChatPrompt> {
  const { parseSpecial = true } = options;
  const { tools, variables } = readInputs(messages, options);
  const now = timeOf(options);
  const source = templateFor(templates, options.templateName, (tools ?? []).length > 0);
  const { chatTemplateOf, renderMessages } = await part(() => import("./chat/render.js")); // what renders no chat doesn't load it
  const template = chatTemplateOf(source);
  const chat = { messages, tools, variables, now };
  const { text, lost, losesTools } = renderMessages(template, chat);
  const pieces = trueOrFalse(parseSpecial, "parseSpecial")
    ? undefined
    : readPieces(controlTokens(template.literals()), chat, text, (marked) => renderMessages(template, marked).text);
  const problems = lost.map(({ field, problem, role, isLabel }) => ({
    field,
    problem,
    isAsked: role !== "assistant" && isLabel !== true,
  }));
  const problem = "the model's chat template doesn't write them, so the model can't see them";
  return {
    text,
    ...(pieces && { pieces }),
    problems: losesTools ? [...problems, { field: "tools", problem, isAsked: false }] : problems,
  };
}

/**
 * The pieces of a prompt whose inputs have control tokens; undefined if they have none.
 * @throws INVALID_ARGUMENT: the template changes texts that have them
 */
function readPieces(
  tokens: readonly string[],
  chat: Chat,
  text: string,
  render: (chat: Chat) => string,
): PromptPiece[] | undefined {
  const { messages, tools, variables } = chat;
  const { bos_token: begin, eos_token: end, ...given } = variables;
  const inputs = JSON.stringify([messages, tools, given]);
  if (!hasToken(tokens, textsIn([messages, tools, given]))) return undefined;
  const marks = new ControlMarks(tokens, inputs + text);
  const marked = {
    ...chat,
    messages: marks.mark(messages) as Chat["messages"],
    tools: marks.mark(tools) as Chat["tools"],
    variables: { ...(marks.mark(given) as Chat["variables"]), bos_token: begin, eos_token: end },
  };
  const pieces = marks.pieces(render(marked));
  if (pieces.map((piece) => piece.text).join("") !== text)
    fail(
      "INVALID_ARGUMENT",
      "messages",
      "have control tokens in places where the model's chat template reads them",
      advise.other("leave these out"),
    );
  return pieces;
}

function textsIn(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null ? Object.values(value).map(textsIn).join("\n") : "";
}

/** Checks the option `chatTemplate`, without messages. Throws INVALID_ARGUMENT. @internal */
export async function checkTemplate(template: string): Promise<void> {
  const { chatTemplateOf } = await part(() => import("./chat/render.js"));
  try {
    chatTemplateOf(template);
  } catch (cause) {
    if (!(cause instanceof RopewalkError)) throw cause;
    throw changed(cause, { code: "INVALID_ARGUMENT", field: "chatTemplate", cause });
  }
}

/** Whether a value is a Date, of this realm or another, and has a time. */
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

function timeOf({ now = new Date() }: PromptOptions): Date {
  if (!isValidDate(now)) fail("INVALID_ARGUMENT", "now", `must be a valid Date (got ${show(now)})`);
  return now;
}

/** The variables of a template besides the messages. Reads each option once. */
function readInputs(
  messages: readonly ChatMessage[],
  options: PromptOptions,
): { tools: readonly unknown[] | undefined; variables: Record<string, unknown> } {
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
  return {
    tools: tools ?? undefined,
    variables: {
      add_generation_prompt: addGenerationPrompt,
      ...(beginToken === undefined ? {} : { bos_token: beginToken }),
      ...(endToken === undefined ? {} : { eos_token: endToken }),
      ...variables,
    },
  };
}
