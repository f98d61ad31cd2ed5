// Generates text token by token.
import { show } from "../base/show.js";
import { codeIn, wholeNumber } from "../base/checks.js";
import { fail } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import type { Tokenizer } from "../text/tokenizer.js";
import { EventLoopYielder } from "./event_loop.js";
import { logprobOf, mostProbable, Sampler, type SamplingOptions, type TokenProbability } from "./sampler.js";
import { StopStrings } from "./stop_strings.js";

/**
 * What to do when the context is full. `stop` ends the text. `shift` discards the older half of the tokens after the
 * first `keep`. `extend` doubles the context length with YaRN.
 */
export const FULL_POLICIES = ["stop", "shift", "extend"] as const;
/** One of {@link FULL_POLICIES}. */
export type FullPolicy = (typeof FULL_POLICIES)[number];

/** Options for generating text. */
export interface GenerateOptions extends SamplingOptions {
  /** Maximum number of tokens to generate, from 0. Default: as many as fit in the context. */
  maxTokens?: number;
  /** Stop strings. Generation ends when one appears; it isn't part of the text. */
  stop?: string | readonly string[];
  /** Ids of tokens that end the text, in addition to the model's end tokens. */
  stopTokens?: readonly number[];
  /** Whether to continue when the model generates an end token. Default: false. */
  ignoreEnd?: boolean;
  /** What to do when the context is full. Default: `stop`. */
  whenFull?: FullPolicy;
  /** Number of tokens at the beginning that `shift` keeps. Default: 4. */
  keep?: number;
  /** Number of most probable tokens to report with each piece, from 0. Default: 0. */
  logprobs?: number;
  /** Aborts between two tokens: the generator throws the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Why generation ended: `end` token of the model, `stop` string or token, `maxTokens` reached (`length`), or the
 * context is `full`.
 */
export type FinishReason = "end" | "stop" | "length" | "full";

/** A generated token and the text it adds. */
export interface Piece {
  /** Id of the token. */
  token: number;
  /**
   * Text since the last piece. It can be empty while a character is incomplete or the text may be the beginning of a
   * stop string.
   */
  text: string;
  /** ln p of the token, before temperature and the other sampling options are applied. */
  logprob: number;
  /** The most probable tokens at this place, if `logprobs` asks for them. */
  alternatives?: TokenProbability[];
  /** Set on the last piece. */
  finish?: FinishReason;
}

/** The part of a session that generation uses. @internal */
export interface GeneratingSession {
  readonly heap: Heap;
  readonly tokenizer: Tokenizer;
  readonly vocabularySize: number;
  readonly tokens: readonly number[];
  /** Address of the logits of the next token. */
  logits(): number;
  append(token: number): Promise<void>;
  isFull(): boolean;
  shift(keep: number): void;
  extend(): void;
}

/** Generates token by token. @internal */
export async function* generate(
  session: GeneratingSession,
  options: GenerateOptions,
): AsyncGenerator<Piece, void, void> {
  const { heap, tokenizer, vocabularySize: size } = session;
  const maxTokens = wholeNumber(options.maxTokens ?? 2 ** 30, 0, 2 ** 30, "maxTokens");
  const alternatives = wholeNumber(options.logprobs ?? 0, 0, size, "logprobs");
  const keep = wholeNumber(options.keep ?? 4, 0, 2 ** 24, "keep");
  const policy = FULL_POLICIES[codeIn(FULL_POLICIES, options.whenFull ?? "stop", "whenFull")]!;
  const stops = new StopStrings(options.stop ?? []);
  const endTokens = new Set(options.ignoreEnd ? [] : tokenizer.endTokens);
  const stopTokens = new Set(checkTokens(options.stopTokens ?? []));
  const sampler = new Sampler(heap, options);
  const stream = tokenizer.stream({ continues: session.tokens.length > 0 });
  const yielder = new EventLoopYielder();
  try {
    for (let count = 1; count <= maxTokens; count++) {
      options.signal?.throwIfAborted();
      const logits = session.logits();
      const token = sampler.sample(logits, size, session.tokens);
      const piece: Piece = { token, text: "", logprob: logprobOf(heap, logits, size, token) };
      if (alternatives > 0) piece.alternatives = mostProbable(heap, logits, size, alternatives);
      if (endTokens.has(token) || stopTokens.has(token)) {
        yield { ...piece, text: stops.push(stream.end()) + stops.end(), finish: endTokens.has(token) ? "end" : "stop" };
        return;
      }
      if (session.isFull() && policy === "shift") session.shift(keep);
      if (session.isFull() && policy === "extend") session.extend();
      const isFull = session.isFull();
      if (!isFull) await session.append(token);
      piece.text = stops.push(stream.push(token));
      const finish = stops.isFound ? "stop" : isFull ? "full" : count === maxTokens ? "length" : undefined;
      if (finish !== undefined) {
        const rest = stops.isFound ? "" : stops.push(stream.end()) + stops.end();
        yield { ...piece, text: piece.text + rest, finish };
        return;
      }
      yield piece;
      await yielder.yieldIfDue();
    }
  } finally {
    sampler.dispose();
  }
}

function checkTokens(tokens: readonly number[]): readonly number[] {
  const wrong = tokens.find((token) => !Number.isInteger(token));
  if (wrong !== undefined) fail("INVALID_ARGUMENT", "stopTokens", `must be token ids (got ${show(wrong)})`);
  return tokens;
}
