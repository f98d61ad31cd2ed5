// What a caller and its Worker ask of one another. Everything in it can be cloned from one to the other.
import type { RopeConfig } from "../config/types.js";
import type { CachedModel } from "../files/cache/models.js";
import type { ModelSource } from "../files/model_files.js";
import type { LoadOptions } from "../load/load.js";
import type { GenerateOptions, Piece } from "../model/generate.js";
import type { ModelInfo, ModelOptions, Prompt } from "../model/model.js";
import type { SessionOptions } from "../model/session.js";
import type { Build } from "../load/runtime.js";
import type { Tokenizer } from "../text/tokenizer.js";

/** Options that cannot be cloned: functions that are called in the caller's thread. @internal */
export const LISTENERS = ["onProgress", "onWarning"] as const;
/** One of {@link LISTENERS}. @internal */
export type Listener = (typeof LISTENERS)[number];

/** A call that may be aborted, or tells of itself while it goes on. @internal */
export interface Call {
  readonly id: number;
  /** What the caller listens to. */
  readonly listeners: readonly Listener[];
}

/** Options as they go to the Worker. @internal */
export type Plain<Options> = Omit<Options, "signal" | Listener>;

/** What is known of a tokenizer without asking. @internal */
export type TokenizerFacts = Pick<Tokenizer, "vocabularySize" | "beginToken" | "endTokens" | "addsBegin">;

/** A tokenizer that the Worker holds. @internal */
export interface HeldTokenizer extends TokenizerFacts {
  readonly id: number;
}

/** A model that the Worker holds. @internal */
export interface HeldModel {
  readonly id: number;
  readonly info: ModelInfo;
  readonly rope: Readonly<RopeConfig> | null;
  readonly chatTemplate: string | undefined;
  readonly tokenizer: HeldTokenizer;
}

/** How a session stands. @internal */
export interface SessionState {
  readonly length: number;
  readonly contextLength: number;
  readonly bytes: number;
  readonly rope: Readonly<RopeConfig> | null;
}

/** A session that the Worker holds. @internal */
export interface HeldSession {
  readonly id: number;
  readonly state: SessionState;
}

/** What a method returned, and how the session stands where it was one's. @internal */
export interface Answer {
  readonly value?: unknown;
  readonly state?: SessionState;
}

/** What the Worker does. @internal */
export interface Host {
  load(options: Plain<LoadOptions>): Promise<Build>;
  memoryBytes(): number;
  model(call: Call, source: ModelSource, options: Plain<ModelOptions>): Promise<HeldModel>;
  modelInfo(call: Call, source: ModelSource, options: Plain<ModelOptions>): Promise<ModelInfo>;
  cachedModels(): Promise<CachedModel[]>;
  deleteCachedModel(source: string): Promise<boolean>;
  tokenizer(source: object, tokenizerConfig?: object): Promise<HeldTokenizer>;
  session(model: number, options: SessionOptions): HeldSession;
  fork(session: number): HeldSession;
  stateOf(session: number): SessionState;
  /** Calls a method of what is held, or reads a property; `call` and `options` where its last argument is options that listen. */
  ask(id: number, name: string, args: readonly unknown[], call?: Call, options?: object): Promise<Answer>;
  /** Begins a text, of a session, or of a model with a prompt. */
  generate(call: Call, id: number, options: Plain<GenerateOptions & SessionOptions>, prompt?: Prompt): void;
  /** Its next piece; none when it is over. */
  next(call: number): Promise<Answer & { readonly piece?: Piece }>;
  /** Ends it. */
  leave(call: number): Promise<Answer>;
  abort(call: number): void;
  dispose(id: number): void;
}

/** The Worker as its caller sees it. @internal */
export type RemoteHost = {
  [Name in keyof Host]: (...args: Parameters<Host[Name]>) => Promise<Awaited<ReturnType<Host[Name]>>>;
};

/** One end of the line between both: a Worker, or what a Worker sees of its caller. @internal */
export interface Endpoint {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: object): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: object): void;
}

/** What the caller does for the Worker. @internal */
export interface Caller {
  hear(call: number, listener: Listener, value: unknown): void;
}
