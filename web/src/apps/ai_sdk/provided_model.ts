// The model of a provider, which may still load, and the sessions of its chats.
import { readServing, servedName, type Serving, type ServingOptions } from "../serving/options.js";
import { PromptSessions } from "../serving/prompt_sessions.js";
import { checkModel, type ServedModel } from "../serving/served_model.js";

/** A model that may still load. */
export type LoadingModel = ServedModel | PromiseLike<ServedModel>;

interface OpenedModel extends Pick<Serving, "adapting" | "chats"> {
  readonly model: ServedModel;
  readonly prompts: PromptSessions;
}

/** A model and the sessions of its chats. */
export class ProvidedModel {
  readonly #opened: Promise<OpenedModel>;
  #name = "ropewalk";

  constructor(model: LoadingModel, options: ServingOptions | undefined) {
    const serving = readServing(options, "createRopewalk()");
    const isLoading = typeof (model as Partial<PromiseLike<ServedModel>> | null | undefined)?.then === "function";
    if (!isLoading) checkModel(model);
    if (serving.name !== undefined) this.#name = serving.name;
    if ("info" in model) this.#name = servedName(model, serving);
    this.#opened = Promise.resolve(model).then((opened) => {
      checkModel(opened);
      this.#name = servedName(opened, serving);
      return {
        model: opened,
        prompts: new PromptSessions(opened, serving),
        adapting: serving.adapting,
        chats: serving.chats,
      };
    });
    this.#opened.catch(() => undefined); // the calls report it
  }

  /** What the options call the model, its name on the Hub, or that of its file; before the model has loaded, `ropewalk`. */
  get name(): string {
    return this.#name;
  }

  /** Rejects with the reason why the model couldn't load. */
  open(): Promise<OpenedModel> {
    return this.#opened;
  }

  /** Frees the sessions. */
  dispose(): void {
    this.#opened.then(({ prompts }) => prompts.dispose()).catch(() => undefined);
  }
}
