import { expose, transfer, wrap } from "comlink";
import { RopewalkError } from "../base/errors.js";
import type { CachedModel } from "../files/cache/models.js";
import type { ModelSource } from "../files/model_files.js";
import type { Load, LoadOptions } from "../load/load.js";
import type { GenerateOptions, Piece } from "../model/generate.js";
import type { Model, ModelInfo, ModelOptions, Prompt } from "../model/model.js";
import type { Session, SessionOptions } from "../model/session.js";
import type { Build, Ropewalk } from "../load/runtime.js";
import type { Tokenizer } from "../text/tokenizer.js";
import type {
  Answer,
  Call,
  Caller,
  Endpoint,
  HeldModel,
  HeldSession,
  HeldTokenizer,
  Host,
  Plain,
  SessionState,
} from "./protocol.js";
import { passErrors } from "./thrown.js";

interface Kinds {
  model: Model;
  session: Session;
  tokenizer: Tokenizer;
}
type Kind = keyof Kinds;
type Held = { [One in Kind]: { kind: One; it: Kinds[One] } }[Kind];

/** A text that goes on, and the session it is of, where that is the caller's. */
interface Text {
  readonly pieces: AsyncGenerator<Piece, void, void>;
  readonly session: Session | undefined;
  readonly controller: AbortController;
}

/** What a caller may ask of what is held. */
const ASKED = {
  model: ["renderChat", "promptTokens", "perplexity", "embed"],
  tokenizer: ["encode", "decode", "token", "idOf", "isSpecial"],
  session: [
    "append",
    "tokens",
    "text",
    "logits",
    "logprobs",
    "logprobOf",
    "hidden",
    "rewind",
    "shift",
    "retune",
    "extend",
    "save",
    "restore",
  ],
} as const satisfies { [One in Kind]: readonly (keyof Kinds[One])[] };

/** The Worker's side: holds models, sessions and texts by numbers, and does with them what its caller asks. @internal */
export class WorkerHost implements Host {
  readonly #load: Load;
  readonly #hear: Caller["hear"];
  readonly #held = new Map<number, Held>();
  readonly #calls = new Map<number, AbortController>();
  readonly #texts = new Map<number, Text>();
  #runtime: Ropewalk | undefined;
  #lastId = 0;

  constructor(load: Load, hear: Caller["hear"]) {
    this.#load = load;
    this.#hear = hear;
  }

  async load(options: Plain<LoadOptions>): Promise<Build> {
    this.#runtime = await this.#load(options);
    return this.#runtime.build;
  }

  memoryBytes(): number {
    return this.#rw.memoryBytes;
  }

  async model(call: Call, source: ModelSource, options: Plain<ModelOptions>): Promise<HeldModel> {
    const model = await this.#during(call, options, (all) => this.#rw.model(source, all));
    const { info, rope, chatTemplate, tokenizer } = model;
    return {
      id: this.#hold({ kind: "model", it: model }),
      info,
      rope,
      chatTemplate,
      tokenizer: this.#holdTokenizer(tokenizer),
    };
  }

  modelInfo(call: Call, source: ModelSource, options: Plain<ModelOptions>): Promise<ModelInfo> {
    return this.#during(call, options, (all) => this.#rw.modelInfo(source, all));
  }

  cachedModels(): Promise<CachedModel[]> {
    return this.#rw.cachedModels();
  }

  deleteCachedModel(source: string): Promise<boolean> {
    return this.#rw.deleteCachedModel(source);
  }

  async tokenizer(source: object, tokenizerConfig?: object): Promise<HeldTokenizer> {
    return this.#holdTokenizer(await this.#rw.tokenizer(source, tokenizerConfig));
  }

  session(model: number, options: SessionOptions): HeldSession {
    return this.#holdSession(this.#of("model", model).session(options));
  }

  fork(session: number): HeldSession {
    return this.#holdSession(this.#of("session", session).fork());
  }

