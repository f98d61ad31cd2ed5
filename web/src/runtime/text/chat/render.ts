// From messages to a prompt: in the form that the template reads, with what it leaves out.
import { isDict } from "../../../core/base/dict.js";
import { renamed } from "../../../core/base/field_names.js";
import { adapted, adaptedTools, areTexts, prepared } from "./adapt.js";
import { type ChatTemplate, failRun, type Inputs } from "./compiled.js";
import { lostArguments, lostParts } from "./lost_arguments.js";
import { lostFields } from "./lost_fields.js";
import { lostTexts } from "./lost_text.js";
import type { ChatMessage, LostText } from "./messages.js";
import { withSystem } from "./system.js";

export { chatTemplateOf } from "./compiled.js";

/** What to render. */
export interface Chat {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[] | undefined;
  /** Other variables of the template. */
  readonly variables: Inputs;
  readonly now: Date;
}

/** A prompt. */
export interface Rendered {
  readonly text: string;
  /** The messages as the template got them. */
  readonly messages: readonly ChatMessage[];
  /** Renders other messages and texts with the same variables; undefined if the template fails. */
  readonly again: (messages: readonly ChatMessage[], variables?: Inputs) => string | undefined;
  readonly lost: readonly LostText[];
  /** Whether the template writes no tools, although some are given. */
  readonly losesTools: boolean;
}

/** @throws INVALID_ARGUMENT (messages), INVALID_FILE (chat_template) */
export function renderMessages(template: ChatTemplate, chat: Chat): Rendered {
  const { now } = chat;
  const given = prepared(template, chat.messages);
  const tools = chat.tools === undefined ? undefined : adaptedTools(template, chat.tools);
  const inputs = (messages: readonly ChatMessage[]): Inputs => ({
    messages,
    tools: tools ?? null,
    documents: null,
    ...chat.variables,
  });
  const budgeted = [inputs(given), chat.messages];
  const again: Rendered["again"] = (messages, variables = {}) => {
    try {
      return template.run({ ...inputs(messages), ...variables }, now, budgeted);
    } catch {
      return undefined;
    }
  };
  const rendered = (messages: readonly ChatMessage[]): Pick<Rendered, "text" | "messages" | "lost"> => {
    const text = template.run(inputs(messages), now, budgeted);
    return { text, messages, lost: lostIn(messages, text, template.source, again) };
  };
  const result = inForm(template, given, rendered);
  return { ...result, again, losesTools: losesTools(result, tools, again) };
}

/** What isn't in a prompt. A call that isn't there at all is named once. */
function lostIn(
  messages: readonly ChatMessage[],
  text: string,
  source: string,
  again: (messages: readonly ChatMessage[]) => string | undefined,
): LostText[] {
  const texts = lostTexts(messages, text, source, again);
  const calls = texts.filter(({ isCall }) => isCall).map(({ field }) => field.replace(/\.name$/, ""));
  const missing = lostArguments(messages, text, again).filter(
    ({ field }) => !calls.some((call) => field.startsWith(call)),
  );
  return [...texts, ...missing, ...lostParts(messages, source), ...lostFields(messages, source, again)];
}

/** Texts are tried as they are first: nearly all templates read them, and need no trials. */
function inForm<Result extends Pick<Rendered, "lost">>(
  template: ChatTemplate,
  given: readonly ChatMessage[],
  rendered: (messages: readonly ChatMessage[]) => Result,
): Result {
  let failure: unknown;
  let plain: Result | undefined;
  if (areTexts(given)) {
    try {
      plain = rendered(given);
      if (plain.lost.length === 0) return plain;
    } catch (error) {
      failure = error;
    }
  }
  const { messages, fieldOf } = withSystem(template, given);
  try {
    const changed = adapted(template, messages);
    const isSame = messages === given && changed.every(({ content }, i) => content === given[i]!.content);
    if (areTexts(given) && isSame) return plain ?? failRun(failure);
    const result = rendered(changed);
    return { ...result, lost: result.lost.map((lost) => ({ ...lost, field: fieldOf(lost.field) })) };
  } catch (error) {
    return failRun(renamed(error, fieldOf));
  }
}

function losesTools(
  { text, messages }: Pick<Rendered, "text" | "messages">,
  tools: readonly unknown[] | undefined,
  again: Rendered["again"],
): boolean {
  if (tools === undefined || tools.length === 0) return false;
  const names = tools.map((tool) => {
    const called = isDict(tool) && isDict(tool["function"]) ? tool["function"] : tool;
    return isDict(called) ? called["name"] : undefined;
  });
  if (names.every((name) => typeof name === "string" && text.includes(name))) return false;
  return again(messages, { tools: null }) === text;
}
