// Finds calls whose arguments a template leaves out, and parts of contents that it doesn't know.
import { isDict } from "../../../core/base/dict.js";
import { Ready } from "../template/values/inputs.js";
import { Dict } from "../template/values/values.js";
import { markOf, marksIn } from "./marks.js";
import type { ChatMessage, LostText } from "./messages.js";

/** The keys and texts in a call's arguments, which may be JSON text, an object or a value of the template. */
export function textsOfArguments(call: unknown): string[] {
  const given = argumentsOf(call);
  if (typeof given === "string") return given.trim() === "" || given.trim() === "{}" ? [] : [given];
  const read = given instanceof Ready ? given.value : given;
  const entries = read instanceof Dict ? read.entries() : isDict(read) ? Object.entries(read) : [];
  return entries.flat().filter((text): text is string => typeof text === "string" && text.trim() !== "");
}

function argumentsOf(call: unknown): unknown {
  if (!isDict(call)) return undefined;
  return (isDict(call["function"]) ? call["function"] : call)["arguments"];
}

/**
 * Calls without any of their arguments in the prompt. Other arguments are tried too, for a template may write texts in its own way.
 * @param run - renders other messages; undefined if the template fails, as one that reads certain arguments does
 */
export function lostArguments(
  messages: readonly ChatMessage[],
  prompt: string,
  run: (messages: readonly ChatMessage[]) => string | undefined,
): LostText[] {
  const missing: Call[] = [];
  messages.forEach(({ role, tool_calls: calls }, message) => {
    if (!Array.isArray(calls)) return;
    (calls as readonly unknown[]).forEach((one, call) => {
      const texts = textsOfArguments(one);
      if (texts.length > 0 && !texts.some((text) => prompt.includes(text))) missing.push({ message, call, role });
    });
  });
  if (missing.length === 0) return [];
  const ofAll = marksIn(run(marked(messages, missing, () => true)));
  return missing.flatMap(({ message, call, role }, index) => {
    const marks = ofAll ?? marksIn(run(marked(messages, missing, (one) => one === index)));
    if (marks === undefined || marks.has(markOf("c", index))) return [];
    const problem = "the model's chat template doesn't write the arguments of this call, so the model can't see them";
    return [{ field: `messages[${message}].tool_calls[${call}].function.arguments`, role, isCall: true, problem }];
  });
}

/** Call `call` of message `message`. */
interface Call {
  readonly message: number;
  readonly call: number;
  readonly role: string;
}

/** Messages in which the calls that are chosen have a mark as their argument. */
function marked(
  messages: readonly ChatMessage[],
  missing: readonly Call[],
  chosen: (index: number) => boolean,
): ChatMessage[] {
  const changed = [...messages];
  for (const [index, { message, call }] of missing.entries())
    if (chosen(index)) changed[message] = withMark(changed[message]!, call, markOf("c", index));
  return changed;
}

function withMark(message: ChatMessage, index: number, mark: string): ChatMessage {
  const calls = (message["tool_calls"] as readonly unknown[]).map((call, i) => {
    if (i !== index || !isDict(call)) return call;
    const given = { [mark]: mark };
    const args = typeof argumentsOf(call) === "string" ? JSON.stringify(given) : given;
    const called = call["function"];
    return isDict(called) ? { ...call, function: { ...called, arguments: args } } : { ...call, arguments: args };
  });
  return { ...message, tool_calls: calls };
}

/** Parts of a type that the template's source never names, such as images for a template that reads texts only. */
export function lostParts(messages: readonly ChatMessage[], source: string): LostText[] {
  return messages.flatMap(({ role, content }, i) => {
    if (!Array.isArray(content)) return [];
    return (content as readonly unknown[]).flatMap((part, j) => {
      if (!isDict(part) || typeof part["type"] !== "string" || typeof part["text"] === "string") return [];
      const type = part["type"];
      if (type.split("_").some((word) => source.includes(word))) return [];
      const problem = `the model's chat template knows no parts of type ${type}, so the model can't see this one`;
      return [{ field: `messages[${i}].content[${j}]`, role, isCall: false, problem }];
    });
  });
}
