// Probabilities of tokens in the shape of completions: lists side by side.
import type { ScoredToken } from "../serving/events.js";
import type { ServedTokenizer } from "../serving/served_model.js";
import { textOfToken } from "./chat_shapes.js";

/** Probabilities of a continuation's tokens: the lists have an entry for each token. */
export interface CompletionLogprobs {
  tokens: string[];
  token_logprobs: number[];
  /** The most probable tokens at each place. */
  top_logprobs: Record<string, number>[];
  /** Where each token begins in the continuation, in UTF-16 units. Tokens of a stop string begin where it would. */
  text_offset: number[];
}

/** The most tokens of a character, which has at most 4 bytes. */
const MAX_PARTS = 4;

/** Finds where the tokens of a continuation begin. The parts of a character begin where it does. Control tokens have no text. */
export class TokenPlaces {
  readonly #tokenizer: ServedTokenizer;
  #offset = 0;
  /** Tokens of a character that isn't complete. */
  #parts: number[] = [];

  constructor(tokenizer: ServedTokenizer) {
    this.#tokenizer = tokenizer;
  }

  /** Where the next token begins. */
  async next(token: number): Promise<number> {
    const offset = this.#offset;
    this.#parts.push(token);
    const text = await this.#tokenizer.decode(this.#parts, { continues: true });
    if (!text.endsWith("\uFFFD") || this.#parts.length >= MAX_PARTS) {
      this.#offset += text.length;
      this.#parts = [];
    }
    return offset;
  }
}

/** Those of one token. */
export async function completionLogprobs(
  { token, logprob, alternatives }: ScoredToken,
  offset: number,
  tokenizer: ServedTokenizer,
): Promise<CompletionLogprobs> {
  const others = await Promise.all(
    alternatives.map(async (other) => [await textOfToken(other.token, tokenizer), other.logprob] as const),
  );
  return {
    tokens: [await textOfToken(token, tokenizer)],
    token_logprobs: [logprob],
    top_logprobs: [Object.fromEntries(others.reverse())], // of tokens with the same text, such as parts of characters, the most probable
    text_offset: [offset],
  };
}

/** Lists one after the other. */
export function joined(a: CompletionLogprobs | null, b: CompletionLogprobs | null): CompletionLogprobs | null {
  if (a === null || b === null) return a ?? b;
  return {
    tokens: [...a.tokens, ...b.tokens],
    token_logprobs: [...a.token_logprobs, ...b.token_logprobs],
    top_logprobs: [...a.top_logprobs, ...b.top_logprobs],
    text_offset: [...a.text_offset, ...b.text_offset],
  };
}
