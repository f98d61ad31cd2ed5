// Numbers of tokens in OpenAI's shape.
import type { TokenCounts } from "../serving/events.js";

/** Numbers of tokens. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  /** `cached_tokens` were known from the call before. */
  prompt_tokens_details: { cached_tokens: number };
  completion_tokens_details: { reasoning_tokens: number };
}

export function usageOf({ prompt, cached, generated, reasoning }: TokenCounts): Usage {
  return {
    prompt_tokens: prompt,
    completion_tokens: generated,
    total_tokens: prompt + generated,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
