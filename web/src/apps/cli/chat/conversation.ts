// A chat: its messages, and the session that has read them.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import { commonLength } from "../../../core/base/lists.js";
import {
  type ChatMessage,
  type FinishReason,
  type FullPolicy,
  type Model,
  type RestoredRope,
  type SamplingOptions,
  type Session,
  type SessionOptions,
} from "../../../index.node.js";
import { type Speed, speedOf } from "../format.js";
import type { SavedChat } from "./saved_chat.js";

/** Options for generating answers. */
export interface AnswerOptions extends SamplingOptions {
  /** Maximum number of tokens in an answer. */
  maxTokens: number;
  whenFull: FullPolicy;
}

/** What a chat that was saved goes on with. */
export interface ContinuedWith {
  rope: RestoredRope;
  keepsLength: boolean;
}

/** An answer of the model, with its statistics. */
export interface Answer {
  text: string;
  finish: FinishReason | "interrupted";
  /** Prompt tokens that were read. Tokens that the session already had aren't read again. */
  prompt: Speed;
  generation: Speed;
  /** Number of old messages that were removed to make room. */
  removed: number;
}

/** The messages of a chat, and the session that has read them. */
export class Conversation {
  readonly session: Session;
  /** Context length of the session when the chat began. */
  readonly startLength: number;
  #messages: ChatMessage[];
  /** The system message, which is never removed. */
  readonly #system: readonly ChatMessage[];

  readonly #read: (messages: readonly ChatMessage[]) => Promise<Int32Array>;

  /** @param read - the token ids of messages */
  constructor(
    model: Model,
    system: string | undefined,
    options: SessionOptions,
    read: (messages: readonly ChatMessage[]) => Promise<Int32Array>,
  ) {
    this.#read = read;
    this.#system = system === undefined ? [] : [{ role: "system", content: system }];
    this.#messages = [...this.#system];
    this.session = model.session(options);
    this.startLength = this.session.contextLength;
  }

  /** Messages, oldest first. */
  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /** Removes all messages but the system message. */
  reset(): void {
    this.#messages = [...this.#system];
    this.session.rewind(0);
  }

  /**
   * Replaces the messages by saved ones. Throws as {@link Session.restore}; the chat is then unchanged.
   * @param rope - the RoPE that goes on: the saved one, or the model's
   * @param keepsLength - whether the context length stays. Else a context that was extended before the chat was saved is as long again.
   */
  restore(
    { messages, contextLength: saved, session: bytes }: Omit<SavedChat, "model">,
    { rope, keepsLength }: ContinuedWith,
  ): void {
    const { contextLength: before } = this.session;
    const contextLength = keepsLength ? before : Math.max(saved, before);
    if (contextLength > before) this.session.retune({}, { contextLength });
    try {
      this.session.restore(bytes, { rope });
    } catch (error) {
      if (contextLength > before) this.session.retune({}, { contextLength: before });
      throw error;
    }
    this.#messages = messages;
  }

  /**
   * Sends a message and generates an answer. After an abort, the partial answer stays in the chat. On failure the
   * message is removed again.
   * @param write - called with each piece of the answer
   */
  async answer(
    content: string,
    options: AnswerOptions,
    signal: AbortSignal,
    write: (text: string) => void,
  ): Promise<Answer> {
    const before = this.#messages;
    this.#messages = [...before, { role: "user", content }];
    let [text, count]: [string, number] = ["", 0];
    let finish: Answer["finish"] = "length";
    let removed = 0;
    const start = performance.now();
    let [promptEnd, promptTokens] = [start, 0];
    try {
      const prompt = await this.#fittingPrompt(options.whenFull);
      removed = before.length + 1 - this.#messages.length;
      const cached = commonLength(this.session.tokens, prompt);
      promptTokens = prompt.length - cached;
      this.session.rewind(cached);
      await this.session.append(prompt.subarray(cached), { signal });
      promptEnd = performance.now();
      for await (const piece of this.session.generate({ ...options, signal })) {
        write(piece.text);
        text += piece.text;
        count += 1;
        finish = piece.finish ?? finish;
      }
    } catch (error) {
      if (!signal.aborted || count === 0) this.#messages = before;
      if (!signal.aborted) throw error;
      finish = "interrupted";
    }
    if (count > 0) this.#messages.push({ role: "assistant", content: text });
    const end = performance.now();
    return {
      text,
      finish,
      prompt: speedOf(promptTokens, promptEnd - start),
      generation: speedOf(count, end - promptEnd),
      removed,
    };
  }

  /** The tokens of all messages. If they don't fit, applies the policy. */
  async #fittingPrompt(policy: FullPolicy): Promise<Int32Array> {
    for (;;) {
      const prompt = await this.#read(this.#messages);
      if (prompt.length < this.session.contextLength) return prompt;
      if (policy === "extend") {
        this.session.extend();
        continue;
      }
      const first = this.#system.length;
      if (policy === "stop" || this.#messages.length <= first + 1) {
        const advice =
          policy === "stop"
            ? "type /reset, or /retune yarn:2 to make room"
            : "send a shorter message, or use a larger --context";
        fail(
          "CACHE_FULL",
          "chat",
          `has ${prompt.length} tokens, but the context length is ${this.session.contextLength}`,
          advise.other(advice),
        );
      }
      this.#messages = [...this.#system, ...this.#messages.slice(first + 2)]; // removes the oldest message and its answer
    }
  }
}
