// The Worker's side: owns models, sessions and tokenizers by id, and serves the calls of one client.
import { expose, transfer, wrap } from "comlink";
import { fail } from "../base/errors.js";
import type { CachedModel } from "../files/cache/models.js";
import type { ModelSource } from "../files/model_files.js";
import { type LoadOptions, loadOn, type Platform } from "../load/load.js";
import type { Piece } from "../model/session/generate.js";
import type { Adapter } from "../model/adapters/adapter.js";
import type { AdapterOptions } from "../model/adapters/in_use.js";
import type { DraftModel } from "../model/session/draft.js";
import { receiveDraft } from "./draft_handle.js";
import type { Model, ModelInfo, Prompt } from "../model/model.js";
import type { LoadAdapterOptions, ModelOptions } from "../model/options.js";
import type {
  ForkOptions,
  GenerateManyOptions,
  ModelGenerateOptions,
  OpenSessionOptions,
  SessionOptions,
} from "../model/session/options.js";
import type { Session } from "../model/session/session.js";
import type { Ropewalk } from "../load/runtime.js";
import type { PromptPiece } from "../text/chat_template.js";
import { encodeChat, type Tokenizer } from "../text/tokenizer.js";
import { registerErrorTransfer } from "./error_transfer.js";
import { receivedAdapters } from "./worker_adapter.js";
import type {
  AdapterHandle,
  Call,
  ClientMethods,
  CloneableOptions,
  Endpoint,
  ModelHandle,
  RemoteClient,
  Reply,
  RuntimeState,
  ServerMethods,
  SessionHandle,
  SessionState,
  TokenizerHandle,
} from "./protocol.js";

interface Kinds {
  adapter: Adapter;
  model: Model;
  session: Session;
  tokenizer: Tokenizer;
}
type Kind = keyof Kinds;
type Entry = { [One in Kind]: { kind: One; object: Kinds[One] } }[Kind];

/** Ids say which kind their object is, also when it is disposed. */
const KINDS = ["adapter", "model", "session", "tokenizer"] as const satisfies readonly Kind[];

/**
 * A running generation. `session` is undefined if the generation has a temporary session, which the caller doesn't
 * know.
 */
interface Generation {
  readonly pieces: AsyncGenerator<Piece, void, void>;
  readonly session: Session | undefined;
  readonly controller: AbortController;
}

/** Methods and properties that a client may invoke. */
const INVOCABLE = {
  adapter: [],
  model: ["renderPrompt", "readPrompt", "perplexity", "embed", "rank"],
  tokenizer: ["encode", "encodePair", "decode", "token", "bytes", "idOf", "isSpecial"],
  session: [
    "append",
    "tokens",
    "text",
    "logits",
    "logprobs",
    "logprobOf",
    "hidden",
    "attention",
    "keys",
    "values",
    "trace",
    "steer",
    "useAdapters",
    "rewind",
    "shift",
    "retune",
    "extend",
    "save",
    "restore",
    "keep",
  ],
} as const satisfies { [One in Kind]: readonly (keyof Kinds[One])[] };

/** Runs a client's calls inside the Worker. @internal */
export class RpcServer implements ServerMethods {
  readonly #platform: Platform;
  readonly #client: RemoteClient;
  readonly #objects = new Map<number, Entry>();
  readonly #calls = new Map<number, AbortController>();
  readonly #generations = new Map<number, Generation>();
  #runtime: Ropewalk | undefined;
  #last = 0;

  constructor(platform: Platform, client: RemoteClient) {
    this.#platform = platform;
    this.#client = client;
  }

  async load(options: CloneableOptions<LoadOptions>): Promise<RuntimeState> {
    this.#runtime = await loadOn(this.#platform, options);
    const { build, kernels, threads } = this.#runtime;
    return { build, kernels, threads };
  }

  async useThreads(threads: number | "auto"): Promise<number> {
    await this.#rw.useThreads(threads);
    return this.#rw.threads;
  }

  memoryBytes(): number {
    return this.#rw.memoryBytes;
  }