  stateOf(session: number): SessionState {
    return stateOf(this.#of("session", session));
  }

  async ask(id: number, name: string, args: readonly unknown[], call?: Call, options: object = {}): Promise<Answer> {
    const { kind, it } = this.#heldAs(id);
    if (!(ASKED[kind] as readonly string[]).includes(name))
      throw new RopewalkError("INVALID_ARGUMENT", name, `is nothing that a ${kind} is asked`);
    const property = (it as unknown as Record<string, unknown>)[name];
    const run = (more: readonly unknown[]): unknown =>
      typeof property === "function" ? property.apply(it, [...args, ...more]) : property;
    const value =
      call === undefined ? await run([]) : await this.#during(call, options, async (all) => await run([all]));
    return answer(value, kind === "session" ? it : undefined);
  }

  generate(call: Call, id: number, options: Plain<GenerateOptions & SessionOptions>, prompt?: Prompt): void {
    const controller = new AbortController();
    const all = { ...options, signal: controller.signal };
    const session = prompt === undefined ? this.#of("session", id) : undefined;
    const pieces = session === undefined ? this.#of("model", id).generate(prompt!, all) : session.generate(all);
    this.#texts.set(call.id, { pieces, session, controller });
  }

  async next(call: number): Promise<Answer & { piece?: Piece }> {
    const text = this.#texts.get(call);
    if (text === undefined) throw new RopewalkError("DISPOSED", "text", "has been left");
    const { value } = await text.pieces.next();
    return { ...answer(undefined, text.session), ...(value !== undefined && { piece: value }) };
  }

  async leave(call: number): Promise<Answer> {
    const text = this.#texts.get(call);
    this.#texts.delete(call);
    await text?.pieces.return();
    return answer(undefined, text?.session);
  }

  abort(call: number): void {
    (this.#calls.get(call) ?? this.#texts.get(call)?.controller)?.abort();
  }

  dispose(id: number): void {
    const held = this.#held.get(id);
    this.#held.delete(id);
    if (held !== undefined && held.kind !== "tokenizer") held.it.dispose();
  }

  get #rw(): Ropewalk {
    if (this.#runtime === undefined) throw new RopewalkError("NOT_LOADED", "", "call `await load()` once before");
    return this.#runtime;
  }

  #hold(held: Held): number {
    this.#held.set(++this.#lastId, held);
    return this.#lastId;
  }

  #holdTokenizer(tokenizer: Tokenizer): HeldTokenizer {
    const { vocabularySize, beginToken, endTokens, addsBegin } = tokenizer;
    return { id: this.#hold({ kind: "tokenizer", it: tokenizer }), vocabularySize, beginToken, endTokens, addsBegin };
  }

  #holdSession(session: Session): HeldSession {
    return { id: this.#hold({ kind: "session", it: session }), state: stateOf(session) };
  }

  #heldAs(id: number): Held {
    const held = this.#held.get(id);
    if (held === undefined) throw new RopewalkError("DISPOSED", "", "it has been disposed of");
    return held;
  }

  #of<One extends Kind>(kind: One, id: number): Kinds[One] {
    const held = this.#held.get(id);
    if (held?.kind !== kind) throw new RopewalkError("DISPOSED", kind, "has been disposed of");
    return held.it as Kinds[One];
  }

  /** Runs a call with a signal and listeners of its own, in the place of its caller's. */
  async #during<Options extends object, T>(
    call: Call,
    options: Options,
    run: (options: Options & { signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    this.#calls.set(call.id, controller);
    const listeners = Object.fromEntries(
      call.listeners.map((name) => [name, (value: unknown) => this.#hear(call.id, name, value)]),
    );
    try {
      return await run({ ...options, ...listeners, signal: controller.signal });
    } finally {
      this.#calls.delete(call.id);
    }
  }
}

/** Serves a caller at the other end of `endpoint`. @internal */
export function serveCaller(endpoint: Endpoint, load: Load): void {
  passErrors();
  const caller = wrap<Caller>(endpoint);
  expose(new WorkerHost(load, (call, listener, value) => void caller.hear(call, listener, value)), endpoint);
}

function stateOf({ length, contextLength, bytes, rope }: Session): SessionState {
  return { length, contextLength, bytes, rope };
}

/** An array that was made for the answer moves to the caller. */
function answer(value: unknown, session: Session | undefined): Answer {
  const whole: Answer = { value, ...(session !== undefined && { state: stateOf(session) }) };
  const isMade =
    ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength;
  return isMade ? transfer(whole, [value.buffer]) : whole;
}
