// A request for chat completions, checked.
import * as advise from "../../core/base/advice.js";
import { isDict } from "../../core/base/dict.js";
import { trueOrFalse, wholeNumber } from "../../core/base/checks.js";
import { fail } from "../../core/base/errors.js";
import { listOf } from "../../core/base/lists.js";
import { checkOptions, optionNames, suggestion } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import type { ChatRequest } from "../serving/chat_request.js";
import type { ForcedCall, Tool } from "../serving/tool.js";
import type { ChatMessage, ContentPart } from "../../runtime/text/chat_template.js";
import {
  GENERATION_FIELDS,
  type GenerationFields,
  type GenerationRequest,
  readGeneration,
  withoutNulls,
} from "./generation_request.js";
import { responseFormat, type ResponseFormat } from "./output_format.js";

/** Fields of a request for chat completions. Null is the same as no field. */
export interface ChatRequestFields extends GenerationFields {
  messages: readonly object[];
  tools?: readonly object[] | null;
  tool_choice?: "none" | "auto" | "required" | object | null;
  /** False: at most one call in an answer. */
  parallel_tool_calls?: boolean | null;
  response_format?: ResponseFormat | null;
  logprobs?: boolean | null;
  /** 0 to 20; needs `logprobs`. */
  top_logprobs?: number | null;
  max_tokens?: number | null;
  max_completion_tokens?: number | null;
  /** Passed to the chat template as a variable. */
  reasoning_effort?: string | null;
  /** Not OpenAI's: variables of the chat template, such as `enable_thinking`. */
  chat_template_kwargs?: Readonly<Record<string, unknown>> | null;
  /** Only false: nothing is stored. */
  store?: boolean | null;
  /** Only `auto` or `default`: there is one tier. */
  service_tier?: string | null;
  /** Only `["text"]`. */
  modalities?: readonly string[] | null;
  /** A label. Changes nothing here. */
  metadata?: Readonly<Record<string, unknown>> | null;
  /** A label. Changes nothing here. */
  safety_identifier?: string | null;
  /** A label. Changes nothing here: the last prompt is always kept. */
  prompt_cache_key?: string | null;
}

const CHAT_FIELDS = optionNames<ChatRequestFields>("chat.completions.create()", {
  ...GENERATION_FIELDS,
  messages: true,
  tools: true,
  tool_choice: true,
  parallel_tool_calls: true,
  response_format: true,
  logprobs: true,
  top_logprobs: true,
  max_tokens: true,
  max_completion_tokens: true,
  reasoning_effort: true,
  chat_template_kwargs: true,
  store: true,
  service_tier: true,
  modalities: true,
  metadata: true,
  safety_identifier: true,
  prompt_cache_key: true,
});

/** @throws UNKNOWN_KEY, INVALID_ARGUMENT */
export function readChatRequest(given: ChatRequestFields, chatTemplate = ""): ChatRequest & GenerationRequest {
  const body = checkOptions(withoutNulls(given), CHAT_FIELDS);
  const shared = readGeneration(body);
  if (body.store !== undefined && trueOrFalse(body.store, "store"))
    fail("INVALID_ARGUMENT", "store", "must be false: nothing is stored here");
  if (body.service_tier !== undefined && !["auto", "default"].includes(String(body.service_tier)))
    fail("INVALID_ARGUMENT", "service_tier", `must be auto or default (got ${show(body.service_tier)})`);
  if (body.modalities !== undefined && String(listOf(body.modalities, "modalities", "names")) !== "text")
    fail("INVALID_ARGUMENT", "modalities", `must be ["text"] (got ${show(body.modalities)})`);
  const [limit] = (["max_completion_tokens", "max_tokens"] as const).flatMap((name) =>
    body[name] === undefined ? [] : [wholeNumber(body[name], 1, 2 ** 30, name)],
  );
  const hasLogprobs = trueOrFalse(body.logprobs ?? false, "logprobs");
  if (body.top_logprobs !== undefined && !hasLogprobs) fail("INVALID_ARGUMENT", "top_logprobs", "needs logprobs: true");
  const alternatives = hasLogprobs ? wholeNumber(body.top_logprobs ?? 0, 0, 20, "top_logprobs") : undefined;
  const givenTools = listOf(body.tools ?? [], "tools", "functions").map(readTool);
  const isParallel = trueOrFalse(body.parallel_tool_calls ?? true, "parallel_tool_calls");
  const { tools, forced } = chosenTools(body.tool_choice, givenTools, isParallel);
  const format = responseFormat(body.response_format);
  if (format !== undefined && tools.length > 0)
    fail(
      "INVALID_ARGUMENT",
      "response_format",
      "can't be used with tools",
      advise.other('set tool_choice to "none", or leave one out'),
    );
  const templateWords = new Set(chatTemplate.match(/\w+/g));
  const { reasoning_effort: effort, chat_template_kwargs: variables } = body;
  if (variables !== undefined && !isDict(variables))
    fail("INVALID_ARGUMENT", "chat_template_kwargs", `must be an object (got ${show(variables)})`);
  if (effort !== undefined && variables !== undefined && "reasoning_effort" in variables)
    fail(
      "INVALID_ARGUMENT",
      "chat_template_kwargs.reasoning_effort",
      "is the field reasoning_effort",
      advise.other("leave one out"),
    );
  return {
    ...shared,
    options: {
      ...shared.options,
      ...(limit !== undefined && { maxTokens: limit }),
      ...(alternatives !== undefined && { logprobs: alternatives }),
    },
    messages: listOf(given.messages, "messages", "a list of messages").map((message, i) =>
      readMessage(message, i, templateWords),
    ),
    tools,
    forced,
    isParallel,
    format,
    variables: { ...(effort !== undefined && { reasoning_effort: effort }), ...variables },
    otherCalls: [advise.call({ calls: ["completions.create"] })],
  };
}

