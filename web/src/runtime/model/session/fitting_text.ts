// What a session takes in: text to read, and saved sessions. Both must fit in its context.
import * as advise from "../../../core/base/advice.js";
import { count } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import { tokenIds } from "../../../core/base/lists.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import { TextReader } from "../run/text_reader.js";
import { type AdaptersInUse, withAdapters } from "../run/adapters_in_use.js";
import type { CallQueue } from "./call_queue.js";
import { readSession } from "./image.js";
import type { RestoredRope } from "./options.js";
import { makeRoom } from "./supported_length.js";
import type { SessionText } from "./text.js";

/** The tokens of text or token ids to append. Throws CACHE_FULL. */
async function tokensToRead(text: SessionText, reader: TextReader, given: string | Int32Array): Promise<Int32Array> {
  const { length, contextLength } = text;
  const limit = { tokens: contextLength - length, cuts: false };
  const read = typeof given === "string" ? await reader.text(given, { special: length === 0 }, limit) : undefined;
  const tokens = read?.ids ?? (given as Int32Array);
  const least = read?.least ?? tokens.length;
  const number = read?.isWhole === false ? `${least} or more` : String(least);
  if (read?.isWhole === false || length + tokens.length > contextLength)
    fail(
      "CACHE_FULL",
      "tokens",
      length === 0
        ? `${number} tokens don't fit into a context of ${contextLength}`
        : `${number} more tokens don't fit: ${length} of ${contextLength} are used`,
      makeRoom(text.core.plan.config, length, contextLength),
    );
  return tokens;
}

/** What reads the text of a session. @internal */
export interface Reading {
  readonly queue: CallQueue;
  readonly text: SessionText;
  readonly tokenizer: Tokenizer;
}

/** Reads text or token ids, after the calls before it. Throws INVALID_ARGUMENT, CACHE_FULL. @internal */
export async function readMore<T>(
  call: string,
  { queue, text, tokenizer }: Reading,
  input: string | Iterable<number>,
  signal: AbortSignal | undefined,
  read: (tokens: Int32Array) => Promise<T>,
): Promise<T> {
  const given = typeof input === "string" ? input : tokenIds(input, text.core.vocabularySize, "tokens");
  return queue.run(call, "change", signal, async () => {
    const tokens = await tokensToRead(text, new TextReader(tokenizer, signal), given);
    const result = await read(tokens);
    if (tokens.length > 1) text.keepCheckpoint(); // a copy for each of many single tokens would take long, and push out the others
    return result;
  });
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
      makeRoom(text.core.plan.config, 0, text.contextLength),
    );
  text.restore(saved, images, rope);
}
