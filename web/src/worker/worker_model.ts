// The Worker's counterpart of Model.
import type { RopeConfig } from "../config/types.js";
import { optionalFunction, optionalSignal } from "../base/checks.js";
import { checkOptions } from "../base/options.js";
import { listOf } from "../base/lists.js";
import type { ModelSource } from "../files/model_files.js";
import {
  ADAPTER_OPTIONS,
  type LoadAdapterOptions,
  PERPLEXITY_OPTIONS,
  type PerplexityOptions,
} from "../model/options.js";
import {
  GENERATE_MANY_OPTIONS,
  type GenerateManyOptions,
  MODEL_GENERATE_OPTIONS,
  type ModelGenerateOptions,
  OPEN_SESSION_OPTIONS,
  type OpenSessionOptions,
  SESSION_OPTIONS,
  type SessionOptions,
} from "../model/session/options.js";
import { type IndexedPiece, tokensOfPrompts } from "../model/generate_many.js";
import type { Piece } from "../model/session/generate.js";
import { EMBED_OPTIONS, type EmbedOptions, RANK_OPTIONS, type RankOptions } from "../model/embed/options.js";
import { isList, type TextInput, textList } from "../model/embed/text_input.js";
import { isChat, type ReadPrompt } from "../model/chat/prompt.js";
import type { ModelInfo, Prompt, Ranked } from "../model/model.js";
import type { Perplexity } from "../model/perplexity.js";
import type { ChatMessage, ChatOptions, ChatPrompt, ChatTemplates, PromptOptions } from "../text/chat_template.js";
import { splitChatOptions } from "../text/chat_options.js";
import type { OnWarning } from "../text/chat/problems.js";
import { wholeText, withWarnings } from "../text/chat/with_warnings.js";
import { asyncDisposeSymbol } from "../base/dispose.js";
import { nameModel, sendDraft } from "./draft_handle.js";
import type { RpcClient } from "./rpc_client.js";
import { type AdapterHandle, CALLBACKS, type ModelHandle } from "./protocol.js";
import { nameToSend, sourceToSend } from "./source_to_send.js";
import { sendAdapters, WorkerAdapter } from "./worker_adapter.js";
import { WorkerSession } from "./worker_session.js";
import { WorkerTokenizer } from "./worker_tokenizer.js";

/** A model in a Worker: like `Model`, but with promises. */
export class WorkerModel implements AsyncDisposable {
  /** Description of the model. */
  readonly info: ModelInfo;
  /** Its tokenizer. */
  readonly tokenizer: WorkerTokenizer;
  /** Jinja source of its chat template, if it has one: that of `chatTemplates` with the name `default`. */
  readonly chatTemplate: string | undefined;
  /** Jinja sources of its chat templates by name. Most models have one, `default`. */
  readonly chatTemplates: ChatTemplates;
  /** RoPE of the full-attention layers; null for a model without RoPE. */
  readonly rope: Readonly<RopeConfig> | null;
  /** Where warnings of its calls go, as the options of `rw.model()` say. @internal */
  readonly onWarning: OnWarning;
  readonly #client: RpcClient;
  readonly #id: number;

  /** @internal */
  constructor(client: RpcClient, { id, info, rope, chatTemplates, tokenizer }: ModelHandle, onWarning?: OnWarning) {
    this.onWarning = onWarning;
    this.#client = client;
    this.#id = id;
    this.info = info;
    this.rope = rope;
    this.chatTemplates = chatTemplates;
    this.chatTemplate = chatTemplates["default"];
    this.tokenizer = new WorkerTokenizer(client, tokenizer);
    client.watch(this, id);
    nameModel(this, client, id);
  }

