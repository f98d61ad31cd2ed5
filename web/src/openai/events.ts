// From a prompt to events: what a model generates, one answer after the other.
import { StopStrings } from "../model/session/stop_strings.js";
import type { Model } from "../model/model.js";
import type { FinishReason } from "../model/session/generate.js";
import type { GenerateOptions } from "../model/session/options.js";
import type { TokenProbability } from "../model/session/sampler.js";
import type { AnswerPart, AnswerReader } from "./calls/answer_reader.js";
import type { PromptSession } from "./prompt_session.js";

/** A generated token with its probability. */
export interface ScoredToken {
  readonly token: number;
  readonly logprob: number;
  readonly alternatives: readonly TokenProbability[];
}

/** What happens in an answer. `index` is that of the answer. */
export type AnswerEvent =
  | { readonly index: number; readonly parts: readonly AnswerPart[]; readonly scored: ScoredToken | undefined }
  | { readonly index: number; readonly finish: "stop" | "length" | "tool_calls" };

/** Numbers of tokens. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
}

/** What to generate. */
export interface Generation {
  readonly prompt: Int32Array;
  /** What the answer has already said at the end of the prompt. */
  readonly begun: string;
  readonly count: number;
  readonly stop: readonly string[];
  readonly options: GenerateOptions;
  /** False: an answer ends with its first call. */
  readonly isParallel: boolean;
  readonly reader: () => AnswerReader;
}

/** Generates the answers. Returns the usage. */
export async function* answerEvents(
  model: Model,
  prompts: PromptSession,
  generation: Generation,
  signal: AbortSignal | undefined,
): AsyncGenerator<AnswerEvent, Usage, void> {
  const endTurn = await prompts.turn(signal);
  try {
    const { prompt, count, options } = generation;
    const { session, cached } = await prompts.read(prompt, signal);
    let generated = 0;
    for (let index = 0; index < count; index++) {
      const isLast = index === count - 1;
      const answering = isLast ? session : session.fork();
      const seed = options.seed === undefined ? {} : { seed: options.seed + index };
      try {
        const pieces = answering.generate({ ...options, ...seed, ...(signal && { signal }) });
        generated += yield* oneAnswer(model, pieces, generation, index);
      } finally {
        if (!isLast) answering.dispose();
      }
    }
    return {
      prompt_tokens: prompt.length,
      completion_tokens: generated,
      total_tokens: prompt.length + generated,
      prompt_tokens_details: { cached_tokens: cached },
    };
  } finally {
    endTurn();
  }
}

/** Returns the number of tokens. */
async function* oneAnswer(
  { tokenizer }: Model,
  pieces: ReturnType<ReturnType<Model["session"]>["generate"]>,
  { stop, reader: newReader, begun, isParallel, options }: Generation,
  index: number,
): AsyncGenerator<AnswerEvent, number, void> {
  const reader = newReader();
  const stops = new StopStrings(stop);
  // markers of calls are special tokens in many vocabularies, which the pieces leave out
  const stream = tokenizer.stream({ continues: true, skipSpecial: false });
  const hasScores = options.logprobs !== undefined;
  let [count, calls] = [0, 0];
  let finish: FinishReason = "length";
  const wanted = (parts: AnswerPart[]): AnswerPart[] =>
    parts.filter((part) => !("call" in part) || (calls += 1) === 1 || isParallel);
  const first = wanted(reader.push(begun));
  if (first.length > 0) yield { index, parts: first, scored: undefined };
  for await (const { token, logprob, alternatives = [], finish: ended } of pieces) {
    count += 1;
    finish = ended ?? finish;
    if (ended === "end") break;
    const parts = wanted(reader.push(stops.push(stream.push(token))));
    const scored = hasScores && !reader.isInCall && !stops.isFound ? { token, logprob, alternatives } : undefined;
    if (parts.length > 0 || scored !== undefined) yield { index, parts, scored };
    if (stops.isFound || (calls > 0 && !isParallel)) {
      finish = "stop";
      break;
    }
  }
  const rest = stops.isFound ? [] : reader.push(stops.push(stream.end()) + stops.end());
  const parts = wanted([...rest, ...reader.end()]);
  if (parts.length > 0) yield { index, parts, scored: undefined };
  const isCut = finish === "length" || finish === "full";
  yield { index, finish: isCut ? "length" : calls > 0 ? "tool_calls" : "stop" };
  return count;
}
