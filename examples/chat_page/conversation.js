import { bringTo } from "../model_text.js";

/** How far beyond its training a model may be stretched. */
const STRETCHES = [2, 4, 8];

/** A conversation with a model in a Worker: what was said, and the session that has read it. */
export class Conversation {
  #rw;
  #model;
  #messages = [];

  /** What the model has read; made by begin(). */
  session;

  static async begin(rw, model) {
    const conversation = new Conversation();
    conversation.#rw = rw;
    conversation.#model = model;
    conversation.session = await model.session();
    return conversation;
  }

  /** Ends the Worker. */
  end() {
    return this.#rw.dispose();
  }

  /** Forgets what was said. */
  async clear() {
    this.#messages = [];
    await this.session.rewind(0);
  }

  /** Says something, and yields the answer's pieces. */
  async *say(text, options) {
    const { session } = this;
    const { signal } = options;
    if (this.#model.chatTemplate === undefined) {
      await session.append(text, { signal });
      yield* session.generate(options);
      return;
    }
    const said = [...this.#messages, { role: "user", content: text }];
    await bringTo(session, await this.#model.promptTokens(said), { signal });
    const answer = { role: "assistant", content: "" };
    this.#messages = [...said, answer];
    for await (const piece of session.generate(options)) {
      answer.content += piece.text;
      yield piece;
    }
  }

  /** Contexts to choose from: up to the length of the training as the model is, and beyond it by YaRN. */
  lengths() {
    const { contextLength, trainedLength } = this.#model.info;
    const lengths = [];
    if (this.#model.rope === null) return [{ length: contextLength, label: contextLength.toLocaleString("en") }];
    for (let length = contextLength; length < trainedLength; length *= 2)
      lengths.push({ length, label: length.toLocaleString("en") });
    lengths.push({ length: trainedLength, label: `${trainedLength.toLocaleString("en")}, as trained` });
    for (const factor of STRETCHES) {
      const length = factor * trainedLength;
      lengths.push({ length, label: `${length.toLocaleString("en")}, by YaRN × ${factor}` });
    }
    return lengths;
  }

  /** Takes a context of another length, while an answer is being given or not; keys that are cached are turned to the RoPE it needs. */
  async stretch(contextLength) {
    const { info, rope } = this.#model;
    const kind = info.layers.some((layer) => layer.kind === "full_attention" && layer.rope !== null)
      ? "full_attention"
      : "sliding_attention";
    await this.session.retune(overridesFor(rope, info.trainedLength, contextLength), { kind, contextLength });
  }
}

/** What makes of the RoPE in force the model's own, or that with YaRN. */
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
