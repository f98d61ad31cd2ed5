// From events to OpenAI's chat completions, whole or in chunks.
import type { Tokenizer } from "../text/tokenizer.js";
import type { AnswerEvent, ScoredToken, Usage } from "./events.js";

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
  /** UTF-8, or null for a part of a character. */
  bytes: number[] | null;
}

/** Probabilities of an answer's tokens. */
export interface ChoiceLogprobs {
  content: (TokenLogprob & { top_logprobs: TokenLogprob[] })[] | null;
  refusal: null;
}

/** Why an answer ended. */
export type Finish = "stop" | "length" | "tool_calls";

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
      tool_calls?: ToolCall[];
    };
    logprobs: ChoiceLogprobs | null;
    finish_reason: Finish;
  }[];
  usage: Usage;
}

/** What a chunk adds to an answer. */
export interface ChatDelta {
  role?: "assistant";
  content?: string;
  reasoning_content?: string;
  tool_calls?: (ToolCall & { index: number })[];
}

/** A part of an answer. */
export interface ChatCompletionChunk {
  id: string;
  object: "chat.completion.chunk";
  created: number;
  model: string;
  choices: { index: number; delta: ChatDelta; logprobs: ChoiceLogprobs | null; finish_reason: Finish | null }[];
  usage?: Usage | null;
}

/** The identity of a response. */
export interface ResponseHead {
  id: string;
  created: number;
  model: string;
}

/** A new id, unique with near certainty. */
export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return prefix + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function newHead(prefix: string, model: string): ResponseHead {
  return { id: newId(prefix), created: Math.floor(Date.now() / 1000), model };
}

/** Turns events into chunks. */
export async function* chatChunks(
  events: AsyncGenerator<AnswerEvent, Usage, void>,
  head: ResponseHead,
  tokenizer: Tokenizer,
  includesUsage: boolean,
): AsyncGenerator<ChatCompletionChunk, Usage, void> {
  const chunk = (choices: ChatCompletionChunk["choices"]): ChatCompletionChunk => ({
    ...head,
    object: "chat.completion.chunk",
    choices,
    ...(includesUsage && { usage: null }),
  });
  const counts = new Map<number, number>();
  let next = await events.next();
  try {
    for (; next.done !== true; next = await events.next()) {
      const event = next.value;
      const { index } = event;
      const choice = (delta: ChatDelta, finish: Finish | null, logprobs: ChoiceLogprobs | null): ChatCompletionChunk =>
        chunk([{ index, delta, logprobs, finish_reason: finish }]);
      if (!counts.has(index)) {
        counts.set(index, 0);
        yield choice({ role: "assistant", content: "" }, null, null);
      }
      if ("finish" in event) {
        yield choice({}, event.finish, null);
        continue;
      }
      let logprobs = event.scored === undefined ? null : logprobsOf([event.scored], tokenizer);
      for (const part of event.parts) {
        const delta = deltaOf(part, counts.get(index)!);
        if ("call" in part) counts.set(index, counts.get(index)! + 1);
        yield choice(delta, null, logprobs);
        logprobs = null;
      }
      if (logprobs !== null) yield choice({}, null, logprobs);
    }
  } finally {
    if (next.done !== true) await events.return(undefined as never);
  }
  if (includesUsage) yield { ...chunk([]), usage: next.value };
  return next.value;
}

function deltaOf(part: Extract<AnswerEvent, { parts: unknown }>["parts"][number], index: number): ChatDelta {
  if ("content" in part) return { content: part.content };
  if ("reasoning" in part) return { reasoning_content: part.reasoning };
  return { tool_calls: [{ index, id: newId("call_"), type: "function", function: part.call }] };
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
        message.reasoning_content = (message.reasoning_content ?? "") + delta.reasoning_content;
      for (const { index: _, ...call } of delta.tool_calls ?? []) (message.tool_calls ??= []).push(call);
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

function logprobsOf(scored: readonly ScoredToken[], tokenizer: Tokenizer): ChoiceLogprobs {
  const one = (token: number, logprob: number): TokenLogprob => {
    const text = tokenizer.decode([token], { skipSpecial: false, continues: true });
    return { token: text, logprob, bytes: text.includes("\uFFFD") ? null : Array.from(new TextEncoder().encode(text)) };
  };
  const content = scored.map(({ token, logprob, alternatives }) => ({
    ...one(token, logprob),
    top_logprobs: alternatives.map((other) => one(other.token, other.logprob)),
  }));
  return { content, refusal: null };
}
