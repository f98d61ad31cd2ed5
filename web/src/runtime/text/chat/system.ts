// Puts a system message that a template doesn't read before the next message, as llama.cpp's server does.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import type { ChatTemplate } from "./compiled.js";
import { readsSystem } from "./forms.js";
import type { ChatMessage, ContentPart } from "./messages.js";

/** Messages, and where their fields were before. */
export interface Merged {
  readonly messages: readonly ChatMessage[];
  /** From a field of these messages to that of the messages that were given. */
  readonly fieldOf: (field: string) => string;
}

/** @throws INVALID_ARGUMENT: there is no next message */
export function withSystem(template: ChatTemplate, messages: readonly ChatMessage[]): Merged {
  const [first, next, ...rest] = messages;
  if (first?.role !== "system" || isEmpty(first) || readsSystem(template))
    return { messages, fieldOf: (field) => field };
  if (next === undefined)
    return fail(
      "INVALID_ARGUMENT",
      "messages[0]",
      "can't be the only message: the model's chat template has no system messages",
      advise.other("send one of the role user"),
    );
  const parts = [...partsOf(first, 0), ...partsOf(next, 1)];
  const content =
    typeof first.content === "string" && !Array.isArray(next.content)
      ? `${first.content}\n${(next.content as string | null | undefined) ?? ""}`
      : parts.map(({ part }) => part);
  const fields = parts.map(({ field }) => field);
  return {
    messages: [{ ...next, content }, ...rest],
    fieldOf: (field) => fieldBefore(field, typeof content === "string" ? [] : fields),
  };
}

const isEmpty = ({ content }: ChatMessage): boolean =>
  content === undefined || content === null || content.length === 0;

/** The parts of a content, and their fields. A text is one part. */
function partsOf({ content }: ChatMessage, index: number): { part: ContentPart; field: string }[] {
  const field = `messages[${index}].content`;
  if (Array.isArray(content))
    return (content as readonly ContentPart[]).map((part, i) => ({ part, field: `${field}[${i}]` }));
  return typeof content === "string" && content !== "" ? [{ part: { type: "text", text: content }, field }] : [];
}

/** @param parts - the fields of the parts of the first message */
function fieldBefore(field: string, parts: readonly string[]): string {
  const [whole, message, part, more = ""] = /^messages\[(\d+)\](?:\.content\[(\d+)\](\.text)?)?/.exec(field) ?? [];
  if (whole === undefined) return field;
  const rest = field.slice(whole.length);
  const before = message === "0" && part !== undefined ? parts[Number(part)] : undefined;
  if (before !== undefined) return before + (before.endsWith("]") ? more : "") + rest;
  return `messages[${Number(message) + 1}]${whole.slice(`messages[${message}]`.length)}${rest}`;
}