  async model(call: Call, source: ModelSource, options: CloneableOptions<ModelOptions>): Promise<ModelHandle> {
    const model = await this.#run(call, options, (all) => this.#rw.model(source, all));
    const { info, rope, chatTemplates, tokenizer } = model;
    return {
      id: this.#add({ kind: "model", object: model }),
      info,
      rope,
      chatTemplates: { ...chatTemplates },
      tokenizer: this.#addTokenizer(tokenizer),
    };
  }

  async adapter(
    call: Call,
    model: number,
    source: ModelSource,
    options: CloneableOptions<LoadAdapterOptions>,
  ): Promise<AdapterHandle> {
    const object = await this.#run(call, options, (all) => this.#get("model", model).loadAdapter(source, all));
    return { id: this.#add({ kind: "adapter", object }), info: object.info };
  }

  modelInfo(call: Call, source: ModelSource, options: CloneableOptions<ModelOptions>): Promise<ModelInfo> {
    return this.#run(call, options, (all) => this.#rw.modelInfo(source, all));
  }

  cachedModels(): Promise<CachedModel[]> {
    return this.#rw.cachedModels();
  }

  deleteCachedModel(source: string): Promise<boolean> {
    return this.#rw.deleteCachedModel(source);
  }

  async tokenizer(source: object, tokenizerConfig?: object): Promise<TokenizerHandle> {
    return this.#addTokenizer(await this.#rw.tokenizer(source, tokenizerConfig));
  }

  encodeChat(tokenizer: number, text: string | readonly PromptPiece[]): Int32Array {
    return encodeChat(this.#get("tokenizer", tokenizer), text);
  }

  session(model: number, options: SessionOptions): SessionHandle {
    return this.#addSession(this.#get("model", model).session(this.#received(options)));
  }

  async openSession(model: number, name: string, options: OpenSessionOptions): Promise<SessionHandle> {
    return this.#addSession(await this.#get("model", model).openSession(name, this.#received(options)));
  }

  fork(session: number, options: ForkOptions): SessionHandle {
    return this.#addSession(this.#get("session", session).fork(options));
  }

  sessionState(session: number): SessionState {
    return stateOf(this.#get("session", session));
  }

  async invoke(id: number, name: string, args: readonly unknown[], call?: Call, options: object = {}): Promise<Reply> {
    const { kind, object } = this.#entry(id);
    if (!(INVOCABLE[kind] as readonly string[]).includes(name))
      fail("INVALID_ARGUMENT", name, `isn't a method or property of a ${kind}`);
    const property = (object as unknown as Record<string, unknown>)[name];
    const given = name === "useAdapters" ? [this.#adapters(args[0])] : args;
    const invoke = (more: readonly unknown[]): unknown =>
      typeof property === "function" ? property.apply(object, [...given, ...more]) : property;
    const value =
      call === undefined
        ? await invoke([])
        : await this.#run(call, this.#received(options), async (all) => await invoke([all]));
    return reply(value, kind === "session" ? object : undefined);
  }

  generate(call: Call, id: number, options: CloneableOptions<ModelGenerateOptions>, prompt?: Prompt): void {
    const controller = new AbortController();
    const all = { ...this.#received(options), signal: controller.signal };
    const session = prompt === undefined ? this.#get("session", id) : undefined;
    const pieces = session === undefined ? this.#get("model", id).generate(prompt!, all) : session.generate(all);
    this.#generations.set(call.id, { pieces, session, controller });
  }

  generateMany(
    call: Call,
    model: number,
    options: CloneableOptions<GenerateManyOptions>,
    prompts: readonly Prompt[],
  ): void {
    const controller = new AbortController();
    const pieces = this.#get("model", model).generateMany(prompts, {
      ...this.#received(options),
      signal: controller.signal,
    });
    this.#generations.set(call.id, { pieces, session: undefined, controller });
  }

  /** Options with the objects that the message named by their numbers. */
  #received<Options extends { draft?: DraftModel; adapters?: AdapterOptions }>(options: Options): Options {
    const { adapters, ...others } = receiveDraft(options, (id) => this.#find("model", id));
    return { ...others, ...(adapters !== undefined && { adapters: this.#adapters(adapters) }) } as Options;
  }

  #adapters(sent: unknown): AdapterOptions {
    return receivedAdapters(sent, (id) => this.#get("adapter", id));
  }

  async nextPiece(call: number): Promise<Reply & { piece?: Piece }> {
    const generation = this.#generations.get(call);
    if (generation === undefined) fail("DISPOSED", "generate", "has ended");
    const { value } = await generation.pieces.next();
    return { ...reply(undefined, generation.session), ...(value !== undefined && { piece: value }) };
  }

  async endGeneration(call: number): Promise<Reply> {
    const generation = this.#generations.get(call);
    this.#generations.delete(call);
    await generation?.pieces.return();
    return reply(undefined, generation?.session);
  }

  abort(call: number): void {
    (this.#calls.get(call) ?? this.#generations.get(call)?.controller)?.abort();
  }

  dispose(id: number): void {
    const entry = this.#objects.get(id);
    this.#objects.delete(id);
    if (entry !== undefined && entry.kind !== "tokenizer") entry.object.dispose();
  }

  get #rw(): Ropewalk {
    if (this.#runtime === undefined) fail("NOT_LOADED", "", "call `await load()` first");
    return this.#runtime;
  }

  #add(entry: Entry): number {
    const id = ++this.#last * KINDS.length + KINDS.indexOf(entry.kind);
    this.#objects.set(id, entry);
    return id;
  }

  #addTokenizer(tokenizer: Tokenizer): TokenizerHandle {
    const { vocabularySize, beginToken, endTokens, addsBegin } = tokenizer;
    const id = this.#add({ kind: "tokenizer", object: tokenizer });
    return { id, vocabularySize, beginToken, endTokens, addsBegin };
  }

  #addSession(session: Session): SessionHandle {
    return { id: this.#add({ kind: "session", object: session }), state: stateOf(session) };
  }

  #entry(id: number): Entry {
    const entry = this.#objects.get(id);
    if (entry === undefined) failDisposed(KINDS[id % KINDS.length]!);
    return entry;
  }

  #get<One extends Kind>(kind: One, id: number): Kinds[One] {
    return this.#find(kind, id) ?? failDisposed(kind);
  }

  #find<One extends Kind>(kind: One, id: number): Kinds[One] | undefined {
    const entry = this.#objects.get(id);
    return entry?.kind === kind ? (entry.object as Kinds[One]) : undefined;
  }

  /** Runs a call with a local signal and local callbacks that stand for the client's. */
  async #run<Options extends object, T>(
    call: Call,
    options: Options,
    run: (options: Options & { signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    this.#calls.set(call.id, controller);
    const callbacks = Object.fromEntries(
      call.callbacks.map((name) => [name, (value: unknown) => void this.#client.callback(call.id, name, value)]),
    );
    try {
      return await run({ ...options, ...callbacks, signal: controller.signal });
    } finally {
      this.#calls.delete(call.id);
    }
  }
}

/** Serves the client at the other end of `endpoint` with a module of the platform. @internal */
export function serveClient(endpoint: Endpoint, platformFor: (client: RemoteClient) => Platform): void {
  registerErrorTransfer();
  const client: RemoteClient = wrap<ClientMethods>(endpoint);
  expose(new RpcServer(platformFor(client), client), endpoint);
}

function failDisposed(kind: Kind): never {
  fail("DISPOSED", kind, "has been disposed");
}

function stateOf({ length, contextLength, bytes, rope }: Session): SessionState {
  return { length, contextLength, bytes, rope };
}

/** An array that fills its buffer was created for the reply, so it's transferred instead of copied. */
function reply(value: unknown, session: Session | undefined): Reply {
  const result: Reply = { value, ...(session !== undefined && { state: stateOf(session) }) };
  const ownsBuffer =
    ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength;
  return ownsBuffer ? transfer(result, [value.buffer]) : result;
}
