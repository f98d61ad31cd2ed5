import {
  type ChatMessage,
  type FinishReason,
  type FullPolicy,
  type Model,
  RopewalkError,
  type SamplingOptions,
  type Session,
} from "../../index.node.js";
import { type Speed, speedOf } from "../model_text.js";

/** How answers are made. */
export interface AnswerOptions extends SamplingOptions {
  /** Tokens of an answer at most. */
  maxTokens: number;
  whenFull: FullPolicy;
}

/** An answer of the model, and what it took. */
export interface Answer {
  text: string;
  finish: FinishReason | "interrupted";
  /** What had to be read for it: what the session held before is not read again. */
  prompt: Speed;
  generation: Speed;
  /** Messages that were forgotten for it, oldest first. */
  forgotten: number;
}

/** A chat: what was said, and a session that has read it. */
export class Conversation {
  readonly session: Session;
  readonly #model: Model;
  #messages: ChatMessage[];
  /** Leading messages that are never forgotten: the system's. */
  readonly #system: readonly ChatMessage[];

  constructor(model: Model, system: string | undefined) {
    this.#model = model;
    this.#system = system === undefined ? [] : [{ role: "system", content: system }];
    this.#messages = [...this.#system];
    this.session = model.session();
  }

  /** What was said, oldest first. */
  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /** Forgets all but the system's message. */
  reset(): void {
    this.#messages = [...this.#system];
    this.session.rewind(0);
  }

  /** Takes the place of what was said, by a session that has read it. Throws as {@link Session.restore}; all is then as it was. */
  restore(messages: ChatMessage[], bytes: Uint8Array): void {
    this.session.restore(bytes);
    this.#messages = messages;
  }

  /**
   * Says something and answers. What is given up by the signal stays said, as far as it went; on failure nothing was said.
   * @param write - called with each piece of the answer.
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
    let forgotten = 0;
    const start = performance.now();
    let [read, unread] = [start, 0];
    try {
      const prompt = await this.#fittingPrompt(options.whenFull);
      forgotten = before.length + 1 - this.#messages.length;
      const held = commonLength(this.session.tokens, prompt);
      unread = prompt.length - held;
      this.session.rewind(held);
      await this.session.append(prompt.subarray(held), { signal });
      read = performance.now();
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
    return { text, finish, prompt: speedOf(unread, read - start), generation: speedOf(count, end - read), forgotten };
  }

  /** The tokens of all that was said; what does not fit is met as the policy says. */
  async #fittingPrompt(policy: FullPolicy): Promise<Int32Array> {
    for (;;) {
      const prompt = await this.#model.promptTokens(this.#messages);
      if (prompt.length < this.session.contextLength) return prompt;
      if (policy === "extend") {
        this.session.extend();
        continue;
      }
      const first = this.#system.length;
      if (policy === "stop" || this.#messages.length <= first + 1) {
        const advice =
          policy === "stop" ? "/reset, or /retune yarn:2 to make room" : "say less, or use a larger --context";
        throw new RopewalkError(
          "CACHE_FULL",
          "chat",
          `has ${prompt.length} tokens, and the context ${this.session.contextLength}: ${advice}`,
        );
      }
      this.#messages = [...this.#system, ...this.#messages.slice(first + 2)]; // without the oldest question and its answer
    }
  }
}

/** How many tokens two texts begin with in common. */
function commonLength(a: readonly number[], b: ArrayLike<number>): number {
  const most = Math.min(a.length, b.length);
  let same = 0;
  while (same < most && a[same] === b[same]) same += 1;
  return same;
}
