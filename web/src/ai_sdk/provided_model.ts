// The model of a provider, which may still load, and the session of its chats.
import { PromptSession } from "../serving/prompt_session.js";
import type { ServedModel } from "../serving/served_model.js";

/** A model that may still load. */
export type LoadingModel = ServedModel | PromiseLike<ServedModel>;

/** A model and the session of its chats. */
export class ProvidedModel {
  readonly #opened: Promise<{ model: ServedModel; prompts: PromptSession }>;
  #name = "ropewalk";

  constructor(model: LoadingModel) {
    if ("info" in model) this.#name = model.info.name;
    this.#opened = Promise.resolve(model).then((opened) => {
      this.#name = opened.info.name;
      return { model: opened, prompts: new PromptSession(opened) };
    });
    this.#opened.catch(() => undefined); // the calls report it
  }

  /** The name of the model's file; before the model has loaded, `ropewalk`. */
  get name(): string {
    return this.#name;
  }

  /** Rejects with the reason why the model couldn't load. */
  open(): Promise<{ model: ServedModel; prompts: PromptSession }> {
    return this.#opened;
  }

  /** Frees the session. */
  dispose(): void {
    this.#opened.then(({ prompts }) => prompts.dispose()).catch(() => undefined);
  }
}
