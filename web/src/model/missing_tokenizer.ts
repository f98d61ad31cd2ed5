// The tokenizer of a model without tokenizer files.
import { fail } from "../base/errors.js";
import type { Tokenizer } from "../text/tokenizer.js";

/**
 * Stands in for a missing tokenizer: token ids work as prompts, text is rejected with UNSUPPORTED_MODEL, and generated
 * pieces have empty text.
 * @internal
 */
export function missingTokenizer(file: string, vocabularySize: number): Tokenizer {
  const refuse = (): never => {
    fail(
      "UNSUPPORTED_MODEL",
      `${file}: tokenizer`,
      "the model has no tokenizer; pass token ids, or pass a tokenizer with the option `tokenizer`",
    );
  };
  return {
    vocabularySize,
    beginToken: undefined,
    endTokens: [],
    addsBegin: false,
    encode: refuse,
    encodePair: refuse,
    decode: refuse,
    stream: () => ({ push: () => "", end: () => "" }),
    token: refuse,
    idOf: () => undefined,
    isSpecial: () => false,
  };
}
