// In which form a template reads messages and tools, found out by trials, as llama.cpp does (common/jinja/caps.cpp). llama.cpp's interpreter
// records which values a template reads; here it is seen from what the template writes.
import type { ChatTemplate, Inputs } from "./compiled.js";

/** Words that no template has. Templates may write them in upper case. */
const [FIRST, SECOND, NAME, KEY, VALUE] = ["zqfirst", "zqsecond", "zqname", "zqkey", "zqvalue"] as const;

/** Which forms of contents a template writes. */
export interface ContentForms {
  readonly text: boolean;
  /** A list with one part. */
  readonly parts: boolean;
  /** A list with several parts, none of which is left out. */
  readonly severalParts: boolean;
}

/** The content of a message that calls functions: text, None, or none at all. */
export type CallContent = string | null | undefined;

/** How a message that calls functions is given. */
export interface CallForms {
  readonly content: CallContent;
  /** Undefined if it can't be seen: the template writes none, and fails with an object. */
  readonly arguments: ArgumentsForm | undefined;
}

type ArgumentsForm = "object" | "text";

/** Any text, as the content of a message that calls functions. */
export const SOME_TEXT = "zqother";

const writes = (text: string | undefined, ...words: readonly string[]): boolean => {
  const lower = text?.toLowerCase();
  return lower !== undefined && words.every((word) => lower.includes(word));
};

/** Whether text has a value as Python or JSON write it, and not as the template means it. */
const dumpsParts = (text: string): boolean => /["']type\\?["']: ?\\?["']text\\?["']/i.test(text);

/** A content in the form that the template reads: parts only if it reads no text. */
function said(template: ChatTemplate, role: string, content: CallContent): unknown {
  if (typeof content !== "string") return content;
  const { text, parts } = contentForms(template, role);
  return text || !parts ? content : [{ type: "text", text: content }];
}

/** The forms of contents that a template writes for a role. */
export function contentForms(template: ChatTemplate, role: string): ContentForms {
  return template.found(`content of ${role}`, () => {
    const tryOut = (content: unknown): string[] =>
      conversationsWith(template, role, content).flatMap(([messages, more]) => template.trial(messages, more) ?? []);
    const parts = [
      { type: "text", text: FIRST },
      { type: "text", text: SECOND },
    ];
    const asParts = tryOut(parts).filter((text) => writes(text, FIRST) && !dumpsParts(text));
    return {
      text: tryOut(FIRST).some((text) => writes(text, FIRST)),
      parts: asParts.length > 0,
      severalParts: asParts.some((text) => writes(text, SECOND)),
    };
  });
}

/** Whether a template fails for a message of a role without content, and not for an empty one. */
export function needsContent(template: ChatTemplate, role: string): boolean {
  return template.found(`needs content of ${role}`, () => {
    const works = (content: unknown): boolean =>
      conversationsWith(template, role, content).some(
        ([messages, more]) => template.trial(messages, more) !== undefined,
      );
    return !works(undefined) && works(said(template, role, ""));
  });
}

/** Conversations with a message of a role, and the other variables. */
function conversationsWith(template: ChatTemplate, role: string, content: unknown): [object[], Inputs][] {
  const message = { role, ...(content !== undefined && { content }) };
  if (role === "user") return [[[message], {}]];
  const user = { role: "user", content: said(template, "user", SOME_TEXT) };
  if (role === "assistant") return [[[user, message, user], {}]];
  if (role === "tool") {
    const { content: empty, arguments: form = "object" } = callForms(template, ["", undefined, null]);
    const result = { ...message, name: NAME, tool_call_id: CALL_ID };
    const messages = [user, callMessage(template, empty, form), result];
    return [[TOOL], [CALLED], []].map((tools) => [messages, { tools }]);
  }
  return role === "system"
    ? [[[message, user], {}]]
    : [
        [[message, user], {}],
        [[user, message, user], {}],
      ];
}

const CALL_ID = "call00001"; // Mistral's templates refuse ids of another length
const CALLED = {
  name: NAME,
  description: "Does nothing.",
  parameters: { type: "object", properties: { [KEY]: { type: "string", description: "A word." } }, required: [KEY] },
};
const TOOL = { type: "function", function: CALLED };

function callMessage(template: ChatTemplate, text: CallContent, form: ArgumentsForm): object {
  const content = said(template, "assistant", text);
  const given = form === "object" ? { [KEY]: VALUE } : JSON.stringify({ [KEY]: VALUE });
  const call = { id: CALL_ID, type: "function", function: { name: NAME, arguments: given } };
  return { role: "assistant", ...(content !== undefined && { content }), tool_calls: [call] };
}

/**
 * How a template reads a message with calls and without text: its content, of those that are given, and the arguments. Objects count before
 * text, as in llama.cpp.
 */
export function callForms(template: ChatTemplate, contents: readonly CallContent[]): CallForms {
  return template.found(`calls with ${JSON.stringify(contents.map((content) => content ?? String(content)))}`, () => {
    const user = { role: "user", content: said(template, "user", SOME_TEXT) };
    const result = { role: "tool", content: user.content, name: NAME, tool_call_id: CALL_ID };
    const answer = { role: "assistant", content: said(template, "assistant", SOME_TEXT) };
    const conversations: readonly (readonly [after: readonly object[], tools: readonly object[]])[] = [
      [[result, answer, user], [TOOL]],
      [[result, answer, user], [CALLED]],
      [[result], [TOOL]],
      [[result, answer, user], []],
      [[], []],
    ];
    const working = new Map<CallContent, ArgumentsForm>(); // what doesn't fail, for templates that write only some arguments
    for (const [after, tools] of conversations)
      for (const content of contents)
        for (const form of ["object", "text"] as const) {
          const written = template.trial([user, callMessage(template, content, form), ...after], { tools });
          if (written !== undefined && !working.has(content)) working.set(content, form);
          if (!writes(written, KEY, VALUE) || !writesArguments(written!, form)) continue;
          const withText = (): string =>
            template.trial([user, callMessage(template, SOME_TEXT, form), ...after], { tools }) ?? "";
          if (content !== null || nones(written!) <= nones(withText())) return { content, arguments: form };
        }
    const content = contents.find((tried) => working.has(tried));
    const isObject = working.get(content) === "object";
    return { content: working.has(content) ? content : contents[0], arguments: isObject ? "object" : undefined };
  });
}

/** Whether arguments are written as the template means them: no object as Python shows it, and no JSON in the quotes of another. */
function writesArguments(text: string, form: ArgumentsForm): boolean {
  return form === "object"
    ? !new RegExp(`'${KEY}': ?'${VALUE}'`, "i").test(text)
    : new RegExp(`(?<!\\\\)"${KEY}": ?"${VALUE}"`, "i").test(text);
}

/** How often the text has None, which templates write that don't look for it. */
const nones = (text: string): number => text.split(/None/).length;

/** Whether a template reads tools as `{ type, function }`, and whether it reads the functions themselves. */
export function toolForms(template: ChatTemplate): { readonly nested: boolean; readonly flat: boolean } {
  return template.found("tools", () => {
    const user = { role: "user", content: said(template, "user", SOME_TEXT) };
    const isRead = (tool: object): boolean => writes(template.trial([user], { tools: [tool] }), NAME);
    return { nested: isRead(TOOL), flat: isRead(CALLED) };
  });
}

/** Whether a template writes a system message. */
export function readsSystem(template: ChatTemplate): boolean {
  const { text, parts } = contentForms(template, "system");
  return text || parts;
}
