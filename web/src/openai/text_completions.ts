// Completions: OpenAI's older shape, which continues a text as it is.
import { wholeNumber } from "../base/checks.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { show } from "../base/show.js";
import { answerReader } from "../serving/calls/answer_reader.js";
import { answerFormat } from "../serving/calls/call_format.js";
import { type AnswerEvent, type Generation, NO_TOKENS } from "../serving/events.js";
import type { ServedModel, ServedTokenizer } from "../serving/served_model.js";
import type { ResponseHead } from "./chat_shapes.js";
import { type CompletionLogprobs, completionLogprobs, joined } from "./completion_logprobs.js";
import {
  GENERATION_FIELDS,
  type GenerationFields,
  type GenerationRequest,
  readGeneration,
  withoutNulls,
} from "./generation_request.js";
import { type Usage, usageOf } from "./usage.js";

/** Fields of a request for completions. Null is the same as no field. */
export interface CompletionRequestFields extends GenerationFields {
  /** Text, or token ids. */
  prompt: string | readonly number[];
  /** Default: 16, as OpenAI's. */
  max_tokens?: number | null;
  /** The most probable tokens at each place, 0 to 20. */
  logprobs?: number | null;
}

const FIELDS = optionNames<CompletionRequestFields>("completions.create()", {
  ...GENERATION_FIELDS,
  prompt: true,
  max_tokens: true,
  logprobs: true,
});

/** A continuation, or a part of one. */
export interface Completion {
  id: string;
  object: "text_completion";
  created: number;
  model: string;
  choices: {
    index: number;
    text: string;
    logprobs: CompletionLogprobs | null;
    finish_reason: "stop" | "length" | null;
  }[];
  usage?: Usage | null;
}

/** @throws UNKNOWN_KEY, INVALID_ARGUMENT, CACHE_FULL */
export async function completionGeneration(
  model: ServedModel,
  given: CompletionRequestFields,
): Promise<Generation & Pick<GenerationRequest, "isStream" | "includesUsage">> {
  const { prompt, max_tokens: limit = 16, logprobs, ...body } = checkOptions(withoutNulls(given), FIELDS);
  if (typeof prompt !== "string" && !(Array.isArray(prompt) && prompt.every(Number.isInteger)))
    fail("INVALID_ARGUMENT", "prompt", `must be one text, or token ids (got ${show(prompt)})`);
  const shared = readGeneration(body);
  const tokens = await model.promptTokens(prompt);
  if (tokens.length === 0) fail("INVALID_ARGUMENT", "prompt", "must have at least one token");
  const maxTokens = wholeNumber(limit, 1, 2 ** 30, "max_tokens");
  const alternatives = logprobs == null ? {} : { logprobs: wholeNumber(logprobs, 0, 20, "logprobs") };
  return {
    ...shared,
    prompt: tokens,
    begun: "",
    isParallel: true,
    options: { ...shared.options, maxTokens, ...alternatives },
    reader: () => answerReader(answerFormat(undefined), false, false),
  };
}

/** Turns events into parts of continuations. */
export async function* completionChunks(
  events: AsyncIterable<AnswerEvent>,
  head: ResponseHead,
  tokenizer: ServedTokenizer,
  includesUsage: boolean,
): AsyncGenerator<Completion, Usage, void> {
  const chunk = (choices: Completion["choices"]): Completion => ({
    ...head,
    object: "text_completion",
    choices,
    ...(includesUsage && { usage: null }),
  });
  let usage = usageOf(NO_TOKENS);
  const lengths = new Map<number, number>();
  for await (const event of events) {
    if (event.finish !== undefined) usage = usageOf(event.finish);
    else if ("ending" in event) {
      const finish = event.ending === "length" ? "length" : "stop";
      yield chunk([{ index: event.index, text: "", logprobs: null, finish_reason: finish }]);
    } else {
      const { index, scored } = event;
      const text = event.parts.map((part) => ("content" in part ? part.content : "")).join("");
      const offset = lengths.get(index) ?? 0;
      const logprobs = scored === undefined ? null : await completionLogprobs(scored, offset, tokenizer);
      lengths.set(index, offset + text.length);
      if (text !== "" || logprobs !== null) yield chunk([{ index, text, logprobs, finish_reason: null }]);
    }
  }
  if (includesUsage) yield { ...chunk([]), usage };
  return usage;
}

/** Joins parts into whole continuations. */
export async function wholeCompletion(
  chunks: AsyncGenerator<Completion, Usage, void>,
  head: ResponseHead,
): Promise<Completion> {
  const choices: Completion["choices"] = [];
  let next = await chunks.next();
  for (; next.done !== true; next = await chunks.next()) {
    for (const { index, text, logprobs, finish_reason: finish } of next.value.choices) {
      const choice = (choices[index] ??= { index, text: "", logprobs: null, finish_reason: null });
      choice.text += text;
      choice.logprobs = joined(choice.logprobs, logprobs);
      choice.finish_reason = finish ?? choice.finish_reason;
    }
  }
  return { ...head, object: "text_completion", choices, usage: next.value };
}
