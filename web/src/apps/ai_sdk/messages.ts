// From the AI SDK's prompt to messages as chat templates read them.
import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import { fail } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";
import type { ChatMessage, ContentPart } from "../../runtime/text/chat_template.js";

type PartOf<Role extends LanguageModelV4Message["role"]> = Exclude<
  Extract<LanguageModelV4Message, { role: Role }>["content"],
  string
>[number];

/** @throws INVALID_ARGUMENT: a part that isn't text, reasoning, or a call and its result */
export function chatMessages(prompt: LanguageModelV4Prompt): ChatMessage[] {
  return prompt.flatMap((message, i): ChatMessage[] => {
    const field = (j: number): string => `prompt[${i}].content[${j}]`;
    if (message.role === "system") return [{ role: "system", content: message.content }];
    if (message.role === "user")
      return [{ role: "user", content: userContent(message.content.map((part, j) => textOf(part, field(j)))) }];
    if (message.role === "assistant") return [assistantMessage(message.content, field)];
    return message.content.flatMap((part, j) => {
      if (part.type === "tool-approval-response") return []; // what was denied also has a result
      const { toolCallId, toolName } = part;
      return { role: "tool", name: toolName, tool_call_id: toolCallId, content: resultText(part, field(j)) };
    });
  });
}

function userContent(texts: readonly string[]): string | ContentPart[] {
  return texts.length === 1 ? texts[0]! : texts.map((text) => ({ type: "text", text }));
}

function assistantMessage(parts: readonly PartOf<"assistant">[], field: (j: number) => string): ChatMessage {
  let [content, reasoning] = ["", ""];
  const calls: object[] = [];
  parts.forEach((part, j) => {
    if (part.type === "reasoning") reasoning += part.text;
    else if (part.type === "tool-call")
      calls.push({ id: part.toolCallId, type: "function", function: { name: part.toolName, arguments: part.input } });
    else content += textOf(part, field(j));
  });
  return {
    role: "assistant",
    content,
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly mediaType?: string;
  readonly data?: unknown;
}

function textOf(part: Part, field: string): string {
  if (part.type === "text") return part.text!;
  const data = part.data as { type?: unknown; text?: string } | undefined;
  if (part.type === "file" && data?.type === "text") return data.text!;
  const what = part.type === "file" ? `a file of type ${part.mediaType}` : part.type;
  return fail("INVALID_ARGUMENT", field, `must be text, for the model reads nothing else (got ${show(what)})`);
}

function resultText({ output }: LanguageModelV4ToolResultPart, field: string): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "execution-denied":
      return output.reason ?? "The call was denied.";
    case "content":
      return output.value.map((part) => textOf(part, field)).join("");
  }
}
