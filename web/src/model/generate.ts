import { codeIn, wholeNumber } from "../base/checks.js";
import { RopewalkError } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import type { Tokenizer } from "../text/tokenizer.js";
import { Turns } from "./breathe.js";
import { logprobOf, mostProbable, Sampler, type SamplingOptions, type TokenProbability } from "./sampler.js";
import { StopStrings } from "./stop_strings.js";

/** What happens when the context is full: end there; take out the older half, after the first `keep` tokens; or stretch the RoPE to twice the length. */
export const FULL_POLICIES = ["stop", "shift", "extend"] as const;
/** One of {@link FULL_POLICIES}. */
export type FullPolicy = (typeof FULL_POLICIES)[number];

/** How a text goes on. */
export interface GenerateOptions extends SamplingOptions {
  /** Tokens at most, from 0 (as many as fit). */
  maxTokens?: number;
  /** Texts that end it; they are not part of what is yielded. */
  stop?: string | readonly string[];
  /** Tokens that end it, beside those that the model ends with. */
  stopTokens?: readonly number[];
  /** Whether to go on past the model's own end (false). */
  ignoreEnd?: boolean;
  /** What happens when the context is full (`stop`). */
  whenFull?: FullPolicy;
  /** Tokens at the beginning that `shift` keeps (4). */
  keep?: number;
  /** How many alternatives to tell with each token, from 0 (0). */
  logprobs?: number;
  /** Gives up between two tokens, by its reason. */
  signal?: AbortSignal;
}

/** Why a text ended: the model's end token; a stop string or token; `maxTokens`; a full context. */
export type FinishReason = "end" | "stop" | "length" | "full";

/** A token, and what it adds to the text. */
export interface Piece {
  /** The token's id. */
  token: number;
  /** What is certain of the text since the last piece; may be empty, where a character or a stop string may still be coming. */
  text: string;
  /** ln p of the token, before temperature and the rest. */
  logprob: number;
  /** The most probable tokens instead, where `logprobs` asks for them. */
  alternatives?: TokenProbability[];
  /** Set on the last piece. */
  finish?: FinishReason;
}

/** What generation needs of a session. @internal */
export interface Continuation {
  readonly heap: Heap;
  readonly tokenizer: Tokenizer;
  readonly vocabularySize: number;
  readonly tokens: readonly number[];
  logits(): number;
  take(token: number): Promise<void>;
  isFull(): boolean;
  shift(keep: number): void;
  extend(): void;
}

/** Goes on token by token. @internal */
export async function* generate(session: Continuation, options: GenerateOptions): AsyncGenerator<Piece, void, void> {
  const { heap, tokenizer, vocabularySize: size } = session;
  const maxTokens = wholeNumber(options.maxTokens ?? 2 ** 30, 0, 2 ** 30, "maxTokens");
  const alternatives = wholeNumber(options.logprobs ?? 0, 0, size, "logprobs");
  const keep = wholeNumber(options.keep ?? 4, 0, 2 ** 24, "keep");
  const policy = FULL_POLICIES[codeIn(FULL_POLICIES, options.whenFull ?? "stop", "whenFull")]!;
  const stops = new StopStrings(options.stop ?? []);
  const ends = new Set(options.ignoreEnd ? [] : tokenizer.endTokens);
  const stopTokens = new Set(checkTokens(options.stopTokens ?? []));
  const sampler = new Sampler(heap, options);
  const stream = tokenizer.stream({ continues: session.tokens.length > 0 });
  const turns = new Turns();
  try {
    for (let count = 1; count <= maxTokens; count++) {
      options.signal?.throwIfAborted();
      const logits = session.logits();
      const token = sampler.sample(logits, size, session.tokens);
      const piece: Piece = { token, text: "", logprob: logprobOf(heap, logits, size, token) };
      if (alternatives > 0) piece.alternatives = mostProbable(heap, logits, size, alternatives);
      if (ends.has(token) || stopTokens.has(token)) {
        yield { ...piece, text: stops.push(stream.end()) + stops.end(), finish: ends.has(token) ? "end" : "stop" };
        return;
      }
      if (session.isFull() && policy === "shift") session.shift(keep);
      if (session.isFull() && policy === "extend") session.extend();
      const isFull = session.isFull();
      if (!isFull) await session.take(token);
      piece.text = stops.push(stream.push(token));
      const finish = stops.isMet ? "stop" : isFull ? "full" : count === maxTokens ? "length" : undefined;
      if (finish !== undefined) {
        const rest = stops.isMet ? "" : stops.push(stream.end()) + stops.end();
        yield { ...piece, text: piece.text + rest, finish };
        return;
      }
      yield piece;
      await turns.give();
    }
  } finally {
    sampler.dispose();
  }
}

function checkTokens(tokens: readonly number[]): readonly number[] {
  const wrong = tokens.find((token) => !Number.isInteger(token));
  if (wrong !== undefined)
    throw new RopewalkError("INVALID_ARGUMENT", "stopTokens", `must be token ids (got ${String(wrong)})`);
  return tokens;
}
