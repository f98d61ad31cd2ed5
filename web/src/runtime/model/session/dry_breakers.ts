// The tokens that end a repeat, for the DRY penalty.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import { quote } from "../../../core/base/show.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import { textOf } from "./token_text.js";

/** As in llama.cpp. */
const BREAKERS: readonly string[] = ["\n", ":", '"', "*"];

/** Texts of the tokens of a vocabulary. Decoding a large one takes a tenth of a second. */
const texts = new WeakMap<Tokenizer, readonly string[]>();

/**
 * The tokens whose text contains one of these texts, or one of the default ones. Throws INVALID_ARGUMENT for a given
 * text that no token contains, because it would end no repeat.
 * @internal
 */
export function breakingTokens(tokenizer: Tokenizer, given: readonly string[] | undefined): Int32Array {
  const tokens =
    texts.get(tokenizer) ?? Array.from({ length: tokenizer.vocabularySize }, (_, id) => textOf(tokenizer, id));
  texts.set(tokenizer, tokens);
  const useless = given?.findIndex((breaker) => !tokens.some((text) => text.includes(breaker))) ?? -1;
  if (useless >= 0)
    fail(
      "INVALID_ARGUMENT",
      `dry.breakers[${useless}]`,
      `${quote(given![useless]!)} isn't part of any token of this model, so it would end no repeat`,
      advise.other("use a shorter text"),
    );
  const breakers = given ?? BREAKERS;
  return Int32Array.from(
    tokens.flatMap((text, id) => (breakers.some((breaker) => text.includes(breaker)) ? [id] : [])),
  );
}
