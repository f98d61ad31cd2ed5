// From a prompt to events: what a model generates, one answer after the other.
import type { FinishReason, Piece } from "../../runtime/model/session/generate.js";
import type { GenerateOptions } from "../../runtime/model/session/options.js";
import type { TokenProbability } from "../../runtime/model/session/sampler.js";
import type { AnswerPart, AnswerReader } from "./calls/answer_part.js";
import { type FieldNames, renamed } from "../../core/base/field_names.js";
import { seedOfText } from "../../runtime/model/several_texts.js";
import type { PromptSessions, ReadPrompt, ServedCall } from "./prompt_sessions.js";
import type { ServedSession } from "./served_model.js";

/** A generated token with its probability. */
export interface ScoredToken {
  readonly token: number;
  readonly logprob: number;
  readonly alternatives: readonly TokenProbability[];
}

/** Why an answer ended. */
export type Ending = "stop" | "length" | "tool_calls";

/** What happens in an answer, whose number is `index`. After all answers, the last event has the numbers of tokens. */
export type AnswerEvent =
  | {
      readonly index: number;
      readonly parts: readonly AnswerPart[];
      readonly scored: ScoredToken | undefined;
      readonly finish?: undefined;
    }
  | { readonly index: number; readonly ending: Ending; readonly finish?: undefined }
  | { readonly finish: TokenCounts };

/** Numbers of tokens. */
export interface TokenCounts {
  readonly prompt: number;
  /** Tokens of the prompt that the session had already. */
  readonly cached: number;
  readonly generated: number;
  /** Generated tokens that are reasoning. */
  readonly reasoning: number;
}

export const NO_TOKENS: TokenCounts = { prompt: 0, cached: 0, generated: 0, reasoning: 0 };

/** What to generate. */
export interface Generation {
  readonly prompt: Int32Array;
  /** Start of the answer that is part of the prompt. */
  readonly begun: string;
  readonly count: number;
  readonly options: GenerateOptions;
  /** False: an answer ends with its first call. */
  readonly isParallel: boolean;
  /** The names that the options have in the request. */
  readonly fieldOf: FieldNames;
  readonly reader: () => AnswerReader;
}

/** The most answers to a prompt that are generated at the same time. They share the steps of the model. */
const MAX_TOGETHER = 8;

/** Generates the answers, after the calls before. */
export function answerEvents(
  prompts: PromptSessions,
  generation: Generation,
  call: ServedCall,
): AsyncGenerator<AnswerEvent, void, void> {
  return prompts.inTurn(generation.prompt, call, (read) => allAnswers(read, generation, call.signal));
}

async function* allAnswers(
  read: ReadPrompt,
  generation: Generation,
  signal: AbortSignal | undefined,
): AsyncGenerator<AnswerEvent, void, void> {
  const { prompt, count, options } = generation;
  const { session, cached } = await read().catch((error: unknown) => {
    throw renamed(error, generation.fieldOf);
  });
  let [generated, reasoning] = [0, 0];
  for (let first = 0; first < count; first += MAX_TOGETHER) {
    const last = Math.min(first + MAX_TOGETHER, count) - 1;
    const forks: ServedSession[] = [];
    try {
      const answers: Answer[] = [];
      for (let index = first; index <= last; index++) {
        const answering = index === count - 1 ? session : await session.fork();
        if (answering !== session) forks.push(answering);
        const seed = options.seed === undefined ? {} : { seed: seedOfText(options.seed, index) };
        // markers of calls are special tokens in many vocabularies
        const pieces = answering.generate({ ...options, ...seed, marksSpecial: true, ...(signal && { signal }) });
        answers.push(oneAnswer(pieces, generation, index));
      }
      for (const counts of yield* inTurns(answers)) {
        generated += counts.generated;
        reasoning += counts.reasoning;
      }
    } catch (error) {
      throw renamed(error, generation.fieldOf);
    } finally {
      await Promise.all(forks.map(async (fork) => fork.dispose()));
    }
  }
  yield { finish: { prompt: prompt.length, cached, generated, reasoning } };
}

