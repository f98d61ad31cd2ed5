import { bringTo } from "../model_text.js";

/** Factors by which the context can be extended. */
const FACTORS = [2, 4, 8];

/** A chat with a model in a Worker: its messages, and the session that holds them. */
export class Conversation {
  #rw;
  #model;
  #messages = [];

  /** The tokens so far; created by begin(). */
  session;

  static async begin(rw, model) {
    const conversation = new Conversation();
    conversation.#rw = rw;
    conversation.#model = model;
    conversation.session = await model.session();
    return conversation;
  }

  /** Terminates the Worker. */
  end() {
    return this.#rw.dispose();
  }

  /** Removes all messages. */
  async clear() {
    this.#messages = [];
    await this.session.rewind(0);
  }

  /** Sends a message and yields the pieces of the answer. */
  async *say(text, options) {
    const { session } = this;
    const { signal } = options;
    if (this.#model.chatTemplate === undefined) {
      await session.append(text, { signal });
      yield* session.generate(options);
      return;
    }
    const messages = [...this.#messages, { role: "user", content: text }];
    await bringTo(session, await this.#model.promptTokens(messages), { signal });
    const answer = { role: "assistant", content: "" };
    this.#messages = [...messages, answer];
    for await (const piece of session.generate(options)) {
      answer.content += piece.text;
      yield piece;
    }
  }

  /** Context lengths to choose from: up to the trained length unchanged, beyond it with YaRN. */
  lengths() {
    const { contextLength, trainedLength } = this.#model.info;
    const lengths = [];
    if (this.#model.rope === null) return [{ length: contextLength, label: contextLength.toLocaleString("en") }];
    for (let length = contextLength; length < trainedLength; length *= 2)
      lengths.push({ length, label: length.toLocaleString("en") });
    lengths.push({ length: trainedLength, label: `${trainedLength.toLocaleString("en")} (as trained)` });
    for (const factor of FACTORS) {
      const length = factor * trainedLength;
      lengths.push({ length, label: `${length.toLocaleString("en")} (YaRN × ${factor})` });
    }
    return lengths;
  }

  /** Changes the context length, also while an answer is generated. Cached keys are re-rotated to the RoPE that it needs. */
  async setContextLength(contextLength) {
    const { info, rope } = this.#model;
    const kind = info.layers.some((layer) => layer.kind === "full_attention" && layer.rope !== null)
      ? "full_attention"
      : "sliding_attention";
    await this.session.retune(overridesFor(rope, info.trainedLength, contextLength), { kind, contextLength });
  }
}

/** Overrides that give the model's own RoPE up to the trained length, and YaRN beyond it. */
function overridesFor(rope, trainedLength, contextLength) {
  const own = rope?.rope_scaling;
  const isOwn = contextLength <= trainedLength;
  if (isOwn)
    return { rope_scaling: own === undefined || own.rope_type === "default" ? null : { ...own, replace: true } };
  const original = (own?.rope_type === "yarn" ? own.original_max_position_embeddings : undefined) ?? trainedLength;
  return {
    rope_scaling: {
      rope_type: "yarn",
      factor: contextLength / original,
      original_max_position_embeddings: original,
      replace: true,
    },
  };
}
