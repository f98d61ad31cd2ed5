// The public Model class: sessions, generation, chat templates, perplexity and embeddings.
import { part } from "../../core/base/part.js";
import type { RopeConfig } from "../../core/config/types.js";
import { optionalFunction, optionalSignal } from "../../core/base/checks.js";
import { disposeSymbol } from "../../core/base/dispose.js";
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import { checkOptions } from "../../core/base/options.js";
import type { ModelSource } from "../files/model_files.js";
import type { ChatMessage, ChatOptions, ChatPrompt, ChatTemplates, PromptOptions } from "../text/chat_template.js";
import { splitChatOptions } from "../text/chat_options.js";
import type { OnWarning } from "../text/chat/problems.js";
import { wholeText, withWarnings } from "../text/chat/with_warnings.js";
import type { Tokenizer } from "../text/tokenizer.js";
import { tokenIds } from "../../core/base/lists.js";
import type { Adapter } from "./run/adapter.js";
import { readAdapters } from "./run/adapters_in_use.js";
import type { AdapterHost } from "./adapters/load_adapter.js";
import {
  type Prompt,
  readModelPrompt,
  type ReadPrompt,
  readWrittenPrompt,
  renderModelPrompt,
  type WrittenPrompt,
} from "./prompt.js";
import { type ReadText, TextReader } from "./run/text_reader.js";
import { looped } from "./run/looped.js";
import type { ModelCore } from "./run/model_core.js";
import { ropeOf } from "./plan/model_plan.js";
import { embedTexts, type EmbeddingModel, rankDocuments } from "./embed/calls.js";
import type { Ranked } from "./embed/info.js";
import type { Decisions } from "./decide/answers.js";
import type { DecisionHead } from "./decide/head/head.js";
import { DECIDE_OPTIONS, type DecideOptions } from "./decide/options.js";
import type { DecisionQuestions, DecisionText } from "./decide/questions.js";
import type { ModelInfo } from "./info.js";
import type { EmbedOptions, RankOptions } from "./embed/options.js";
import { isList, type TextInput } from "./embed/text_input.js";
import { WholeTextsCore } from "./embed/whole_texts.js";
import { ADAPTER_OPTIONS, type LoadAdapterOptions, type PerplexityOptions } from "./run/options.js";
import { type Perplexity, perplexity, readPerplexityOptions } from "./perplexity.js";
import { generateMany, type IndexedPiece, readBatchSize, readPrompt, tokensOfPrompts } from "./generate_many.js";
import { type Piece, readGenerateOptions } from "./session/generate.js";
import {
  checkContext,
  COMPLETE_OPTIONS,
  type CompleteOptions,
  GENERATE_MANY_OPTIONS,
  type GenerateManyOptions,
  MODEL_GENERATE_OPTIONS,
  type ModelGenerateOptions,
  type OpenSessionOptions,
  readCheckpoints,
  SESSION_OPTIONS,
  type SessionOptions,
} from "./session/options.js";
import { type Completion, completionOf } from "./completion.js";
import { openSession } from "./open_session.js";
import { Session } from "./session/session.js";
import type { SessionModel } from "./session/session_model.js";

export type { Prompt } from "./prompt.js";
export type { EmbeddingInfo, Ranked } from "./embed/info.js";
export type { ModelInfo } from "./info.js";

/** What loading an adapter needs besides the model. @internal */
export type AdapterFilesHost = Pick<AdapterHost, "files" | "mappings">;

/** A model in wasm memory. Created by `rw.model()`. */
export class Model implements Disposable {
  /** Description of the model. */
  readonly info: ModelInfo;
  /** Its tokenizer. */
  readonly tokenizer: Tokenizer;
  /** Jinja source of its chat template, if it has one: that of `chatTemplates` with the name `default`. */
  readonly chatTemplate: string | undefined;
  /** Jinja sources of its chat templates by name. Most models have one, `default`. */
  readonly chatTemplates: ChatTemplates;
  /** Where warnings of its calls go, as the options of `rw.model()` say. @internal */
  readonly onWarning: OnWarning;
  readonly #parts: SessionModel;
  readonly #core: ModelCore;
  readonly #files: AdapterFilesHost;
  readonly #head: DecisionHead | undefined;
  #wholeTexts: WholeTextsCore | undefined;

  /** @internal */
  constructor(
    parts: SessionModel,
    info: ModelInfo,
    chatTemplates: ChatTemplates,
    files: AdapterFilesHost,
    onWarning: OnWarning,
    head?: DecisionHead,
  ) {
    this.#head = head;
    this.onWarning = onWarning;
    this.#parts = parts;
    this.#files = files;
    this.#core = parts.core;
    this.info = info;
    this.tokenizer = parts.tokenizer;
    this.chatTemplates = chatTemplates;
    this.chatTemplate = chatTemplates["default"];
  }

