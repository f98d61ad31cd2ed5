// The API over a Worker: one row for each member of Session, Model, Adapter, Tokenizer and Ropewalk, and the types that follow from them.
// A new member gets its row here, and nothing else: the client and the Worker both go by these tables.
import type { asyncDisposeSymbol } from "../../core/base/dispose.js";
import type { RopewalkError } from "../../core/base/errors.js";
import type { Ropewalk } from "../ropewalk/ropewalk.js";
import type { Adapter } from "../model/run/adapter.js";
import { DECIDE_OPTIONS } from "../model/decide/options.js";
import { EMBED_OPTIONS, RANK_OPTIONS } from "../model/embed/options.js";
import type { Model } from "../model/model.js";
import { WRITTEN_PROMPT_OPTIONS } from "../model/prompt.js";
import {
  ADAPTER_OPTIONS,
  MODEL_INFO_OPTIONS,
  type ModelOptions,
  PERPLEXITY_OPTIONS,
  WORKER_MODEL_OPTIONS,
} from "../model/run/options.js";
import {
  APPEND_OPTIONS,
  CHAT_TURN_OPTIONS,
  COMPLETE_OPTIONS,
  EXTEND_OPTIONS,
  FORK_OPTIONS,
  GENERATE_MANY_OPTIONS,
  GENERATE_OPTIONS,
  MODEL_GENERATE_OPTIONS,
  OPEN_SESSION_OPTIONS,
  RESTORE_OPTIONS,
  RETUNE_OPTIONS,
  SESSION_OPTIONS,
  SHIFT_OPTIONS,
} from "../model/session/options.js";
import type { Session } from "../model/session/session.js";
import { TRACE_OPTIONS } from "../model/session/trace_options.js";
import { CHAT_OPTIONS } from "../text/chat_options.js";
import type { Tokenizer } from "../text/tokenizer.js";
import type { ModelSource } from "../files/model_files.js";
import {
  ADAPTERS,
  DOCUMENTS,
  NAME,
  type ObjectKind,
  PLAIN,
  PROMPT,
  PROMPTS,
  QUERY,
  SAVED,
  SOURCE,
  TEXT,
  TEXTS,
  TOKENS,
} from "./arguments.js";
import { change, DISPOSE, END_WORKER, FACT, here, PROMISE, read, type Row, type Rows, STATE, stream } from "./rows.js";

export const SESSION = {
  length: STATE,
  contextLength: STATE,
  bytes: STATE,
  rope: STATE,
  tokens: PROMISE,
  text: PROMISE,
  adapters: here("the caller knows what it has set"),
  append: change([TEXT], APPEND_OPTIONS),
  trace: change([TEXT], TRACE_OPTIONS),
  onLayer: here("a function can't be sent, and the Worker can't wait for the caller's thread; steer() can be sent"),
  steer: change([PLAIN]),
  useAdapters: change([ADAPTERS], undefined, { keeps: true }),
  logits: read(),
  logprobs: read([PLAIN]),
  logprobOf: read([PLAIN]),
  hidden: read(),
  attention: read([PLAIN]),
  keys: read([PLAIN]),
  values: read([PLAIN]),
  generate: stream([], GENERATE_OPTIONS),
  chat: stream([PLAIN], CHAT_TURN_OPTIONS, { warns: true }),
  bringTo: change([TOKENS], APPEND_OPTIONS),
  rewind: change([PLAIN]),
  shift: change([], SHIFT_OPTIONS),
  retune: change([PLAIN], RETUNE_OPTIONS),
  extend: change([], EXTEND_OPTIONS),
  fork: read([], FORK_OPTIONS, { returns: "session" }),
  save: read(),
  restore: change([SAVED], RESTORE_OPTIONS),
  keep: read([NAME]),
  dispose: DISPOSE,
} as const satisfies Rows<Session>;

