// The objects that the caller's thread holds for those of a Worker. The members of their classes are made from the tables of the remote API.
import * as advise from "../../core/base/advice.js";
import { asyncDisposeSymbol } from "../../core/base/dispose.js";
import { fail, type RopewalkError } from "../../core/base/errors.js";
import { looped } from "../model/run/looped.js";
import { CallQueue } from "../model/session/call_queue.js";
import { type OnWarning, printWarning } from "../text/chat/problems.js";
import { type LocalOptions, type ObjectKind, sendOptions, type Sending, splitOptions } from "./arguments.js";
import type { Handle, Properties, Reply } from "./protocol.js";
import { TABLES } from "./remote_api.js";
import type { Method, Property } from "./rows.js";
import type { LocalCall, Message, RpcClient } from "./rpc_client.js";

/** A call as it is sent, and what of it stays here. */
interface ReadyCall {
  readonly message: Message;
  readonly local: LocalCall;
}

/** A step of a stream. */
type Step = { readonly finish?: unknown };

const NO_OPTIONS: LocalOptions = { callbacks: {}, transfer: false };

/** @internal */
export class RemoteObject {
  readonly #client: RpcClient;
  readonly #kind: ObjectKind;
  readonly #id: number;
  /** The calls on a session run one after the other. */
  readonly #queue: CallQueue | undefined;
  /** Where warnings of its calls go, as the options that it was made with say. */
  readonly #onWarning: OnWarning;
  /** What mustn't be garbage-collected, and so disposed of, before it: its model, and its adapters. */
  #keeps: readonly object[];
  #properties: Properties;
  #isDisposed = false;
  #onDispose: (() => void) | undefined;