  /**
   * Creates an empty session. A model can have several sessions at the same time.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED.
   */
  async session(options?: SessionOptions): Promise<WorkerSession> {
    const { uses = [], ...given } = sendAdapters({ ...checkOptions(options, SESSION_OPTIONS) }, this.#client);
    const handle = await this.#client.send((server) => server.session(this.#id, given));
    return new WorkerSession(this.#client, this, handle, uses);
  }

  /**
   * Loads a LoRA adapter for this model, as `Model.loadAdapter`.
   * @throws {@link RopewalkError} as `Model.loadAdapter`; rejects with the signal's reason.
   */
  async loadAdapter(source: ModelSource, options?: LoadAdapterOptions): Promise<WorkerAdapter> {
    const { ...given } = checkOptions(options, ADAPTER_OPTIONS);
    optionalSignal(given.signal);
    for (const name of CALLBACKS) optionalFunction(given[name], name);
    const { memory } = this.info;
    const adapterOf = (handle: AdapterHandle): WorkerAdapter =>
      new WorkerAdapter(this.#client, handle, () => (memory.adapters -= handle.info.bytes));
    const handle = await this.#client.call(
      given,
      (server, call, rest) => server.adapter(call, this.#id, sourceToSend(this.#client, source, false), rest),
      (unwanted) => new WorkerAdapter(this.#client, unwanted, () => undefined).dispose(),
    );
    memory.adapters += handle.info.bytes;
    return adapterOf(handle);
  }

  /**
   * Opens a session that `keep()` wrote, as `Model.openSession`. The Worker reads it.
   * @throws {@link RopewalkError} as `Model.openSession`.
   */
  async openSession(name: string | URL, options?: OpenSessionOptions): Promise<WorkerSession> {
    const { uses = [], ...given } = sendAdapters({ ...checkOptions(options, OPEN_SESSION_OPTIONS) }, this.#client);
    const address = nameToSend(name);
    const handle = await this.#client.send((server) => server.openSession(this.#id, address, given));
    return new WorkerSession(this.#client, this, handle, uses);
  }

  /**
   * Continues a prompt in a temporary session, token by token. The Worker computes a token when the loop asks for it.
   * @throws {@link RopewalkError} as `Model.generate`; rejects with the signal's reason.
   */
  async *generate(prompt: Prompt, options?: ModelGenerateOptions): AsyncGenerator<Piece, void, void> {
    const { chat, others } = splitChatOptions(checkOptions(options, MODEL_GENERATE_OPTIONS));
    optionalSignal(others.signal);
    const cloneable = await this.#tokensOf(cloneablePrompt(prompt), chat);
    yield* this.#client.stream(
      sendAdapters(sendDraft(others, this.#client), this.#client),
      (server, call, rest) => server.generate(call, this.#id, rest, cloneable),
      () => undefined,
    );
  }

  /**
   * Continues several prompts at once, as `Model.generateMany`.
   * @throws {@link RopewalkError} as `Model.generateMany`; rejects with the signal's reason.
   */
  async *generateMany(
    prompts: readonly Prompt[],
    options?: GenerateManyOptions,
  ): AsyncGenerator<IndexedPiece, void, void> {
    const { chat, others } = splitChatOptions(checkOptions(options, GENERATE_MANY_OPTIONS));
    optionalSignal(others.signal);
    const cloneable = await tokensOfPrompts(prompts, (prompt) =>
      this.#tokensOf(cloneablePrompt(prompt as Prompt), chat),
    );
    const pieces = this.#client.stream(
      sendAdapters(sendDraft(others, this.#client), this.#client),
      (server, call, rest) => server.generateMany(call, this.#id, rest, cloneable),
      () => undefined,
    );
    yield* pieces as AsyncGenerator<IndexedPiece, void, void>;
  }

  /**
   * Returns the token ids of a prompt, as `Model.promptTokens`.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (no tokenizer, or no chat template).
   */
  async promptTokens(prompt: Prompt, options?: ChatOptions): Promise<Int32Array> {
    const cloneable = cloneablePrompt(prompt);
    const read = (given: PromptOptions): Promise<ReadPrompt> => this.#invoke("readPrompt", cloneable, given);
    return (await withWarnings(options, read, "promptTokens()", this.onWarning)).tokens;
  }

  /**
   * Renders a chat with the model's template, up to the beginning of the model's answer.
   * @throws {@link RopewalkError} as `Model.renderChat`.
   */
  async renderChat(messages: readonly ChatMessage[], options?: ChatOptions): Promise<string> {
    return wholeText(
      await withWarnings(options, (given) => this.renderPrompt(messages, given), undefined, this.onWarning),
    );
  }

  /** Renders a chat, and says what the prompt lacks. @internal */
  renderPrompt(messages: readonly ChatMessage[], options: PromptOptions): Promise<ChatPrompt> {
    return this.#invoke("renderPrompt", messages, options);
  }

  /**
   * Measures how well the model predicts a text.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED; rejects with the signal's reason.
   */
  async perplexity(text: string | Iterable<number>, options?: PerplexityOptions): Promise<Perplexity> {
    const { ...given } = checkOptions(options, PERPLEXITY_OPTIONS);
    optionalSignal(given.signal);
    optionalFunction(given.onProgress, "onProgress");
    return this.#run("perplexity", [cloneableText(text)], given);
  }

  /**
   * Returns an embedding of a text, or of each text of a list, as `Model.embed`.
   * @throws {@link RopewalkError} as `Model.embed`.
   */
  embed(text: TextInput, options?: EmbedOptions): Promise<Float32Array>;
  embed(texts: readonly TextInput[], options?: EmbedOptions): Promise<Float32Array[]>;
  async embed(given: TextInput | readonly TextInput[], options?: EmbedOptions): Promise<Float32Array | Float32Array[]> {
    const { ...all } = checkOptions(options, EMBED_OPTIONS);
    optionalSignal(all.signal);
    optionalFunction(all.onProgress, "onProgress");
    return this.#run("embed", [isList(given) ? given.map(cloneableText) : cloneableText(given)], all);
  }

  /**
   * Scores how well each document answers a query, as `Model.rank`.
   * @throws {@link RopewalkError} as `Model.rank`.
   */
  async rank(query: TextInput, documents: readonly TextInput[], options?: RankOptions): Promise<Ranked[]> {
    const { ...all } = checkOptions(options, RANK_OPTIONS);
    optionalSignal(all.signal);
    optionalFunction(all.onProgress, "onProgress");
    return this.#run("rank", [cloneableText(query), textList(documents, "documents").map(cloneableText)], all);
  }

  /**
   * Frees the memory. Calling it twice is harmless. Sessions must be disposed separately. Calls to the model or its
   * sessions afterwards reject with DISPOSED.
   */
  dispose(): Promise<void> {
    return this.#client.release(this, this.#id);
  }

  /** Same as {@link WorkerModel.dispose}. */
  [asyncDisposeSymbol](): Promise<void> {
    return this.dispose();
  }

  /** Chats are read first, for their warnings stay in this thread. */
  async #tokensOf(prompt: Prompt, options: ChatOptions): Promise<Prompt> {
    return isChat(prompt) || Object.keys(options).length > 0 ? this.promptTokens(prompt, options) : prompt;
  }

  async #run<T>(name: string, args: readonly unknown[], options: EmbedOptions | PerplexityOptions): Promise<T> {
    const reply = await this.#client.call(sendAdapters(options, this.#client), (server, call, rest) =>
      server.invoke(this.#id, name, args, call, rest),
    );
    return reply.value as T;
  }

  async #invoke<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return (await this.#client.send((server) => server.invoke(this.#id, name, args))).value as T;
  }
}

function cloneableText(text: TextInput): TextInput {
  return typeof text === "string" ? text : (listOf(text, "tokens", "text or token ids") as number[]);
}

/** A prompt that can be cloned, which some iterables can't. */
function cloneablePrompt(prompt: Prompt, field = "prompt"): Prompt {
  return typeof prompt === "string" ? prompt : (listOf(prompt, field, "text, token ids or messages") as number[]);
}
