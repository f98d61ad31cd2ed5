// Reasoning in messages, which has three names.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import type { ChatTemplate } from "./compiled.js";
import type { ChatMessage } from "./messages.js";

const NAMES = ["reasoning_content", "thinking", "reasoning"] as const;
type Name = (typeof NAMES)[number];

/** A word that no template has. */
const THOUGHT = "zqthought";

/**
 * A message with its reasoning under the names that the template reads, as in transformers; under one of them if the template would write it
 * more than once.
 * @param field - of the message, such as `messages[2]`
 * @throws INVALID_ARGUMENT: names that differ
 */
export function withReasoning(template: ChatTemplate, message: ChatMessage, field: string): ChatMessage {
  const [first, ...others] = NAMES.filter((name) => message[name] !== undefined);
  if (first === undefined) return message;
  const reasoning = message[first];
  for (const name of others)
    if (message[name] !== reasoning)
      fail(
        "INVALID_ARGUMENT",
        `${field}.${name}`,
        `differs from the reasoning under the name ${first}`,
        advise.other("give one"),
      );
  const given = Object.entries(message).filter(([name]) => !(NAMES as readonly string[]).includes(name));
  return {
    ...Object.fromEntries(namesFor(template).map((name) => [name, reasoning])),
    ...Object.fromEntries(given),
  } as ChatMessage;
}

function namesFor(template: ChatTemplate): readonly Name[] {
  return template.found("names of reasoning", () => {
    const read = NAMES.filter((name) => mentions(template.source, name));
    const names = NAMES.filter((name) => name !== "reasoning" || read.includes(name));
    if (most(template, names) < 2) return names;
    return [read.find((name) => most(template, [name]) > 0) ?? read[0] ?? names[0]!];
  });
}

/** Whether a template reads a field of that name: as an attribute, by a subscript, or with get(). */
const mentions = (source: string, name: Name): boolean =>
  new RegExp(`\\.${name}\\b|\\[['"]${name}['"]\\]|get\\(['"]${name}['"]`).test(source);

/** How often a template writes the reasoning that is given under some names, at most. */
function most(template: ChatTemplate, names: readonly Name[]): number {
  const user = { role: "user", content: "zqasks" };
  const call = { id: "call00001", type: "function", function: { name: "zqname", arguments: { zqkey: "zqvalue" } } };
  const answer = { role: "assistant", ...Object.fromEntries(names.map((name) => [name, THOUGHT])) };
  const conversations = [
    [user, { ...answer, content: "zqsays" }],
    [user, { ...answer, content: "", tool_calls: [call] }],
  ];
  const texts = conversations.flatMap((messages) =>
    [true, false].map((prompt) => template.trial(messages, { add_generation_prompt: prompt }) ?? ""),
  );
  return Math.max(...texts.map((text) => text.split(THOUGHT).length - 1));
}
