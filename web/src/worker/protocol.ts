// The messages between a caller's thread and its Worker. All arguments and results can be cloned.
import type { RopeConfig } from "../config/types.js";
import type { CachedModel } from "../files/cache/models.js";
import type { ModelSource } from "../files/model_files.js";
import type { LoadOptions } from "../load/load.js";
import type { Piece } from "../model/session/generate.js";
import type { ModelInfo, Prompt } from "../model/model.js";
import type { AdapterInfo } from "../model/adapters/adapter.js";
import type { LoadAdapterOptions, ModelOptions } from "../model/options.js";
import type {
  ForkOptions,
  GenerateManyOptions,
  ModelGenerateOptions,
  OpenSessionOptions,
  SessionOptions,
} from "../model/session/options.js";
import type { Kernels } from "../load/kernels.js";
import type { Build } from "../load/runtime.js";
import type { ChatTemplates, PromptPiece } from "../text/chat_template.js";
import type { Tokenizer } from "../text/tokenizer.js";

/** Callback options. Functions can't be cloned, so the Worker asks the client to call them. @internal */
export const CALLBACKS = ["onProgress", "onWarning"] as const;
/** One of {@link CALLBACKS}. @internal */
export type Callback = (typeof CALLBACKS)[number];

/** A call that can be aborted and can report progress. @internal */
export interface Call {
  readonly id: number;
  /** The callbacks that the caller has set. */
  readonly callbacks: readonly Callback[];
}

/** Options without those that can't be cloned. @internal */
export type CloneableOptions<Options> = Omit<Options, "signal" | "uses" | Callback>;

/** Constant properties of a tokenizer. */
export type TokenizerProperties = Pick<Tokenizer, "vocabularySize" | "beginToken" | "endTokens" | "addsBegin">;

/** Refers to a tokenizer in the Worker. @internal */
export interface TokenizerHandle extends TokenizerProperties {
  readonly id: number;
}

/** Refers to a model in the Worker. @internal */
export interface ModelHandle {
  readonly id: number;
  readonly info: ModelInfo;
  readonly rope: Readonly<RopeConfig> | null;
  readonly chatTemplates: ChatTemplates;
  readonly tokenizer: TokenizerHandle;
}

/** Refers to an adapter in the Worker. @internal */
export interface AdapterHandle {
  readonly id: number;
  readonly info: AdapterInfo;
}

/** The properties of a session that the client can read without asking the Worker. @internal */
export interface SessionState {
  readonly length: number;
  readonly contextLength: number;
  readonly bytes: number;
  readonly rope: Readonly<RopeConfig> | null;
}

/** Properties of the runtime that the client can read without asking the Worker. @internal */
export interface RuntimeState {
  readonly build: Build;
  readonly kernels: Kernels;
  readonly threads: number;
}

/** Refers to a session in the Worker. @internal */
export interface SessionHandle {
  readonly id: number;
  readonly state: SessionState;
}

/** The result of a method, and the new state of the session if it belongs to one. @internal */
export interface Reply {
  readonly value?: unknown;
  readonly state?: SessionState;
}

/** The methods of the server inside the Worker. @internal */
export interface ServerMethods {
  load(options: CloneableOptions<LoadOptions>): Promise<RuntimeState>;
  useThreads(threads: number | "auto"): Promise<number>;
  memoryBytes(): number;
  model(call: Call, source: ModelSource, options: CloneableOptions<ModelOptions>): Promise<ModelHandle>;
  adapter(
    call: Call,
    model: number,
    source: ModelSource,
    options: CloneableOptions<LoadAdapterOptions>,
  ): Promise<AdapterHandle>;
  modelInfo(call: Call, source: ModelSource, options: CloneableOptions<ModelOptions>): Promise<ModelInfo>;
  cachedModels(): Promise<CachedModel[]>;
  deleteCachedModel(source: string): Promise<boolean>;
  tokenizer(source: object, tokenizerConfig?: object): Promise<TokenizerHandle>;
  encodeChat(tokenizer: number, text: string | readonly PromptPiece[]): Int32Array;
  session(model: number, options: SessionOptions): SessionHandle;
  openSession(model: number, name: string, options: OpenSessionOptions): Promise<SessionHandle>;
  fork(session: number, options: ForkOptions): SessionHandle;
  sessionState(session: number): SessionState;
  /**
   * Calls a method of an object or reads a property. `call` and `options` are for methods with a signal or callbacks in
   * their last argument.
   */
  invoke(id: number, name: string, args: readonly unknown[], call?: Call, options?: object): Promise<Reply>;
  /** Starts generating: in a session, or with a model and a prompt. */
  generate(call: Call, id: number, options: CloneableOptions<ModelGenerateOptions>, prompt?: Prompt): void;
  generateMany(
    call: Call,
    model: number,
    options: CloneableOptions<GenerateManyOptions>,
    prompts: readonly Prompt[],
  ): void;
  /** The next piece of a generation; none after the last. */
  nextPiece(call: number): Promise<Reply & { readonly piece?: Piece }>;
  /** Ends a generation. */
  endGeneration(call: number): Promise<Reply>;
  abort(call: number): void;
  dispose(id: number): void;
}

/** Methods as the other side sees them. */
type Remote<Methods extends Record<keyof Methods, (...args: never) => unknown>> = {
  [Name in keyof Methods]: (...args: Parameters<Methods[Name]>) => Promise<Awaited<ReturnType<Methods[Name]>>>;
};

/** The server as the client sees it. @internal */
export type RemoteServer = Remote<ServerMethods>;

/** One end of the message channel: a Worker, or the global scope inside it. @internal */
export interface Endpoint {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: object): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: object): void;
}

/** What the server calls in the caller's thread. @internal */
export interface ClientMethods extends HelperMethods {
  callback(call: number, name: Callback, value: unknown): void;
}

/** What the server calls in a page, and nowhere else. @internal */
export interface HelperMethods {
  /** Starts a helper thread, which gets its task from `port`. Resolves with the reason if it can't start, or ends by itself. */
  startHelper(id: number, port: MessagePort): Promise<string>;
  endHelper(id: number): void;
}

/** The client as the server sees it. @internal */
export type RemoteClient = Remote<ClientMethods>;
