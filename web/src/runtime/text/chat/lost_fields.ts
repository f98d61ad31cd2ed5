// Finds fields of messages that a template doesn't read, such as the name of who speaks.
import type { ChatMessage, LostText } from "./messages.js";

/** Fields that others look after, or that say nothing to a model. */
const OTHERS = [
  "role",
  "content",
  "tool_calls",
  "tool_call_id",
  "reasoning_content",
  "thinking",
  "reasoning",
  "refusal",
  "annotations",
  "parsed",
];

/**
 * Fields that change nothing in a prompt. The name of a result's function isn't one: templates that leave it out have the order of calls, or
 * their ids.
 * @param run - renders other messages; undefined if the template fails, as one that reads a certain text does
 */
export function lostFields(
  messages: readonly ChatMessage[],
  source: string,
  run: (messages: readonly ChatMessage[]) => string | undefined,
): LostText[] {
  const fields = messages.flatMap((message, i) =>
    Object.entries(message).flatMap(([name, value]) => (isField(message, name, value) ? [{ i, name, value }] : [])),
  );
  const named = fields.filter(({ name, value }) => source.includes(name) && typeof value === "string");
  const written = named.length === 0 ? undefined : run(marked(messages, named))?.toLowerCase();
  return fields.flatMap(({ i, name, value }) => {
    const isLost =
      !source.includes(name) || (typeof value === "string" && written?.includes(markOf(i, name)) === false);
    if (!isLost) return [];
    const { role } = messages[i]!;
    const problem = `the model's chat template doesn't read the field ${name} of the role ${role}, so the model can't see it`;
    return [{ field: `messages[${i}].${name}`, role, isCall: false, isLabel: true, problem }];
  });
}

function isField({ role }: ChatMessage, name: string, value: unknown): boolean {
  if (OTHERS.includes(name) || (name === "name" && role === "tool")) return false;
  return value !== "" && value !== false && value !== null && value !== undefined;
}

/** A word that no template has, in letters only. */
const markOf = (index: number, name: string): string =>
  `zqfield${index.toString(36).replace(/\d/g, (digit) => "ghijklmnop"[Number(digit)]!)}${name.toLowerCase()}zq`;

function marked(
  messages: readonly ChatMessage[],
  fields: readonly { readonly i: number; readonly name: string }[],
): ChatMessage[] {
  const changed = [...messages];
  for (const { i, name } of fields) changed[i] = { ...changed[i]!, [name]: markOf(i, name) };
  return changed;
}
