// The model of a provider, which may still load, and the sessions of its chats.
import { readParallel, type ServingOptions } from "../serving/options.js";
import { PromptSessions } from "../serving/prompt_sessions.js";
import type { ServedModel } from "../serving/served_model.js";

/** A model that may still load. */
export type LoadingModel = ServedModel | PromiseLike<ServedModel>;

/** A model and the sessions of its chats. */
export class ProvidedModel {
  readonly #opened: Promise<{ model: ServedModel; prompts: PromptSessions }>;
  #name = "ropewalk";

  constructor(model: LoadingModel, options: ServingOptions | undefined) {
    const parallel = readParallel(options);
    if ("info" in model) this.#name = model.info.name;
    this.#opened = Promise.resolve(model).then((opened) => {
      this.#name = opened.info.name;
      return { model: opened, prompts: new PromptSessions(opened, parallel) };
    });
    this.#opened.catch(() => undefined); // the calls report it
  }

  /** The name of the model's file; before the model has loaded, `ropewalk`. */
  get name(): string {
    return this.#name;
  }

  /** Rejects with the reason why the model couldn't load. */
  open(): Promise<{ model: ServedModel; prompts: PromptSessions }> {
    return this.#opened;
  }

  /** Frees the sessions. */
  dispose(): void {
    this.#opened.then(({ prompts }) => prompts.dispose()).catch(() => undefined);
  }
}
