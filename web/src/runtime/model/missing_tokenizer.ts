// The tokenizer of a model without tokenizer files.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import { fieldOf, named } from "../files/errors.js";
import type { ModelFiles } from "../files/model_files.js";
import type { Tokenizer } from "../text/tokenizer.js";

/** What helps without a tokenizer. @internal */
export const WITHOUT_TOKENIZER = [advise.prompt({ as: "token ids" }), advise.load({ option: "tokenizer" })];

/**
 * Stands in for a missing tokenizer: token ids work as prompts, text is rejected with UNSUPPORTED_MODEL, and generated
 * pieces have empty text.
 * @internal
 */
export function missingTokenizer({ kind, name }: Pick<ModelFiles, "kind" | "name">, vocabularySize: number): Tokenizer {
  const refuse = (): never => {
    if (kind === "safetensors")
      fail(
        "UNSUPPORTED_MODEL",
        "tokenizer.json: file",
        `isn't beside ${named(name)}`,
        advise.either(advise.other("add the one of the model's repository"), ...WITHOUT_TOKENIZER),
      );
    fail(
      "UNSUPPORTED_MODEL",
      fieldOf(name, "tokenizer"),
      "the model has no tokenizer",
      advise.either(...WITHOUT_TOKENIZER),
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
    bytes: refuse,
    idOf: () => undefined,
    isSpecial: () => false,
  };
}
