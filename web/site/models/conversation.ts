import type { ChatMessage, Piece, WorkerModel, WorkerRopewalk, WorkerSession } from "ropewalk/worker";
import { layersToChange, overridesFor } from "./scaling.js";

/** Factors by which the context can be extended. */
const FACTORS = [2, 4, 8];
/** Models trained on fewer tokens begin with an extended context: a few answers would fill their own. */
const SHORT = 1024;
const SHORT_FACTOR = 4;

/** A chat with a model in a Worker: its messages, and the session that holds them. */
export class Conversation {
  readonly model: WorkerModel;
  readonly session: WorkerSession;
  readonly #rw: WorkerRopewalk;
  #messages: ChatMessage[] = [];

  private constructor(rw: WorkerRopewalk, model: WorkerModel, session: WorkerSession) {
    [this.#rw, this.model, this.session] = [rw, model, session];
  }

  static async begin(rw: WorkerRopewalk, model: WorkerModel): Promise<Conversation> {
    return new Conversation(rw, model, await model.session());
  }

  /** Ends the Worker. */
  end(): Promise<void> {
    return this.#rw.dispose();
  }

  /** Removes all messages. */
  async clear(): Promise<void> {
    this.#messages = [];
    await this.session.rewind(0);
  }

  /** Sends a message and yields the pieces of the answer. */
  async *say(
    text: string,
    options: { maxTokens: number; temperature: number; signal: AbortSignal },
  ): AsyncGenerator<Piece, void, void> {
    const { session, model } = this;
    if (model.chatTemplate === undefined) {
      await session.append(text, { signal: options.signal });
      yield* session.generate(options);
      return;
    }
    const messages: ChatMessage[] = [...this.#messages, { role: "user", content: text }];
    const answer = { role: "assistant", content: "" };
    for await (const piece of session.chat(messages, options)) {
      this.#messages = [...messages, answer];
      answer.content += piece.text;
      yield piece;
    }
  }

  /** Context lengths to choose from. */
  lengths(): { length: number; label: string }[] {
    const { contextLength, trainedLength } = this.model.info;
    const label = (length: number, note = ""): { length: number; label: string } => ({
      length,
      label: `${length.toLocaleString("en")}${note}`,
    });
    if (this.model.rope === null) return [label(contextLength)];
    const lengths = [];
    for (let length = contextLength; length < trainedLength; length *= 2) lengths.push(label(length));
    lengths.push(label(trainedLength, " (as trained)"));
    return [...lengths, ...FACTORS.map((factor) => label(factor * trainedLength, ` (${factor} ×)`))];
  }

  /** Whether the model was trained on so few tokens that its context is extended from the beginning. */
  get isShort(): boolean {
    return this.model.rope !== null && this.model.info.trainedLength < SHORT;
  }

  /** The context length to begin with. */
  get usualLength(): number {
    return this.isShort ? SHORT_FACTOR * this.model.info.trainedLength : this.model.info.contextLength;
  }

  /** Changes the scaling and the context length, also while an answer is generated. Cached keys are rotated to the new RoPE. */
  async retune(scaling: string, contextLength: number): Promise<void> {
    const { model, session } = this;
    if (model.rope === null) return; // it has one context length to choose from, and nothing to scale
    await session.retune(overridesFor(model, scaling, contextLength), { kind: layersToChange(model), contextLength });
  }

  /** Reads the last token again, so that the logits are those of the present scaling. */
  async readLastAgain(): Promise<void> {
    const last = (await this.session.tokens).at(-1);
    if (last === undefined) return;
    await this.session.rewind(this.session.length - 1);
    await this.session.append([last]);
  }
}
