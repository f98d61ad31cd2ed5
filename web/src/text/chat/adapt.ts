// Gives messages and tools the form that a template reads.
import { type Dict, isDict } from "../../base/dict.js";
import { fail } from "../../base/errors.js";
import { show } from "../../base/show.js";
import { valueOfJson } from "./arguments.js";
import type { ChatTemplate } from "./compiled.js";
import {
  type CallContent,
  type CallForms,
  callForms,
  contentForms,
  readsSystem,
  SOME_TEXT,
  toolForms,
} from "./forms.js";
import { type ChatMessage, type ContentPart, hasCalls, reasoningOf } from "./messages.js";

/**
 * Whose rules hold where llama.cpp's server and transformers differ. The server takes `developer` for `system`, and puts a system message
 * that the template doesn't read before the next message.
 */
export type Rules = "transformers" | "llama.cpp";

/** Leaves out what is null, as transformers does, but for contents, and gives reasoning under each name that the template has. */
export function prepared(messages: readonly ChatMessage[], source: string, rules: Rules): ChatMessage[] {
  const keepsDeveloper = rules === "transformers" || source.includes("<|channel|>"); // gpt-oss has the role
  const readsReasoning = /\.reasoning\b|\[['"]reasoning['"]\]|get\(['"]reasoning['"]/.test(source);
  return messages.map((given, i) => {
    const fields = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
    const message = Object.fromEntries(fields) as ChatMessage;
    if (message.role === "developer" && !keepsDeveloper) message.role = "system";
    const reasoning = reasoningOf(message);
    if (reasoning === undefined) return message;
    for (const name of ["reasoning_content", "thinking", "reasoning"])
      if (typeof message[name] === "string" && message[name] !== reasoning)
        fail("INVALID_ARGUMENT", `messages[${i}].${name}`, "differs from the reasoning under another name; give one");
    return {
      thinking: reasoning,
      ...(readsReasoning && { reasoning }),
      ...message,
      reasoning_content: reasoning,
    };
  });
}

/** Whether messages have nothing but texts, which most templates read as they are. */
export function areTexts(messages: readonly ChatMessage[]): boolean {
  return messages.every((message) => typeof message.content === "string" && message["tool_calls"] === undefined);
}

/**
 * The messages as the template reads them.
 * @param given - the messages before null was left out
 * @throws INVALID_ARGUMENT: a part that isn't text, for a template that reads text
 */
export function adapted(
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  given: readonly ChatMessage[],
  rules: Rules,
): ChatMessage[] {
  const changed = messages.map((message, i) => {
    const field = `messages[${i}]`;
    if (message.role === "assistant" && hasCalls(message)) return withCalls(template, message, given[i]!, rules, field);
    if (message.content === undefined) return withoutContent(template, message, given[i]!, rules);
    return { ...message, content: contentFor(template, message, `${field}.content`) };
  });
  return rules === "llama.cpp" ? withSystem(template, changed) : changed;
}

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

/** A message that has no content. Templates that ask whether it is None get None, and others get none or an empty text. */
function withoutContent(template: ChatTemplate, message: ChatMessage, given: ChatMessage, rules: Rules): ChatMessage {
  if (given.content === null && asksForNone(template)) return { ...message, content: null };
  return rules === "llama.cpp"
    ? { ...message, content: contentFor(template, { ...message, content: "" }, "") }
    : message;
}

const asksForNone = ({ source }: ChatTemplate): boolean => /content\W{0,3}\s+is\s+(?:not\s+)?none\b/i.test(source);

function withCalls(
  template: ChatTemplate,
  message: ChatMessage,
  given: ChatMessage,
  rules: Rules,
  field: string,
): ChatMessage {
  const { content } = message;
  const isEmpty = content === undefined || content === "";
  const forms = callForms(template, isEmpty ? emptyContents(template, given.content, rules) : [SOME_TEXT]);
  const calls = (message["tool_calls"] as readonly unknown[]).map((call) => withArguments(call, forms.arguments));
  const { content: _, ...rest } = message;
  const filled = isEmpty
    ? contentOf(template, message, forms.content)
    : contentFor(template, message, `${field}.content`);
  return { ...rest, ...(filled !== undefined && { content: filled }), tool_calls: calls };
}

function contentOf(template: ChatTemplate, message: ChatMessage, content: CallContent): ChatMessage["content"] {
  return content === "" ? contentFor(template, { ...message, content }, "") : content;
}

/** What to try as an empty content, best first. */
function emptyContents(template: ChatTemplate, given: unknown, rules: Rules): readonly CallContent[] {
  if (given === null && asksForNone(template)) return [null, "", undefined];
  if (given === "" || rules === "llama.cpp") return ["", null, undefined];
  return [undefined, "", null];
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

/** Puts a system message that the template doesn't read before the next message, as llama.cpp does. */
function withSystem(template: ChatTemplate, messages: ChatMessage[]): ChatMessage[] {
  const [first, next, ...rest] = messages;
  if (first?.role !== "system" || readsSystem(template)) return messages;
  if (next === undefined)
    return fail(
      "INVALID_ARGUMENT",
      "messages[0]",
      "can't be the only message: the model's chat template has no system messages; send one of the role user",
    );
  const text = typeof first.content === "string" ? first.content : joined(first.content ?? [], "messages[0].content");
  const content =
    typeof next.content === "string" || next.content === undefined || next.content === null
      ? `${text}\n${next.content ?? ""}`
      : [{ type: "text", text }, ...next.content];
  return [{ ...next, content }, ...rest];
}

/** Tools in the form that the template reads: `{ type, function }`, or the functions themselves. */
export function adaptedTools(template: ChatTemplate, given: readonly unknown[], rules: Rules): readonly unknown[] {
  const { nested, flat } = toolForms(template);
  const tools = rules === "llama.cpp" ? given.map(serverTool) : given;
  return tools.map((tool) => {
    if (!isDict(tool)) return tool;
    const isNested = isDict(tool["function"]);
    if (isNested) return nested || !flat ? tool : tool["function"];
    return flat || !nested || typeof tool["name"] !== "string"
      ? tool
      : { type: "function", function: functionOf(tool) };
  });
}

/** A tool with what llama.cpp's server passes on, in its order. */
function serverTool(tool: unknown): unknown {
  if (!isDict(tool) || !isDict(tool["function"])) return tool;
  const { name, description = "", parameters = {} } = tool["function"];
  return { type: "function", function: { name, description, parameters } };
}

/** A tool of the Responses API's form is a function with a type. */
function functionOf(tool: Dict): Dict {
  const { type: _, ...called } = tool;
  return called;
}
