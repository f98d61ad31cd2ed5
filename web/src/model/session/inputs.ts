// What a session takes in: text to read, and saved sessions. Both must fit in its context.
import { count } from "../../base/checks.js";
import { fail } from "../../base/errors.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import { readSession } from "./image.js";
import type { SessionText } from "./text.js";

/** The tokens of text or token ids to append. Throws CACHE_FULL. @internal */
export function tokensToRead(text: SessionText, tokenizer: Tokenizer, given: string | Int32Array): Int32Array {
  const { length, contextLength } = text;
  const tokens = typeof given === "string" ? tokenizer.encode(given, { special: length === 0 }) : given;
  if (length + tokens.length > contextLength)
    fail(
      "CACHE_FULL",
      "tokens",
      `${tokens.length} more tokens don't fit: ${length} of ${contextLength} are used; call shift() or rewind(), or use a larger contextLength`,
    );
  return tokens;
}

/** As Session.restore(). @internal */
export function restoreText(text: SessionText, bytes: Uint8Array): void {
  const { images, ...saved } = readSession(bytes, {
    fingerprint: text.core.fingerprint,
    vocabularySize: text.core.vocabularySize,
    ropeGroups: text.ropeGroups,
  });
  const { length } = saved.tokens;
  if (length > text.contextLength)
    fail(
      "CACHE_FULL",
      "bytes",
      `have ${count(length, "token")}, but the context length is ${text.contextLength}; use a session with a larger contextLength`,
    );
  text.restore(saved, images);
}
