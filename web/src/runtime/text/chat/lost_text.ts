// Finds the texts of messages that a template leaves out.
import { isDict } from "../../../core/base/dict.js";
import { textsOfArguments } from "./lost_arguments.js";
import { markOf, marksIn } from "./marks.js";
import { type ChatMessage, hasCalls, type LostText, mapTexts, type TextPlace } from "./messages.js";

/** Texts of fewer characters may be in a prompt by chance. */
const TELLING = 8;
/** The most texts that are tried one by one. */
const MAX_TRIED = 32;

/**
 * The texts that a prompt lacks. A template may trim a text, write it in upper case or as JSON, and leave out the reasoning at its start. So
 * where a text isn't found as it is, words are added before and after it, and the prompt is rendered again to see whether they get there.
 * @param run - renders other messages with the same template and variables; undefined if that fails
 */
export function lostTexts(
  messages: readonly ChatMessage[],
  prompt: string,
  source: string,
  run: (messages: readonly ChatMessage[]) => string | undefined,
): LostText[] {
  const texts: { text: string; place: TextPlace }[] = [];
  mapTexts(messages, (text, place) => {
    if (text.trim() !== "") texts.push({ text: text.trim(), place });
    return text;
  });
  if (areInOrder(texts, prompt, source)) return [];
  const ofAll = marksIn(run(marked(messages, () => true)));
  let tried = 0;
  return texts.flatMap(({ text, place }, i) => {
    if (ofAll !== undefined && hasMarks(ofAll, i, place)) return []; // first, because it searches no prompt
    if (text.length >= TELLING && prompt.includes(text) && !source.includes(text)) return [];
    if (ofAll === undefined && tried++ >= MAX_TRIED) return [];
    if (place.isCall && writesCall(messages, place, prompt)) return [];
    const marks = ofAll ?? marksIn(run(marked(messages, (index) => index === i)));
    if (marks === undefined) return []; // the template reads it, for it fails without it
    return hasMarks(marks, i, place) ? [] : [{ ...place, problem: problemOf(messages, place) }];
  });
}

/** Whether the prompt has a call's id, or a key or text of its arguments: some templates write no names. */
function writesCall(messages: readonly ChatMessage[], { field }: TextPlace, prompt: string): boolean {
  const [message, index] = (field.match(/\d+/g) ?? []).map(Number);
  const call: unknown = (messages[message!]!["tool_calls"] as readonly unknown[])[index!];
  const texts = [isDict(call) ? call["id"] : undefined, ...textsOfArguments(call)];
  return texts.some((text) => typeof text === "string" && text.trim().length > 2 && prompt.includes(text));
}

function areInOrder(texts: readonly { text: string }[], prompt: string, source: string): boolean {
  let from = 0;
  return texts.every(({ text }) => {
    const at = text.length < TELLING || source.includes(text) ? -1 : prompt.indexOf(text, from);
    if (at >= 0) from = at + text.length;
    return at >= 0;
  });
}

/** Messages with words around the texts that are chosen. */
function marked(messages: readonly ChatMessage[], chosen: (index: number) => boolean): ChatMessage[] {
  let index = -1;
  return mapTexts(messages, (text, { isCall }) => {
    if (text.trim() === "") return text;
    index += 1;
    if (!chosen(index)) return text;
    return isCall ? text + markOf("b", index) : `${markOf("a", index)} ${text.trim()} ${markOf("b", index)}`;
  });
}

/** Whether the words around a text are there. An assistant's text may lose its start, where its reasoning is. */
function hasMarks(marks: ReadonlySet<string>, index: number, { role, isCall }: TextPlace): boolean {
  const hasStart = isCall || role === "assistant" || marks.has(markOf("a", index));
  return hasStart && marks.has(markOf("b", index));
}

function problemOf(messages: readonly ChatMessage[], { field, role, isCall }: TextPlace): string {
  if (isCall) return "the model's chat template doesn't write this call, so the model can't see it";
  const message = messages[Number(/\d+/.exec(field)![0])]!;
  const where = role === "assistant" && hasCalls(message) ? " beside calls" : "";
  return `the model's chat template doesn't write this text of the role ${role}${where}, so the model can't see it`;
}