  constructor(
    client: RpcClient,
    kind: ObjectKind,
    { id, properties }: Handle,
    keeps: readonly object[] = [],
    onWarning?: OnWarning,
  ) {
    this.#client = client;
    this.#kind = kind;
    this.#id = id;
    this.#keeps = keeps;
    this.#onWarning = onWarning;
    this.#properties = properties;
    if (kind === "session")
      this.#queue = new CallQueue(() => {
        if (this.#isDisposed)
          fail("DISPOSED", "session", "is disposed", advise.code("create a new one with model.session()"));
      });
    for (const [name, row] of Object.entries(TABLES[kind]))
      if (row.kind === "fact" && row.returns !== undefined)
        this.#store({ [name]: RemoteObject.create(client, row.returns, properties[name] as Handle) });
    if (kind !== "ropewalk") client.watch(this, id);
  }

  /** The object of a handle. */
  static create(...args: ConstructorParameters<typeof RemoteObject>): RemoteObject {
    return new CLASSES[args[1]](...args);
  }

  /** The number of an object in the Worker of a client; undefined if it is in another one, or of another class. */
  static idIn(client: RpcClient, kind: ObjectKind, value: unknown): number | undefined {
    const isRemote = typeof value === "object" && value !== null && #client in value;
    return isRemote && value.#client === client && value.#kind === kind ? value.#id : undefined;
  }

  /** The class of the objects of a kind. */
  static classOf(kind: ObjectKind): typeof RemoteObject {
    const name = `Worker${kind[0]!.toUpperCase()}${kind.slice(1)}`;
    const made = { [name]: class extends RemoteObject {} }[name]!;
    for (const [member, row] of Object.entries(TABLES[kind])) {
      if (row.kind === "here") continue;
      const get = "args" in row ? undefined : propertyOf(member, row);
      const descriptor = get === undefined ? { value: methodOf(member, row as Method), writable: true } : { get };
      Object.defineProperty(made.prototype, member, { ...descriptor, configurable: true });
      if (row.kind === "dispose") Object.defineProperty(made.prototype, asyncDisposeSymbol, descriptor);
    }
    return made;

    function propertyOf(member: string, row: Property): (this: RemoteObject) => unknown {
      if (row.kind !== "promise")
        return function () {
          return this.#properties[member];
        };
      return function () {
        return this.#call(member, { kind: "read", args: [] }, []);
      };
    }

    function methodOf(member: string, row: Method): (this: RemoteObject, ...args: unknown[]) => unknown {
      if (row.kind === "stream")
        return function (...args) {
          return looped(member, this.#stream(member, row, args));
        };
      if (row.kind === "dispose")
        return function () {
          return this.#dispose(row);
        };
      return function (...args) {
        return this.#call(member, row, args);
      };
    }
  }

  get onWarning(): OnWarning {
    return this.#onWarning;
  }

  get ended(): Promise<RopewalkError> {
    return this.#client.ended;
  }

  async #call(name: string, row: Method, given: readonly unknown[]): Promise<unknown> {
    const call = this.#ready(name, row, given);
    let made: RemoteObject | undefined;
    const run = async (): Promise<unknown> => {
      try {
        return await this.#client.call(call.message, call.local, (reply) => {
          this.#store(reply.state);
          made = this.#made(row, call, reply);
          if (row.keeps === true) this.#keeps = [this.#keeps[0]!, ...call.local.uses];
          return made ?? reply.value;
        });
      } catch (error) {
        if (row.kind === "change") await this.#refresh(); // a failed call can change it, too
        throw error;
      }
    };
    try {
      if (this.#queue === undefined) return await run();
      return await this.#queue.run(name, row.kind as "read" | "change", call.local.signal, run);
    } catch (error) {
      if (made !== undefined) await made.#dispose(); // the call was aborted, or this session was disposed of, when its result was ready
      throw error;
    }
  }

  async *#stream(name: string, row: Method, given: readonly unknown[]): AsyncGenerator<Step, void, void> {
    const { message, local } = this.#ready(name, row, given);
    const begin = (): AsyncGenerator<Step, void, void> =>
      this.#client.stream(message, local, ({ state }) => this.#store(state));
    yield* this.#queue === undefined ? begin() : this.#queue.generate(local.signal, begin, name);
  }

  #dispose(row?: Method): Promise<void> {
    this.#isDisposed = true;
    this.#keeps = [];
    this.#queue?.close();
    this.#onDispose?.();
    this.#onDispose = undefined;
    if (row?.endsWorker !== true) return this.#client.release(this, this.#id);
    this.#client.close();
    return Promise.resolve();
  }

  /** Checks a call as far as it is checked before it is sent. */
  #ready(name: string, row: Method, given: readonly unknown[]): ReadyCall {
    const { args, options: names } = row;
    const split = names && splitOptions(given[args.length], names);
    const { signal, callbacks, transfer } = split?.local ?? NO_OPTIONS;
    const sending: Sending = {
      resolve: this.#client.thread.resolve,
      idOf: (kind, value) => RemoteObject.idIn(this.#client, kind, value),
      uses: [],
      transfers: [],
      isTransferred: transfer,
    };
    const message: Message = {
      object: this.#id,
      name,
      args: args.map((argument, i) => argument.send(given[i], sending)),
      options: sendOptions(split?.others ?? {}, sending),
      transfers: sending.transfers,
    };
    const warning = row.warns === true && { onWarning: this.#onWarning ?? printWarning };
    return { message, local: { signal, callbacks: { ...warning, ...callbacks }, uses: sending.uses } };
  }

  /** The object that a call has made in the Worker. */
  #made(row: Method, { local }: ReadyCall, { value }: Reply): RemoteObject | undefined {
    if (row.returns === undefined) return undefined;
    const keeps = row.returns === this.#kind ? this.#keeps : [this, ...local.uses];
    const onWarning = (local.callbacks.onWarning as OnWarning) ?? this.#onWarning;
    const made = RemoteObject.create(this.#client, row.returns, value as Handle, keeps, onWarning);
    made.#onDispose = row.made?.(this as never, made as never);
    return made;
  }

  async #refresh(): Promise<void> {
    const state = await this.#client.send((server) => server.state(this.#id)).catch(() => undefined);
    this.#store(state);
  }

  #store(state: Properties | undefined): void {
    if (state !== undefined) this.#properties = { ...this.#properties, ...state };
  }
}

const CLASSES = Object.fromEntries(
  Object.keys(TABLES).map((kind) => [kind, RemoteObject.classOf(kind as ObjectKind)]),
) as Readonly<Record<ObjectKind, typeof RemoteObject>>;
