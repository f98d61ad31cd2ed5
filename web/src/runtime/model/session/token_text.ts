// The text of a single token.
import type { Tokenizer } from "../../text/tokenizer.js";

/** Empty for an id that the vocabulary lacks: some models pad it with rows that no token uses. @internal */
export function textOf(tokenizer: Tokenizer, token: number): string {
  try {
    return tokenizer.decode([token], { skipSpecial: false, continues: true });
  } catch {
    return "";
  }
}