type Answer = AsyncGenerator<AnswerEvent, Pick<TokenCounts, "generated" | "reasoning">, void>;

/** Passes on the events of several answers, which run at the same time. Returns what they return. */
async function* inTurns(
  answers: readonly Answer[],
): AsyncGenerator<AnswerEvent, Pick<TokenCounts, "generated" | "reasoning">[], void> {
  const results: Pick<TokenCounts, "generated" | "reasoning">[] = [];
  let active = answers;
  try {
    while (active.length > 0) {
      // all are asked before any event is passed on, so that their tokens come in the same step
      const round = await Promise.all(active.map(async (answer) => ({ answer, next: await answer.next() })));
      active = round.filter(({ next }) => next.done !== true).map(({ answer }) => answer);
      for (const { next } of round)
        if (next.done === true) results.push(next.value);
        else yield next.value;
    }
    return results;
  } finally {
    await Promise.allSettled(active.map((answer) => answer.return({ generated: 0, reasoning: 0 })));
  }
}

async function* oneAnswer(
  pieces: AsyncGenerator<Piece, void, void>,
  { reader: newReader, begun, isParallel, options }: Generation,
  index: number,
): Answer {
  const reader = newReader();
  const calls = new CallCounter(isParallel);
  const hasScores = options.logprobs !== undefined;
  let [generated, reasoning] = [0, 0];
  let finish: FinishReason = "length";
  /** Tokens of text that may be a call or content. */
  let undecided: ScoredToken[] = [];
  const first = calls.wanted(reader.push(begun));
  if (first.length > 0) yield { index, parts: first, scored: undefined };
  for await (const { token, text, logprob, alternatives = [], finish: ended } of pieces) {
    generated += 1;
    finish = ended ?? finish;
    const parts = calls.wanted(reader.push(text));
    const { place } = reader;
    if (place === "reasoning") reasoning += 1;
    const isScored = hasScores && ended !== "end" && ended !== "stop";
    if (isScored && place !== "call") undecided.push({ token, logprob, alternatives });
    if (place === "call") undecided = [];
    const scored = place === "undecided" ? [] : undecided;
    if (parts.length > 0 || scored.length > 0) yield* scoredParts(index, parts, scored);
    if (place !== "undecided") undecided = [];
    if (calls.isEnough) {
      finish = "stop";
      break;
    }
  }
  const isFull = finish === "length" || finish === "full";
  const parts = calls.wanted(reader.end(isFull || finish === "stop"));
  const isContent = parts.some((part) => "content" in part);
  if (parts.length > 0) yield* scoredParts(index, parts, isContent ? undecided : []);
  yield { index, ending: isFull ? "length" : calls.begun > 0 ? "tool_calls" : "stop" };
  return { generated, reasoning };
}

/** Events of parts and of the tokens that they consist of. */
function* scoredParts(
  index: number,
  parts: readonly AnswerPart[],
  scored: readonly ScoredToken[],
): Generator<AnswerEvent, void, void> {
  yield { index, parts, scored: scored[0] };
  for (const token of scored.slice(1)) yield { index, parts: [], scored: token };
}

/** Counts the calls of an answer, and leaves out those after the first unless they may be parallel. */
class CallCounter {
  readonly #isParallel: boolean;
  begun = 0;
  #ended = 0;

  constructor(isParallel: boolean) {
    this.#isParallel = isParallel;
  }

  /** Whether to stop after this call. */
  get isEnough(): boolean {
    return !this.#isParallel && this.#ended > 0;
  }

  wanted(parts: readonly AnswerPart[]): AnswerPart[] {
    return parts.filter((part) => {
      if ("call" in part) this.begun += 1;
      else if ("isCallEnd" in part) this.#ended += 1;
      else if (!("arguments" in part)) return true;
      return this.#isParallel || this.begun <= 1;
    });
  }
}
