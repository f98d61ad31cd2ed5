// Gives messages and tools the form that a template reads.
import { type Dict, isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { valueOfJson } from "./arguments.js";
import type { ChatTemplate } from "./compiled.js";
import {
  type CallContent,
  type CallForms,
  callForms,
  contentForms,
  needsContent,
  SOME_TEXT,
  toolForms,
} from "./forms.js";
import { type ChatMessage, type ContentPart, hasCalls } from "./messages.js";
import { withReasoning } from "./reasoning.js";

/**
 * Leaves out what is null, as transformers does, but for contents. Gives reasoning under the name that the template reads, and the role
 * `system` to messages of `developer` if the template doesn't know that role, as llama.cpp's server does.
 */
export function prepared(template: ChatTemplate, messages: readonly ChatMessage[]): ChatMessage[] {
  const knowsDeveloper = /['"]developer['"]/.test(template.source);
  return messages.map((given, i) => {
    const fields = Object.entries(given).filter(
      ([name, value]) => value !== undefined && (value !== null || name === "content"),
    );
    const message = Object.fromEntries(fields) as ChatMessage;
    if (message.role === "developer" && !knowsDeveloper) message.role = "system";
    return withReasoning(template, message, `messages[${i}]`);
  });
}

/** Whether messages have nothing but texts, which most templates read as they are. */
export function areTexts(messages: readonly ChatMessage[]): boolean {
  return messages.every((message) => typeof message.content === "string" && message["tool_calls"] === undefined);
}

/**
 * The messages as the template reads them.
 * @throws INVALID_ARGUMENT: a part that isn't text, for a template that reads text
 */
export function adapted(template: ChatTemplate, messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map((message, i) => {
    const field = `messages[${i}]`;
    if (message.role === "assistant" && hasCalls(message)) return withCalls(template, message, field);
    if (hasNoContent(message)) return withoutContent(template, message);
    return { ...message, content: contentFor(template, message, `${field}.content`) };
  });
}

const hasNoContent = ({ content }: ChatMessage): boolean => content === undefined || content === null;

function contentFor(
  template: ChatTemplate,
  { role, content }: ChatMessage,
  field: string,
): Exclude<ChatMessage["content"], undefined> {
  if (typeof content === "string") {
    const { text, parts } = contentForms(template, role);
    return text || !parts ? content : [{ type: "text", text: content }];
  }
  if (!Array.isArray(content)) return content!; // templates of some models read other values
  const list = content as readonly ContentPart[];
  const { text, parts, severalParts } = contentForms(template, role);
  if (severalParts || (parts && list.length < 2)) return list;
  return text || !parts ? joined(list, field) : [{ type: "text", text: joined(list, field) }];
}

/** The texts of parts with line breaks between them, as llama.cpp joins them. */
function joined(parts: readonly ContentPart[], field: string): string {
  return parts.reduce((text, part, i) => {
    if (!isDict(part) || typeof part.text !== "string" || part.type !== "text") {
      const type: unknown = isDict(part) ? part.type : part;
      const message = `must be a part of type text, for the model's chat template reads no other (got ${show(type)})`;
      fail("INVALID_ARGUMENT", `${field}[${i}]`, message);
    }
    return text === "" ? part.text : `${text}\n${part.text}`;
  }, "");
}

/** A message that has no content. Templates that ask whether it is None get None, and others get none, or an empty text if they need one. */
function withoutContent(template: ChatTemplate, message: ChatMessage): ChatMessage {
  if (message.content === null && asksForNone(template)) return message;
  const { content: _, ...rest } = message;
  if (!needsContent(template, message.role)) return rest;
  return { ...rest, content: contentFor(template, { ...message, content: "" }, "") };
}

const asksForNone = ({ source }: ChatTemplate): boolean => /content\W{0,3}\s+is\s+(?:not\s+)?none\b/i.test(source);

function withCalls(template: ChatTemplate, message: ChatMessage, field: string): ChatMessage {
  const { content, ...rest } = message;
  const isEmpty = hasNoContent(message) || content === "";
  const forms = callForms(template, isEmpty ? emptyContents(template, content) : [SOME_TEXT]);
  const calls = (message["tool_calls"] as readonly unknown[]).map((call) => withArguments(call, forms.arguments));
  const filled = isEmpty
    ? contentOf(template, message, forms.content)
    : contentFor(template, message, `${field}.content`);
  return { ...rest, ...(filled !== undefined && { content: filled }), tool_calls: calls };
}

function contentOf(template: ChatTemplate, message: ChatMessage, content: CallContent): ChatMessage["content"] {
  return content === "" ? contentFor(template, { ...message, content }, "") : content;
}

/** What to try as an empty content, best first. */
function emptyContents(template: ChatTemplate, given: unknown): readonly CallContent[] {
  if (given === null && asksForNone(template)) return [null, "", undefined];
  return given === "" ? ["", null, undefined] : [undefined, "", null];
}

function withArguments(call: unknown, form: CallForms["arguments"] | undefined): unknown {
  if (!isDict(call)) return call;
  const called = isDict(call["function"]) ? call["function"] : undefined;
  const given = (called ?? call)["arguments"];
  const changed = form === "text" ? textOf(given) : form === "object" ? objectOf(given) : given;
  if (changed === given) return call;
  return called === undefined
    ? { ...call, arguments: changed }
    : { ...call, function: { ...called, arguments: changed } };
}

/** Arguments as text. */
const textOf = (given: unknown): unknown =>
  typeof given === "object" && given !== null ? JSON.stringify(given) : given;

/** Arguments as an object. A text that isn't JSON stays text. */
function objectOf(given: unknown): unknown {
  if (typeof given !== "string") return given;
  return given.trim() === "" ? {} : (valueOfJson(given) ?? given);
}

/** Tools in the form that the template reads: `{ type, function }`, or the functions themselves. */
export function adaptedTools(template: ChatTemplate, tools: readonly unknown[]): readonly unknown[] {
  const { nested, flat } = toolForms(template);
  return tools.map((tool) => {
    if (!isDict(tool)) return tool;
    const isNested = isDict(tool["function"]);
    if (isNested) return nested || !flat ? tool : tool["function"];
    return flat || !nested || typeof tool["name"] !== "string"
      ? tool
      : { type: "function", function: functionOf(tool) };
  });
}

/** A tool of the Responses API's form is a function with a type. */
function functionOf(tool: Dict): Dict {
  const { type: _, ...called } = tool;
  return called;
}
