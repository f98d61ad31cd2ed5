// Finds fields of messages that a template doesn't read, such as the name of who speaks.
import { markOf, marksIn } from "./marks.js";
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

/** A field of message `i`. */
interface Field {
  readonly i: number;
  readonly name: string;
  readonly value: unknown;
}

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
  const isTried = ({ name, value }: Field): boolean => source.includes(name) && typeof value === "string";
  const marks = fields.some(isTried) ? marksIn(run(marked(messages, fields, isTried))) : undefined;
  return fields.flatMap((field, index) => {
    const { i, name } = field;
    const isLost = !source.includes(name) || (isTried(field) && marks?.has(markOf("f", index)) === false);
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

function marked(
  messages: readonly ChatMessage[],
  fields: readonly Field[],
  isTried: (field: Field) => boolean,
): ChatMessage[] {
  const changed = [...messages];
  for (const [index, field] of fields.entries())
    if (isTried(field)) changed[field.i] = { ...changed[field.i]!, [field.name]: markOf("f", index) };
  return changed;
}
