// The whole result of a generation.
import type { FinishReason, Piece } from "./session/generate.js";
import type { ModelGenerateOptions } from "./session/options.js";

/** What `model.complete()` returns. */
export interface Completion {
  /** The generated text. */
  text: string;
  /** Why it ended. */
  finish: FinishReason;
  /**
   * Ids of all generated tokens, with the one that ended the text: as many as a usage report counts. The prompt has
   * `(await model.promptTokens(prompt)).length` tokens.
   */
  tokens: number[];
}

/** Joins the pieces that `generate` makes. @internal */
export async function completionOf(
  options: ModelGenerateOptions,
  generate: (options: ModelGenerateOptions) => AsyncGenerator<Piece, void, void>,
): Promise<Completion> {
  const all: Completion = { text: "", finish: "length", tokens: [] }; // maxTokens: 0 makes no piece
  for await (const { text, token, finish } of generate(options)) {
    all.text += text;
    all.tokens.push(token);
    all.finish = finish ?? all.finish;
  }
  return all;
}
