// What serving needs of a model. `Model` and `WorkerModel` both have it: one answers at once, the other with promises.
import { fail } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";
import type { Decisions } from "../../runtime/model/decide/answers.js";
import type { DecideOptions } from "../../runtime/model/decide/options.js";
import type { DecisionQuestions, DecisionText } from "../../runtime/model/decide/questions.js";
import type { EmbedOptions, RankOptions } from "../../runtime/model/embed/options.js";
import type { ModelInfo, Prompt, Ranked } from "../../runtime/model/model.js";
import type { WrittenPrompt } from "../../runtime/model/prompt.js";
import type { ReadText } from "../../runtime/model/run/text_reader.js";
import type { Piece } from "../../runtime/model/session/generate.js";
import type { GenerateOptions, SessionAppendOptions, SessionOptions } from "../../runtime/model/session/options.js";
import type {
  ChatMessage,
  ChatOptions,
  ChatPrompt,
  ChatTemplates,
  PromptOptions,
} from "../../runtime/text/chat_template.js";
import type { OnWarning } from "../../runtime/text/chat/problems.js";
import type { DecodeOptions } from "../../runtime/text/tokenizer.js";

type Awaitable<T> = T | Promise<T>;

/** A tokenizer, here or in a Worker. */
export interface ServedTokenizer {
  decode(tokens: Iterable<number>, options?: DecodeOptions): Awaitable<string>;
  bytes(id: number): Awaitable<Uint8Array>;
}

/** A session, here or in a Worker. */
export interface ServedSession {
  readonly tokens: Awaitable<readonly number[]>;
  /** @internal */
  bringTo(prompt: Iterable<number>, options?: SessionAppendOptions): Promise<number>;
  generate(options?: GenerateOptions): AsyncGenerator<Piece, void, void>;
  fork(): Awaitable<ServedSession>;
  dispose(): Awaitable<void>;
}

/** A model, here or in a Worker. */
export interface ServedModel {
  readonly info: ModelInfo;
  readonly chatTemplates: ChatTemplates;
  readonly tokenizer: ServedTokenizer;
  session(options?: Pick<SessionOptions, "adapters">): Awaitable<ServedSession>;
  /** @internal */
  readonly onWarning: OnWarning;
  promptTokens(prompt: Prompt, options?: ChatOptions): Promise<Int32Array>;
  /** @internal */
  renderPrompt(messages: readonly ChatMessage[], options: PromptOptions): Promise<ChatPrompt>;
  /** @internal */
  writtenTokens(prompt: WrittenPrompt, options?: { signal?: AbortSignal }): Promise<ReadText>;
  /** @internal */
  embedCounted(
    texts: readonly (string | readonly number[])[],
    options?: EmbedOptions,
  ): Promise<{ vectors: Float32Array[]; tokens: number }>;
  decide(state: DecisionText, questions: DecisionQuestions, options?: DecideOptions): Promise<Decisions>;
  rank(query: string, documents: readonly string[], options?: RankOptions): Promise<Ranked[]>;
}

/** @throws INVALID_ARGUMENT */
export function checkModel(model: unknown): void {
  if (typeof model === "object" && model !== null && "info" in model && "promptTokens" in model) return;
  const isPromise = typeof (model as { then?: unknown } | null | undefined)?.then === "function";
  const advice = isPromise ? "await the promise first" : "pass what rw.model() has loaded";
  fail("INVALID_ARGUMENT", "model", `must be a loaded model; ${advice} (got ${isPromise ? "a promise" : show(model)})`);
}
