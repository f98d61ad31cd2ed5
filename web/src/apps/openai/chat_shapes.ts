// From events to OpenAI's chat completions, whole or in chunks.
import type { AnswerPart } from "../serving/calls/answer_part.js";
import { type AnswerEvent, type Ending, NO_TOKENS, type ScoredToken } from "../serving/events.js";
import { newCallId, newId } from "../serving/ids.js";
import type { ServedTokenizer } from "../serving/served_model.js";
import { type Usage, usageOf } from "./usage.js";

/** A call in an answer. */
export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A token and its probability. */
export interface TokenLogprob {
  token: string;
  logprob: number;
  /** Its bytes, which may be a part of a character in UTF-8. */
  bytes: number[] | null;
}

/** Probabilities of an answer's tokens. */
export interface ChoiceLogprobs {
  content: (TokenLogprob & { top_logprobs: TokenLogprob[] })[] | null;
  refusal: null;
}

/** A whole answer. */
export interface ChatCompletion {
  id: string;
  object: "chat.completion";
  created: number;
  model: string;
  choices: {
    index: number;
    message: {
      role: "assistant";
      content: string | null;
      refusal: null;
      reasoning_content?: string;
      /** The same under the name that other servers give it. */
      reasoning?: string;
      tool_calls?: ToolCall[];
    };
    logprobs: ChoiceLogprobs | null;
    finish_reason: Ending;
  }[];
  usage: Usage;
}

/** What a chunk adds to a call: first its id and name, then pieces of its arguments. */
export interface ToolCallDelta {
  /** Of the call in the answer. */
  index: number;
  id?: string;
  type?: "function";
  function: { name?: string; arguments: string };
}

/** What a chunk adds to an answer. */
export interface ChatDelta {
  role?: "assistant";
  content?: string;
  reasoning_content?: string;
  /** The same under the name that other servers give it. */
  reasoning?: string;
  tool_calls?: ToolCallDelta[];
}

/** A part of an answer. */
export interface ChatCompletionChunk {
  id: string;
  object: "chat.completion.chunk";
  created: number;
  model: string;
  choices: { index: number; delta: ChatDelta; logprobs: ChoiceLogprobs | null; finish_reason: Ending | null }[];
  usage?: Usage | null;
}

/** The identity of a response. */
export interface ResponseHead {
  id: string;
  created: number;
  model: string;
}

export function newHead(prefix: string, model: string): ResponseHead {
  return { id: newId(prefix), created: Math.floor(Date.now() / 1000), model };
}

/** Turns events into chunks. */
export async function* chatChunks(
  events: AsyncIterable<AnswerEvent>,
  head: ResponseHead,
  tokenizer: ServedTokenizer,
  includesUsage: boolean,
): AsyncGenerator<ChatCompletionChunk, Usage, void> {
  const chunk = (choices: ChatCompletionChunk["choices"]): ChatCompletionChunk => ({
    ...head,
    object: "chat.completion.chunk",
    choices,
    ...(includesUsage && { usage: null }),
  });
  const calls = new Map<number, number>();
  let usage = usageOf(NO_TOKENS);
  for await (const event of events) {
    if (event.finish !== undefined) {
      usage = usageOf(event.finish);
      continue;
    }
    const { index } = event;
    const choice = (delta: ChatDelta, finish: Ending | null, logprobs: ChoiceLogprobs | null): ChatCompletionChunk =>
      chunk([{ index, delta, logprobs, finish_reason: finish }]);
    if (!calls.has(index)) {
      calls.set(index, 0);
      yield choice({ role: "assistant", content: "" }, null, null);
    }
    if ("ending" in event) {
      yield choice({}, event.ending, null);
      continue;
    }
    let logprobs = event.scored === undefined ? null : await choiceLogprobs(event.scored, tokenizer);
    for (const part of event.parts) {
      if ("isCallEnd" in part) continue;
      if ("call" in part) calls.set(index, calls.get(index)! + 1);
      yield choice(deltaOf(part, calls.get(index)! - 1), null, logprobs);
      logprobs = null;
    }
    if (logprobs !== null) yield choice({}, null, logprobs);
  }
  if (includesUsage) yield { ...chunk([]), usage };
  return usage;
}

/** @param index - of the call in the answer */
function deltaOf(part: Exclude<AnswerPart, { isCallEnd: true }>, index: number): ChatDelta {
  if ("content" in part) return { content: part.content };
  if ("reasoning" in part) return { reasoning_content: part.reasoning, reasoning: part.reasoning };
  if ("arguments" in part) return { tool_calls: [{ index, function: { arguments: part.arguments } }] };
  const called = { name: part.call, arguments: "" };
  return { tool_calls: [{ index, id: newCallId(), type: "function", function: called }] };
}

/** Joins chunks into whole answers. */
export async function wholeChat(
  chunks: AsyncGenerator<ChatCompletionChunk, Usage, void>,
  head: ResponseHead,
): Promise<ChatCompletion> {
  const choices: ChatCompletion["choices"] = [];
  let next = await chunks.next();
  for (; next.done !== true; next = await chunks.next()) {
    for (const { index, delta, logprobs, finish_reason: finish } of next.value.choices) {
      const choice = (choices[index] ??= {
        index,
        message: { role: "assistant", content: null, refusal: null },
        logprobs: null,
        finish_reason: "stop",
      });
      const { message } = choice;
      if (delta.content) message.content = (message.content ?? "") + delta.content;
      if (delta.reasoning_content)
        message.reasoning = message.reasoning_content = (message.reasoning_content ?? "") + delta.reasoning_content;
      for (const call of delta.tool_calls ?? []) addCall((message.tool_calls ??= []), call);
      if (logprobs !== null) {
        const content = [...(choice.logprobs?.content ?? []), ...(logprobs.content ?? [])];
        choice.logprobs = { content, refusal: null };
      }
      if (finish !== null) choice.finish_reason = finish;
    }
  }
  for (const { message } of choices) if (message.tool_calls === undefined) message.content ??= "";
  return { ...head, object: "chat.completion", choices, usage: next.value };
}

function addCall(calls: ToolCall[], { index, id = "", function: { name = "", arguments: more } }: ToolCallDelta): void {
  const call = (calls[index] ??= { id, type: "function", function: { name, arguments: "" } });
  call.function.arguments += more;
}

async function choiceLogprobs(scored: ScoredToken, tokenizer: ServedTokenizer): Promise<ChoiceLogprobs> {
  const one = async (token: number, logprob: number): Promise<TokenLogprob> => {
    const text = await textOfToken(token, tokenizer);
    const bytes = text.includes("\uFFFD") ? await tokenizer.bytes(token) : new TextEncoder().encode(text);
    return { token: text, logprob, bytes: Array.from(bytes) };
  };
  const others = scored.alternatives.map(({ token, logprob }) => one(token, logprob));
  const content = { ...(await one(scored.token, scored.logprob)), top_logprobs: await Promise.all(others) };
  return { content: [content], refusal: null };
}

/** The text of a token inside of a text, with U+FFFD for a part of a character. */
export function textOfToken(token: number, tokenizer: ServedTokenizer): Promise<string> | string {
  return tokenizer.decode([token], { skipSpecial: false, continues: true });
}
