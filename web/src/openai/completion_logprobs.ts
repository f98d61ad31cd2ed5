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
  /** Where each token begins in the continuation, in UTF-16 units. */
  text_offset: number[];
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