export const MODEL = {
  info: FACT,
  rope: FACT,
  chatTemplate: FACT,
  chatTemplates: FACT,
  tokenizer: { ...FACT, returns: "tokenizer" },
  onWarning: here("the client has it, from the options of loading"),
  session: read([], SESSION_OPTIONS, { returns: "session" }),
  openSession: read([NAME], OPEN_SESSION_OPTIONS, { returns: "session" }),
  loadAdapter: read([SOURCE], ADAPTER_OPTIONS, { returns: "adapter", made: countAdapter }),
  generate: stream([PROMPT], MODEL_GENERATE_OPTIONS, { warns: true }),
  complete: read([PROMPT], COMPLETE_OPTIONS, { warns: true }),
  generateMany: stream([PROMPTS], GENERATE_MANY_OPTIONS, { warns: true }),
  promptTokens: read([PROMPT], { ...CHAT_OPTIONS, call: "promptTokens()" }, { warns: true }),
  readPrompt: read([PROMPT, PLAIN]),
  writtenTokens: read([PLAIN], WRITTEN_PROMPT_OPTIONS),
  renderChat: read([PLAIN], CHAT_OPTIONS, { warns: true }),
  renderPrompt: read([PLAIN, PLAIN]),
  perplexity: read([TEXT], PERPLEXITY_OPTIONS),
  embed: read([TEXTS], EMBED_OPTIONS),
  embedCounted: read([TEXTS], EMBED_OPTIONS),
  rank: read([QUERY, DOCUMENTS], RANK_OPTIONS),
  decide: read([PLAIN, PLAIN], DECIDE_OPTIONS, { warns: true }),
  dispose: DISPOSE,
} as const satisfies Rows<Model>;

const INTERNAL = "an adapter is used in the Worker, where it is whole";

export const ADAPTER = {
  info: FACT,
  fingerprint: here(INTERNAL),
  model: here(INTERNAL),
  address: here(INTERNAL),
  checkAlive: here(INTERNAL),
  dispose: DISPOSE,
} as const satisfies Rows<Adapter>;

export const TOKENIZER = {
  vocabularySize: FACT,
  beginToken: FACT,
  endTokens: FACT,
  addsBegin: FACT,
  encode: read([PLAIN, PLAIN]),
  encodePair: read([PLAIN, PLAIN, PLAIN]),
  decode: read([TOKENS, PLAIN]),
  token: read([PLAIN]),
  bytes: read([PLAIN]),
  idOf: read([PLAIN]),
  isSpecial: read([PLAIN]),
  stream: here("generated pieces contain their text, and a message for each token would be slow"),
} as const satisfies Rows<Tokenizer>;

const KERNELS = "it works on arrays of the caller's thread, which load() of ropewalk does without copies";

export const ROPEWALK = {
  build: FACT,
  kernels: FACT,
  threads: STATE,
  oneThread: STATE,
  memoryBytes: PROMISE,
  useThreads: change([PLAIN]),
  model: read([SOURCE], WORKER_MODEL_OPTIONS, { returns: "model" }),
  modelInfo: read([SOURCE], MODEL_INFO_OPTIONS),
  cachedModels: read(),
  deleteCachedModel: read([SOURCE]),
  tokenizer: read([PLAIN, PLAIN], undefined, { returns: "tokenizer" }),
  rope: here(KERNELS),
  tensor: here(KERNELS),
  rotate: here(KERNELS),
  describe: here(KERNELS),
  convertPairing: here(KERNELS),
  quantizeRows: here(KERNELS),
  smallestBase: here(KERNELS),
  attention: here(KERNELS),
  kvCache: here(KERNELS),
  kvCacheBytes: here(KERNELS),
  linearAttention: here(KERNELS),
  linearState: here(KERNELS),
  sinusoidalTable: here(KERNELS),
  alibiSlopes: here(KERNELS),
  t5Buckets: here(KERNELS),
  dispose: END_WORKER,
} as const satisfies Rows<Ropewalk & Ending>;

/** The tables by the classes of their objects. @internal */
export const TABLES: Readonly<Record<ObjectKind, Readonly<Record<string, Row>>>> = {
  adapter: ADAPTER,
  model: MODEL,
  ropewalk: ROPEWALK,
  session: SESSION,
  tokenizer: TOKENIZER,
};

/** Counts the memory of an adapter in the description of its model, until it is disposed of. */
function countAdapter(
  { info: { memory } }: Pick<Model, "info">,
  { info: { bytes } }: Pick<Adapter, "info">,
): () => void {
  memory.adapters += bytes;
  return () => void (memory.adapters -= bytes);
}

/** What the module in a Worker has that the one in this thread hasn't. */
interface Ending {
  dispose(): void;
}