  /** RoPE of the full-attention layers; null for a model without RoPE. */
  get rope(): Readonly<RopeConfig> | null {
    return ropeOf(this.info.layers);
  }

  /**
   * Creates an empty session. A model can have several sessions at the same time, whose calls can overlap.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNKNOWN_KEY, OUT_OF_MEMORY, DISPOSED.
   */
  session(options?: SessionOptions): Session {
    const { contextLength, checkpoints: givenCheckpoints, adapters } = checkOptions(options, SESSION_OPTIONS);
    const checkpoints = readCheckpoints(givenCheckpoints, this.#core.stateBytes);
    const length = checkContext(contextLength ?? this.info.contextLength, this.#core.plan.config);
    this.#core.checkAlive();
    this.#checkGenerates();
    return new Session(this.#parts, length, checkpoints, readAdapters(adapters, this.#core));
  }

  /**
   * Loads a LoRA adapter for this model, which isn't changed: sessions use the adapter if their options say so.
   * @param source - a folder that PEFT saved (adapter_model.safetensors and adapter_config.json), or a GGUF file of
   * llama.cpp; from the same places as a model
   * @throws {@link RopewalkError} INVALID_FILE (also: the adapter is of another base model), UNSUPPORTED_MODEL (it changes
   * more than linear layers, or in another way), NETWORK, INVALID_ARGUMENT, UNKNOWN_KEY, OUT_OF_MEMORY, DISPOSED; rejects
   * with the signal's reason. The model stays as it was.
   */
  async loadAdapter(source: ModelSource, options?: LoadAdapterOptions): Promise<Adapter> {
    const { signal, onProgress, onWarning, ...others } = checkOptions(options, ADAPTER_OPTIONS);
    optionalSignal(signal);
    optionalFunction(onProgress, "onProgress");
    optionalFunction(onWarning, "onWarning");
    this.#core.checkAlive();
    const count = (bytes: number): void => void (this.info.memory.adapters += bytes);
    const given = {
      ...others,
      ...(signal && { signal }),
      ...(onProgress && { onProgress }),
      ...(onWarning && { onWarning }),
    };
    const { loadAdapter } = await part(() => import("./adapters/load_adapter.js")); // loaded only for adapters
    return loadAdapter({ ...this.#files, core: this.#core, count }, source, given);
  }

  /**
   * Opens a session that {@link Session.keep} wrote, also in another process or page.
   * @throws {@link RopewalkError} INVALID_FILE (there is none of that name), and as {@link Session.restore}.
   */
  async openSession(name: string | URL, options?: OpenSessionOptions): Promise<Session> {
    return openSession(this.#parts, name, options, (given) => this.session(given));
  }

  /**
   * Continues a prompt in a temporary session, token by token.
   * @throws {@link RopewalkError} as {@link Session.append} and {@link Session.generate}.
   */
  generate(prompt: Prompt, options?: ModelGenerateOptions): AsyncGenerator<Piece, void, void> {
    return looped("generate", this.#generate(prompt, options));
  }

  async *#generate(prompt: Prompt, options?: ModelGenerateOptions): AsyncGenerator<Piece, void, void> {
    const { chat, others: given } = splitChatOptions(checkOptions(options, MODEL_GENERATE_OPTIONS));
    const { contextLength, adapters, ...others } = given;
    const signal = optionalSignal(others.signal);
    const session = this.session({
      ...(contextLength !== undefined && { contextLength }),
      ...(adapters && { adapters }),
    });
    try {
      await readPrompt(session, await this.#tokensOf(prompt, chat, signal), { ...others, ...(signal && { signal }) });
      yield* session.generate(others);
    } finally {
      session.dispose();
    }
  }

  /**
   * Continues a prompt as {@link Model.generate}, and returns the whole result.
   * @throws {@link RopewalkError} as {@link Model.generate}; rejects with the signal's reason.
   */
  async complete(prompt: Prompt, options?: CompleteOptions): Promise<Completion> {
    return completionOf(checkOptions(options, COMPLETE_OPTIONS), (given) => this.generate(prompt, given));
  }

  /**
   * Continues several prompts at once. In each step all texts get a token, and each weight is read once for all of them.
   * Each text has the tokens that {@link Model.generate} gives. The seed is that of the first text, and the next texts
   * have the next numbers. Sessions whose generations run at the same time share their steps in the same way.
   * @returns pieces with the index of their prompt, round by round
   * @throws {@link RopewalkError} as {@link Model.generate}, with the prompt at fault; then all texts end.
   */
  generateMany(prompts: readonly Prompt[], options?: GenerateManyOptions): AsyncGenerator<IndexedPiece, void, void> {
    return looped("generateMany", this.#generateMany(prompts, options));
  }

  async *#generateMany(
    prompts: readonly Prompt[],
    options?: GenerateManyOptions,
  ): AsyncGenerator<IndexedPiece, void, void> {
    const { chat, others: given } = splitChatOptions(checkOptions(options, GENERATE_MANY_OPTIONS));
    const { contextLength, adapters, batchSize, ...others } = given;
    const settings = {
      batchSize: readBatchSize(batchSize),
      options: others,
      plan: this.#core.plan,
      newSession: () =>
        this.session({ ...(contextLength !== undefined && { contextLength }), ...(adapters && { adapters }) }),
    };
    const signal = optionalSignal(others.signal);
    readGenerateOptions(others, this.#parts.sampling, this.#core.vocabularySize);
    this.#checkGenerates();
    const all = await tokensOfPrompts(prompts, (prompt) => this.#tokensOf(prompt as Prompt, chat, signal));
    yield* generateMany(all, settings);
  }

  async #tokensOf(prompt: Prompt, options: ChatOptions, signal: AbortSignal | undefined): Promise<Int32Array> {
    const tokens = await this.#promptTokens(prompt, options, signal);
    if (tokens.length === 0) fail("INVALID_ARGUMENT", "prompt", "is empty", advise.prompt({ as: "tokens" }));
    return tokens;
  }

  /**
   * Returns the token ids of a prompt. Text is encoded with the begin token of the model, and a chat by its template.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNKNOWN_KEY, UNSUPPORTED_MODEL (no tokenizer, or no chat template).
   */
  async promptTokens(prompt: Prompt, options?: ChatOptions): Promise<Int32Array> {
    return this.#promptTokens(prompt, options);
  }

  async #promptTokens(prompt: Prompt, options?: ChatOptions, signal?: AbortSignal): Promise<Int32Array> {
    const read = (given: PromptOptions): Promise<ReadPrompt> => readModelPrompt(this, prompt, given, signal);
    return (await withWarnings(options, read, "promptTokens()", this.onWarning)).tokens;
  }

  /** The token ids of a prompt, and what it lacks. @internal */
  readPrompt(prompt: Prompt, options: PromptOptions): Promise<ReadPrompt> {
    return readModelPrompt(this, prompt, options);
  }

  /** The token ids of a prompt that is written. @internal */
  writtenTokens(prompt: WrittenPrompt, options?: { signal?: AbortSignal }): Promise<ReadText> {
    return readWrittenPrompt(this, prompt, options?.signal);
  }

  /**
   * Renders a chat with the model's template, up to the beginning of the model's answer. Messages get the form that the template reads.
   * @throws {@link RopewalkError} UNSUPPORTED_MODEL (no chat template), INVALID_ARGUMENT, UNKNOWN_KEY, INVALID_FILE
   * (the template has an error).
   */
  async renderChat(messages: readonly ChatMessage[], options?: ChatOptions): Promise<string> {
    return wholeText(
      await withWarnings(options, (given) => this.renderPrompt(messages, given), undefined, this.onWarning),
    );
  }

  /** Renders a chat, and says what the prompt lacks. @internal */
  renderPrompt(messages: readonly ChatMessage[], options: PromptOptions): Promise<ChatPrompt> {
    return renderModelPrompt(this, messages, options);
  }

  /**
   * Measures how well the model predicts a text.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNKNOWN_KEY, OUT_OF_MEMORY, DISPOSED, and as `ropeConfig()`; rejects
   * with the signal's reason.
   */
  async perplexity(text: string | Iterable<number>, options?: PerplexityOptions): Promise<Perplexity> {
    this.#checkGenerates();
    const settings = readPerplexityOptions(options, this.#core, this.info.contextLength);
    const tokens =
      typeof text === "string"
        ? (await new TextReader(this.tokenizer, settings.signal).text(text)).ids
        : tokenIds(text, this.info.vocabularySize, "tokens");
    return perplexity(this.#core, this.#parts.cacheSettings, tokens, settings);
  }

  /**
   * Returns an embedding of a text, or of each text of a list: a vector whose direction says what the text is about. The
   * texts of a list are computed together, which is faster, and gives the same vectors.
   * @param texts - text, or token ids with the special tokens that the model expects; or a list of these
   * @returns [info.embedding.dimensions] for each text
   * @throws {@link RopewalkError} INVALID_ARGUMENT (also: a text is too long), UNKNOWN_KEY, OUT_OF_MEMORY, DISPOSED;
   * rejects with the signal's reason.
   */
  embed(texts: TextInput, options?: EmbedOptions): Promise<Float32Array>;
  embed(texts: readonly TextInput[], options?: EmbedOptions): Promise<Float32Array[]>;
  async embed(given: TextInput | readonly TextInput[], options?: EmbedOptions): Promise<Float32Array | Float32Array[]> {
    const { vectors } = await this.embedCounted(given, options);
    return isList(given) ? vectors : vectors[0]!;
  }

  /** As embed(), always a list of vectors, with the number of tokens that were read. @internal */
  async embedCounted(
    given: TextInput | readonly TextInput[],
    options?: EmbedOptions,
  ): Promise<{ vectors: Float32Array[]; tokens: number }> {
    return embedTexts(this.#embedding, given, options);
  }

  /**
   * Scores how well each document answers a query, with a cross-encoder: a model that reads both as one text.
   * @param query - text, or token ids up to the separator after it
   * @param documents - texts if the query is one; else token ids, which continue those of the query
   * @returns documents by their index, best first. A score is what sentence-transformers computes: a probability, unless
   * the model's config asks for the plain score.
   * @throws {@link RopewalkError} UNSUPPORTED_MODEL (the model isn't a cross-encoder), and as {@link Model.embed}.
   */
  async rank(query: TextInput, documents: readonly TextInput[], options?: RankOptions): Promise<Ranked[]> {
    return rankDocuments(this.#embedding, query, documents, options);
  }

  /**
   * Answers typed questions about a state with a probability for every option. Nothing is generated: the model reads the state once and each
   * question once, and the probabilities are those of the options' labels at the place of its answer. A decision checkpoint (`info.decides`) has a
   * head for it, which scores each option. The probabilities have the same bits whatever else runs.
   * Text in the state and the options can't add options, labels or control tokens. (It can still persuade.)
   * @param state - text, or JSON
   * @param questions - by name: one of several options, a level, or yes or no
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNKNOWN_KEY (the field is `state`, or like `questions.urgency.criteria`), CACHE_FULL (a prompt
   * is longer than the context), UNSUPPORTED_MODEL (no chat template, or no tokens for labels), OUT_OF_MEMORY, DISPOSED; rejects with the signal's
   * reason.
   */
  async decide<const Questions extends DecisionQuestions>(
    state: DecisionText,
    questions: Questions,
    options?: DecideOptions,
  ): Promise<Decisions<Questions>> {
    checkOptions(options, DECIDE_OPTIONS);
    this.#core.checkAlive();
    if (this.#head !== undefined) {
      const { decideByHead } = await part(() => import("./decide/head/decide.js"));
      const { core, tokenizer, info, texts } = this.#embedding;
      const model = { core, tokenizer, info, texts: texts(), head: this.#head, onWarning: this.onWarning };
      return (await decideByHead(model, state, questions, options)) as Decisions<Questions>;
    }
    this.#checkGenerates();
    const { decide } = await part(() => import("./decide/decide.js")); // loaded only for decisions
    const { info, tokenizer, onWarning } = this;
    const render = (messages: readonly ChatMessage[], given: PromptOptions): Promise<ChatPrompt> =>
      this.renderPrompt(messages, given);
    const model = { info, tokenizer, render, onWarning, core: this.#core, cacheSettings: this.#parts.cacheSettings };
    return (await decide(model, state, questions, options)) as Decisions<Questions>;
  }

  /**
   * Frees the memory, and ends calls that run with DISPOSED. Calling it twice is harmless. Sessions must be disposed
   * separately, and so must adapters. Using the model or its sessions afterwards throws DISPOSED.
   */
  dispose(): void {
    this.#wholeTexts?.dispose();
    this.#head?.dispose();
    this.#core.dispose();
  }

  /** Same as {@link Model.dispose}. */
  [disposeSymbol](): void {
    this.dispose();
  }

  /** What embed() and rank() use. */
  get #embedding(): EmbeddingModel {
    const texts = (): WholeTextsCore => {
      this.#core.checkAlive();
      return (this.#wholeTexts ??= new WholeTextsCore(this.#core));
    };
    return { core: this.#core, tokenizer: this.tokenizer, info: this.info, texts };
  }

  #checkGenerates(): void {
    const { noText, ranks, decides, name } = this.info;
    if (noText === undefined) return;
    const call = decides ? "decide" : ranks ? "rank" : "embed";
    fail("UNSUPPORTED_MODEL", name, `the model ${noText}`, advise.call({ calls: [call] }));
  }
}
