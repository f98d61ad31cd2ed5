// Completions: OpenAI's older shape, which continues a text as it is.
import { wholeNumber } from "../../core/base/checks.js";
import { fail } from "../../core/base/errors.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import { answerReader } from "../serving/calls/answer_reader.js";
import { answerFormat } from "../serving/calls/call_formats.js";
import { answerEvents, type AnswerEvent, type Generation, NO_TOKENS, type TokenCounts } from "../serving/events.js";
import { withFieldNames } from "../../core/base/field_names.js";
import type { ReadText } from "../../runtime/model/run/text_reader.js";
import { checkLength } from "../serving/prompt.js";
import type { ServedChats } from "../serving/options.js";
import type { PromptSessions, ServedCall } from "../serving/prompt_sessions.js";
import type { ServedModel, ServedTokenizer } from "../serving/served_model.js";
import type { ResponseHead } from "./chat_shapes.js";
import { type CompletionLogprobs, completionLogprobs, joined, TokenPlaces } from "./completion_logprobs.js";
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
  /** A text, token ids, or a list of either. The answers to one prompt follow each other. */
  prompt: string | readonly number[] | readonly (string | readonly number[])[];
  /** Default: 16, as OpenAI's. */
  max_tokens?: number | null;
  /** The most probable tokens at each place, 0 to 20. */
  logprobs?: number | null;
  /** Only 1: no answers are made to choose from. */
  best_of?: number | null;
  /** Only false: answers don't repeat the prompt. */
  echo?: boolean | null;
  /** Only empty: nothing is inserted into a text. */
  suffix?: string | null;
}

const FIELDS = optionNames<CompletionRequestFields>("completions.create()", {
  ...GENERATION_FIELDS,
  prompt: true,
  max_tokens: true,
  logprobs: true,
  best_of: true,
  echo: true,
  suffix: true,
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

/** A request for completions, checked. */
export interface CompletionRequest extends Pick<GenerationRequest, "isStream" | "includesUsage"> {
  /** One for each prompt. */
  readonly generations: readonly Generation[];
}

/** The most prompts of a request, as OpenAI's. */
const MAX_PROMPTS = 2048;

/** @throws UNKNOWN_KEY, INVALID_ARGUMENT, CACHE_FULL */
export async function readCompletionRequest(
  model: ServedModel,
  given: CompletionRequestFields,
  { parseSpecial }: Pick<ServedChats, "parseSpecial">,
  signal: AbortSignal | undefined,
): Promise<CompletionRequest> {
  const body = checkOptions(withoutNulls(given), FIELDS);
  const { prompt: _, max_tokens: limit = 16, logprobs, best_of: bestOf, echo, suffix, ...rest } = body;
  const { isStream, includesUsage, ...shared } = readGeneration(rest);
  const only = (field: string, value: string): never =>
    fail("INVALID_ARGUMENT", field, `must be ${value}, or left out`);
  if (bestOf !== undefined && bestOf !== 1) only("best_of", "1");
  if (echo !== undefined && echo !== false) only("echo", "false");
  if (suffix !== undefined && suffix !== "") only("suffix", "empty");
  const maxTokens = wholeNumber(limit, 1, 2 ** 30, "max_tokens");
  const alternatives = logprobs === undefined ? {} : { logprobs: wholeNumber(logprobs, 0, 20, "logprobs") };
  const generations: Generation[] = [];
  for (const { prompt, field } of promptsOf(given.prompt)) {
    const fieldOf = (option: string): string => shared.fieldOf(option.replace(/^(?:prompt|tokens)\b/, field));
    const read = await withFieldNames(fieldOf, () => readPrompt(model, prompt, parseSpecial, signal));
    if (read.ids.length === 0 && read.isWhole) fail("INVALID_ARGUMENT", field, "must have at least one token");
    const tokens = checkLength(model, read, field, "the prompt");
    generations.push({
      ...shared,
      fieldOf,
      prompt: tokens,
      begun: "",
      isParallel: true,
      options: { ...shared.options, maxTokens, ...alternatives },
      reader: () => answerReader(answerFormat(undefined), [], false),
    });
  }
  return { isStream, includesUsage, generations };
}

async function readPrompt(
  model: ServedModel,
  prompt: OnePrompt,
  parseSpecial: boolean,
  signal: AbortSignal | undefined,
): Promise<ReadText> {
  signal?.throwIfAborted();
  if (typeof prompt === "string") return model.writtenTokens({ text: prompt, parseSpecial }, signal && { signal });
  const ids = await model.promptTokens(prompt);
  return { ids, least: ids.length, isWhole: true };
}

type OnePrompt = string | readonly number[];

/** The prompts, with the paths that errors name. */
function promptsOf(given: unknown): { prompt: OnePrompt; field: string }[] {
  const refuse = (field: string, value: unknown): never =>
    fail("INVALID_ARGUMENT", field, `must be a text, token ids, or a list of either (got ${show(value)})`);
  const isOne = (value: unknown): value is OnePrompt =>
    typeof value === "string" || (Array.isArray(value) && value.every(Number.isInteger));
  const isList = Array.isArray(given) && given.length > 0;
  if (isOne(given)) return [{ prompt: given, field: "prompt" }];
  if (!isList) return refuse("prompt", given);
  if (given.length > MAX_PROMPTS) fail("INVALID_ARGUMENT", "prompt", `must be at most ${MAX_PROMPTS} prompts`);
  return given.map((prompt: unknown, i) => {
    const field = `prompt[${i}]`;
    return isOne(prompt) ? { prompt, field } : refuse(field, prompt);
  });
}

/** The events of the answers to each prompt in turn. The answers to the second prompt have the indices after those to the first. */
export async function* completionEvents(
  prompts: PromptSessions,
  generations: readonly Generation[],
  call: ServedCall,
): AsyncGenerator<AnswerEvent, void, void> {
  let finish = NO_TOKENS;
  for (const [i, generation] of generations.entries()) {
    for await (const event of answerEvents(prompts, generation, call))
      if (event.finish === undefined) yield { ...event, index: i * generation.count + event.index };
      else finish = sum(finish, event.finish);
  }
  yield { finish };
}

function sum(a: TokenCounts, b: TokenCounts): TokenCounts {
  return {
    prompt: a.prompt + b.prompt,
    cached: a.cached + b.cached,
    generated: a.generated + b.generated,
    reasoning: a.reasoning + b.reasoning,
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
  const places = new Map<number, TokenPlaces>();
  for await (const event of events) {
    if (event.finish !== undefined) usage = usageOf(event.finish);
    else if ("ending" in event) {
      const finish = event.ending === "length" ? "length" : "stop";
      yield chunk([{ index: event.index, text: "", logprobs: null, finish_reason: finish }]);
    } else {
      const { index, scored } = event;
      const text = event.parts.map((part) => ("content" in part ? part.content : "")).join("");
      let logprobs: CompletionLogprobs | null = null;
      if (scored !== undefined) {
        if (!places.has(index)) places.set(index, new TokenPlaces(tokenizer));
        logprobs = await completionLogprobs(scored, await places.get(index)!.next(scored.token), tokenizer);
      }
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
