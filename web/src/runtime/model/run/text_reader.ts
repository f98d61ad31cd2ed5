// Encodes texts without holding the thread: other tasks run in between, and a signal ends it.
import type { EncodingLimit } from "../../text/encoding_steps.js";
import type { PromptPiece } from "../../text/chat/control_tokens.js";
import { encodeChat, type Tokenizer } from "../../text/tokenizer.js";
import type { EncodeOptions, LimitedInput, VocabularyTokenizer } from "../../text/vocabulary_tokenizer.js";
import { EventLoopYielder } from "./event_loop.js";

/** What of a tokenizer encodes in steps. The one that stands in for a missing tokenizer has none of it, and refuses texts. */
type Stepping = Partial<Pick<VocabularyTokenizer, "encodeSteps" | "encodeChatSteps">>;

/** Token ids of a text, and the number that it has at least: more than `ids` if it is far over a limit. @internal */
export type ReadText = Omit<LimitedInput, "typeIds">;

/** Encodes texts one after the other. @internal */
export class TextReader {
  readonly #tokenizer: Tokenizer & Stepping;
  readonly #signal: AbortSignal | undefined;
  readonly #yielder = new EventLoopYielder();

  /** @param signal - rejects what it reads with its reason */
  constructor(tokenizer: Tokenizer, signal: AbortSignal | undefined) {
    this.#tokenizer = tokenizer;
    this.#signal = signal;
  }

  async text(text: string, options?: EncodeOptions, limit?: EncodingLimit): Promise<ReadText> {
    const tokenizer = this.#tokenizer;
    return tokenizer.encodeSteps === undefined
      ? whole(tokenizer.encode(text, options))
      : this.#finish(tokenizer.encodeSteps([text], options, limit));
  }

  async pair(first: string, second: string, limit?: EncodingLimit): Promise<LimitedInput> {
    const tokenizer = this.#tokenizer;
    if (tokenizer.encodeSteps !== undefined)
      return this.#finish(tokenizer.encodeSteps([first, second], undefined, limit));
    const { ids, typeIds } = tokenizer.encodePair(first, second);
    return { typeIds, ...whole(ids) };
  }

  async chat(chat: string | readonly PromptPiece[], limit?: EncodingLimit): Promise<ReadText> {
    const tokenizer = this.#tokenizer;
    return tokenizer.encodeChatSteps === undefined
      ? whole(encodeChat(tokenizer, chat))
      : this.#finish(tokenizer.encodeChatSteps(chat, limit));
  }

  /** Lets other tasks run if it's time. Call it between texts too. */
  async pause(): Promise<void> {
    await this.#yielder.yieldIfDue();
    this.#signal?.throwIfAborted();
  }

  async #finish<T>(steps: Generator<void, T, void>): Promise<T> {
    for (;;) {
      await this.pause();
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }
}

function whole(ids: Int32Array): ReadText {
  return { ids, least: ids.length, isWhole: true };
}
