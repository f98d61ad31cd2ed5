// What a session takes in: text to read, and saved sessions. Both must fit in its context.
import * as advise from "../../../core/base/advice.js";
import { count } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import { type AdaptersInUse, withAdapters } from "../run/adapters_in_use.js";
import { readSession } from "./image.js";
import type { RestoredRope } from "./options.js";
import type { SessionText } from "./text.js";

const LARGER = advise.raise({ option: "contextLength" });

/** The tokens of text or token ids to append. Throws CACHE_FULL. @internal */
export function tokensToRead(text: SessionText, tokenizer: Tokenizer, given: string | Int32Array): Int32Array {
  const { length, contextLength } = text;
  const tokens = typeof given === "string" ? tokenizer.encode(given, { special: length === 0 }) : given;
  if (length + tokens.length > contextLength)
    fail(
      "CACHE_FULL",
      "tokens",
      length === 0
        ? `${tokens.length} tokens don't fit into a context of ${contextLength}`
        : `${tokens.length} more tokens don't fit: ${length} of ${contextLength} are used`,
      length === 0 ? LARGER : advise.either(advise.call({ calls: ["shift", "rewind"] }), LARGER),
    );
  return tokens;
}

/** As Session.useAdapters(). @internal */
export function setAdapters(text: SessionText, adapters: AdaptersInUse): void {
  text.checkAlive();
  if (text.length > 0)
    fail(
      "INVALID_ARGUMENT",
      "adapters",
      `can't change: the session has ${count(text.length, "token")} computed with other adapters`,
      advise.either(advise.code("call rewind(0) first"), advise.other("make a new session")),
    );
  text.freshMemory().adapters = adapters;
}

/** As Session.restore(). @internal */
export function restoreText(text: SessionText, bytes: Uint8Array, rope: RestoredRope): void {
  const { images, ...saved } = readSession(bytes, {
    fingerprint: withAdapters(text.core.fingerprint, text.adapters),
    vocabularySize: text.core.vocabularySize,
    ropeGroups: text.ropes.requested.length,
  });
  const { length } = saved.tokens;
  if (length > text.contextLength)
    fail(
      "CACHE_FULL",
      "bytes",
      `the session has ${count(length, "token")}, but the context length is ${text.contextLength}`,
      LARGER,
    );
  text.restore(saved, images, rope);
}
