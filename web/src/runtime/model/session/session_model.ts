// What the sessions of a model share.
import type { KeptFiles } from "../../files/platform.js";
import type { Formats } from "../../grammar/formats.js";
import type { ChatMessage, ChatOptions } from "../../text/chat_template.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import type { CacheSettings, ModelCore } from "../run/model_core.js";
import type { SamplingDefaults } from "./sampling_settings.js";

/** The model of a session. @internal */
export interface SessionModel {
  readonly core: ModelCore;
  readonly tokenizer: Tokenizer;
  readonly cacheSettings: CacheSettings;
  /** Sampling defaults from the model's files. */
  readonly sampling: SamplingDefaults;
  /** The texts that the option `format` allows. */
  readonly formats: Formats;
  /** The token ids of a chat's prompt. */
  readonly chatTokens: (
    messages: readonly ChatMessage[],
    options: ChatOptions & { signal?: AbortSignal | undefined },
  ) => Promise<Int32Array>;
  /** Where sessions are kept. */
  readonly keptFiles: () => Promise<KeptFiles>;
}
