// The messages of a chat, and the texts in them.
import { isDict } from "../../../core/base/dict.js";

/** A part of a message's content. Templates read parts of type `text`; others are for models with more senses. */
export interface ContentPart {
  type: string;
  text?: string;
  [key: string]: unknown;
}

/**
 * A message of a conversation. Templates may read more fields: `tool_calls`, `reasoning_content` (also called `reasoning` or `thinking`),
 * `name`, `tool_call_id`.
 */
export interface ChatMessage {
  /** `system`, `user`, `assistant`, `tool` or another role that the template supports. */
  role: string;
  /** Text or parts: the template gets the form that it reads. Null is the same as no content, unless the template asks whether it is None. */
  content?: string | readonly ContentPart[] | null;
  [key: string]: unknown;
}

/** Where a text is. */
export interface TextPlace {
  /** Such as `messages[2].content`. */
  readonly field: string;
  readonly role: string;
  /** Whether it is the name of a function that is called. */
  readonly isCall: boolean;
}

/** Something that isn't in the prompt. */
export interface LostText extends TextPlace {
  /** Whether it is a label, such as a name, without which the text is complete. */
  readonly isLabel?: boolean;
  readonly problem: string;
}

/** A copy of messages with other texts: those of contents, and the names of called functions. */
export function mapTexts(
  messages: readonly ChatMessage[],
  change: (text: string, place: TextPlace) => string,
): ChatMessage[] {
  return messages.map((message, i) => {
    const { role, content, tool_calls: calls } = message;
    const at = (path: string, isCall = false): TextPlace => ({ field: `messages[${i}].${path}`, role, isCall });
    const copy: ChatMessage = { ...message };
    if (typeof content === "string") copy.content = change(content, at("content"));
    else if (Array.isArray(content))
      copy.content = (content as readonly ContentPart[]).map((part, j) =>
        isDict(part) && typeof part.text === "string"
          ? { ...part, text: change(part.text, at(`content[${j}].text`)) }
          : part,
      );
    if (Array.isArray(calls))
      copy["tool_calls"] = (calls as readonly unknown[]).map((call, j) =>
        changedCall(call, (name) => change(name, at(`tool_calls[${j}].function.name`, true))),
      );
    return copy;
  });
}

function changedCall(call: unknown, change: (name: string) => string): unknown {
  if (!isDict(call)) return call;
  const { function: called, name } = call;
  if (isDict(called) && typeof called["name"] === "string")
    return { ...call, function: { ...called, name: change(called["name"]) } };
  return typeof name === "string" ? { ...call, name: change(name) } : call;
}

/** Whether an assistant's message calls functions. */
export function hasCalls({ tool_calls: calls }: ChatMessage): boolean {
  return Array.isArray(calls) && calls.length > 0;
}