function chosenTools(
  choice: unknown,
  tools: readonly Tool[],
  isParallel: boolean,
): { tools: readonly Tool[]; forced: ForcedCall | undefined } {
  if (choice === undefined || choice === "auto") return { tools, forced: undefined };
  if (choice === "none") return { tools: [], forced: undefined };
  if (tools.length === 0) fail("INVALID_ARGUMENT", "tool_choice", "needs tools");
  if (choice === "required") return { tools, forced: { tools, isParallel } };
  const named = isDict(choice) && choice["type"] === "function" && isDict(choice["function"]) ? choice["function"] : {};
  const name = named["name"];
  if (typeof name !== "string")
    fail(
      "INVALID_ARGUMENT",
      "tool_choice",
      `must be none, auto, required, or { type: "function", function: { name } } (got ${show(choice)})`,
    );
  const chosen = tools.filter((tool) => tool.function.name === name);
  if (chosen.length === 0)
    fail(
      "INVALID_ARGUMENT",
      "tool_choice.function.name",
      `must be the name of a tool: ${tools.map((tool) => tool.function.name).join(", ")} (got ${show(name)})`,
    );
  return { tools, forced: { tools: chosen, isParallel: false } };
}

function readTool(tool: unknown, index: number): Tool {
  const described = isDict(tool) && tool["type"] === "function" ? tool["function"] : undefined;
  if (!isDict(described) || typeof described["name"] !== "string")
    fail(
      "INVALID_ARGUMENT",
      `tools[${index}]`,
      `must be { type: "function", function: { name, … } } (got ${show(tool)})`,
    );
  return { type: "function", function: withoutNulls(described) as object as Tool["function"] }; // templates can't write undefined
}

/** Keys of messages, also those that answers and OpenAI's client add. */
const MESSAGE_KEYS = [
  "role",
  "content",
  "name",
  "tool_calls",
  "tool_call_id",
  "reasoning_content",
  "reasoning",
  "thinking",
  "refusal",
  "annotations",
  "parsed",
];

const MESSAGE_ROLES = ["system", "developer", "user", "assistant", "tool"];

/** A message, checked. Other roles and keys than OpenAI's are accepted if the template has their names. */
function readMessage(message: unknown, index: number, templateWords: ReadonlySet<string>): ChatMessage {
  const field = `messages[${index}]`;
  if (!isDict(message) || typeof message["role"] !== "string")
    fail("INVALID_ARGUMENT", field, "must be an object with a string `role`");
  const given = withoutNulls(message);
  for (const name of ["function_call", "audio"])
    if (name in given) fail("UNKNOWN_KEY", `${field}.${name}`, "isn't supported");
  for (const name of Object.keys(given))
    if (!MESSAGE_KEYS.includes(name) && !templateWords.has(name))
      fail("UNKNOWN_KEY", `${field}.${name.slice(0, 60)}`, "isn't a key of messages", suggestion(name, MESSAGE_KEYS));
  const { content, tool_calls: calls } = message;
  const role = roleOf(message["role"], field, templateWords);
  if (calls === undefined || calls === null) return { ...given, role, content: contentOf(content, field) };
  return {
    ...given,
    role,
    ...(content !== undefined && { content: content === null ? null : contentOf(content, field) }),
    tool_calls: listOf(calls, `${field}.tool_calls`, "calls").map((call, i) =>
      readCall(call, `${field}.tool_calls[${i}]`),
    ),
  };
}

function roleOf(role: string, field: string, templateWords: ReadonlySet<string>): string {
  const [word = ""] = /^\w*/.exec(role) ?? []; // some roles have a number, as those of documents
  if (!MESSAGE_ROLES.includes(role) && !templateWords.has(word))
    fail("INVALID_ARGUMENT", `${field}.role`, `must be one of ${MESSAGE_ROLES.join(", ")} (got ${show(role)})`);
  return role;
}

function contentOf(content: unknown, field: string): string | ContentPart[] {
  if (typeof content === "string") return content;
  if (!Array.isArray(content))
    return fail("INVALID_ARGUMENT", `${field}.content`, `must be text (got ${show(content)})`);
  return content.map((part: unknown, i) => {
    if (isDict(part) && part["type"] === "text" && typeof part["text"] === "string")
      return { type: "text", text: part["text"] };
    const type = isDict(part) ? part["type"] : part;
    return fail("INVALID_ARGUMENT", `${field}.content[${i}]`, `must be a part of type text (got ${show(type)})`);
  });
}

function readCall(call: unknown, field: string): object {
  const called = isDict(call) ? call["function"] : undefined;
  if (!isDict(called) || typeof called["name"] !== "string")
    return fail("INVALID_ARGUMENT", field, `must be { id, type: "function", function: { name, arguments } }`);
  if (typeof called["arguments"] !== "string")
    fail("INVALID_ARGUMENT", `${field}.function.arguments`, `must be JSON as text (got ${show(called["arguments"])})`);
  return { ...(call as object) };
}
