import { RopewalkError } from "../base/errors.js";
import type { Tokenizer } from "../text/tokenizer.js";

/**
 * Stands in where a model's files have no tokenizer: tokens go in and out as numbers, and text is refused.
 * @internal
 */
export function tokenless(file: string, vocabularySize: number): Tokenizer {
  const refuse = (): never => {
    throw new RopewalkError(
      "UNSUPPORTED_MODEL",
      `${file}: tokenizer`,
      "is not there: give tokens as numbers, or the tokenizer as an option",
    );
  };
  return {
    vocabularySize,
    beginToken: undefined,
    endTokens: [],
    addsBegin: false,
    encode: refuse,
    decode: refuse,
    stream: () => ({ push: () => "", end: () => "" }),
    token: refuse,
    idOf: () => undefined,
    isSpecial: () => false,
  };
}