/** What the client has for a value. */
type Remotely<Value> = Value extends Session
  ? WorkerSession
  : Value extends Model
    ? WorkerModel
    : Value extends Adapter
      ? WorkerAdapter
      : Value extends Tokenizer
        ? WorkerTokenizer
        : Value;

/** What the client has for a member that the Worker is asked for. A method that gives promises, or pieces, stays as it is. */
type Asked<Member> = [Member] extends [(...args: infer Args) => infer Result]
  ? [Result] extends [AsyncGenerator]
    ? Member
    : [Result] extends [Promise<infer Value>]
      ? [Value] extends [Remotely<Value>]
        ? Member
        : (...args: Args) => Promise<Remotely<Value>>
      : (...args: Args) => Promise<Remotely<Result>>
  : Promise<Member>;

type OfKind<Table, Kind> = { [Name in keyof Table]: Table[Name] extends { kind: Kind } ? Name : never }[keyof Table];
type Known<Local, Names extends keyof Local> = { readonly [Name in Names]: Remotely<Local[Name]> };
type Waiting<Local, Names extends keyof Local> = { readonly [Name in Names]: Asked<Local[Name]> };

/** What can be disposed of. */
interface Disposing {
  /** Same as `dispose()`. */
  [asyncDisposeSymbol](): Promise<void>;
}

/** A local class over a Worker, by the rows of its table. */
export type Remote<Local, Table> = Known<Local, OfKind<Table, "fact" | "state"> & keyof Local> &
  Waiting<Local, OfKind<Table, "promise" | "read" | "change" | "stream" | "dispose"> & keyof Local>;

/**
 * A session of a model in a Worker: like {@link Session}, but with promises. `length`, `contextLength`, `bytes` and `rope`
 * are those of the Worker's last reply.
 *
 * Calls on a session run one after the other, in the order in which they were made. Calls wait for a generation until
 * its last piece, or until its loop is left. Only those that read (`tokens`, `text`, `logits`, `logprobs`, `logprobOf`,
 * `hidden`, `attention`, `keys`, `values`, `save`, `keep`, `fork`) run between two pieces. If the loop doesn't ask for a piece for a second while other calls
 * wait, they end the generation: the next step of its loop throws INVALID_ARGUMENT.
 */
export interface WorkerSession extends Remote<Session, typeof SESSION>, Disposing {}

/** A model in a Worker: like {@link Model}, but with promises. */
export interface WorkerModel extends Remote<Model, typeof MODEL>, Disposing {
  /** @internal */
  readonly onWarning: Model["onWarning"];
}

/** A LoRA adapter in a Worker: like {@link Adapter}, but with promises. */
export interface WorkerAdapter extends Remote<Adapter, typeof ADAPTER>, Disposing {}

/**
 * A tokenizer in a Worker: like {@link Tokenizer}, but with promises. It has no `stream`, because generated pieces contain
 * their text.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- a name for the declarations
export interface WorkerTokenizer extends Remote<Tokenizer, typeof TOKENIZER> {}

/** Options for loading a model in a Worker. */
export interface WorkerModelOptions extends ModelOptions {
  /**
   * Whether to transfer the ArrayBuffer or Uint8Array with the model to the Worker, which leaves it empty here.
   * Default: false, it's copied.
   */
  transfer?: boolean;
}

/** The module in a Worker: loads models, as {@link Ropewalk} does. Created by `load()` of `ropewalk/worker`. */
export interface WorkerRopewalk extends Remote<Ropewalk & Ending, typeof ROPEWALK>, Disposing {
  /**
   * Loads a model as `rw.model()` does. The Worker reads and downloads the files.
   * @throws {@link RopewalkError} as `Ropewalk.model`; rejects with the signal's reason.
   */
  model(source: ModelSource, options?: WorkerModelOptions): Promise<WorkerModel>;
  /**
   * Resolves when the Worker has ended by itself: it crashed, or the browser ended it. Pending and later calls reject with the
   * same THREAD_LOST, field `worker`; `dispose()` still works. Load a new one. Stays pending after `dispose()`.
   */
  readonly ended: Promise<RopewalkError>;
  /** Ends the Worker and frees all its memory. Pending and later calls reject with DISPOSED. */
  dispose(): Promise<void>;
}
