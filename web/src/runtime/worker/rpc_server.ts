// The Worker's side: owns the objects of one client by their numbers, and runs its calls on them.
import { expose, transfer, wrap } from "comlink";
import { fail } from "../../core/base/errors.js";
import { loadOn, type LoadOptions, type Platform } from "../ropewalk/load.js";
import { type ObjectKind, receiveOptions, type Receiving } from "./arguments.js";
import { registerErrorTransfer } from "./error_transfer.js";
import type {
  ClientMethods,
  Endpoint,
  Handle,
  Properties,
  RemoteClient,
  Reply,
  Request,
  ServerMethods,
} from "./protocol.js";
import { TABLES } from "./remote_api.js";
import type { Method, Property } from "./rows.js";

/** An object, by the names of its members. */
type Members = Readonly<Record<string, unknown>> & { dispose?(): void };

interface Entry {
  readonly kind: ObjectKind;
  readonly object: Members;
}

/** A call that runs, or a stream. */
interface Running {
  readonly controller: AbortController;
  readonly entry: Entry;
  readonly steps?: AsyncGenerator<unknown, void, void>;
}

/** Numbers say which kind their object is, also when it is disposed. */
const KINDS = Object.keys(TABLES) as readonly ObjectKind[];

/** Runs a client's calls inside the Worker. @internal */
export class RpcServer implements ServerMethods {
  readonly #platform: Platform;
  readonly #client: RemoteClient;
  readonly #objects = new Map<number, Entry>();
  readonly #calls = new Map<number, Running>();
  readonly #receiving: Receiving = {
    find: (kind, id) => this.#find(kind, id),
    get: (kind, id) => this.#find(kind, id) ?? failDisposed(kind),
  };
  #last = 0;

  constructor(platform: Platform, client: RemoteClient) {
    this.#platform = platform;
    this.#client = client;
  }

  async load(options: LoadOptions): Promise<Handle> {
    return this.#handle("ropewalk", await loadOn(this.#platform, options));
  }

  hold(lock: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const held = navigator.locks.request(lock, () => {
        resolve();
        return new Promise<never>(() => undefined);
      });
      held.catch(reject);
    });
  }

  async invoke(request: Request): Promise<Reply> {
    const { entry, row } = this.#target(request);
    const controller = new AbortController();
    this.#calls.set(request.call, { controller, entry });
    try {
      const value = await ("args" in row ? this.#apply(entry, row, request, controller) : entry.object[request.name]);
      const { returns } = row;
      return replyOf(returns === undefined ? value : this.#handle(returns, value as object), entry);
    } finally {
      this.#calls.delete(request.call);
    }
  }

  begin(request: Request): void {
    const { entry, row } = this.#target(request);
    const controller = new AbortController();
    const steps = this.#apply(entry, row as Method, request, controller) as AsyncGenerator<unknown, void, void>;
    this.#calls.set(request.call, { controller, entry, steps });
  }

  async next(call: number): Promise<Reply> {
    const { steps, entry } = this.#calls.get(call) ?? fail("DISPOSED", "generate", "has ended");
    const { value } = await steps!.next();
    return replyOf(value, entry);
  }

  async end(call: number): Promise<Reply> {
    const running = this.#calls.get(call);
    this.#calls.delete(call);
    await running?.steps?.return();
    return running === undefined ? {} : replyOf(undefined, running.entry);
  }

  abort(call: number): void {
    this.#calls.get(call)?.controller.abort();
  }

  state(id: number): Properties | undefined {
    return stateOf(this.#entry(id));
  }

  dispose(id: number): void {
    const entry = this.#objects.get(id);
    this.#objects.delete(id);
    entry?.object.dispose?.();
  }

  /** The object of a request, and the row of the member that it names. */
  #target({ object, name }: Request): { entry: Entry; row: Property | Method } {
    const entry = this.#entry(object);
    const row = Object.hasOwn(TABLES[entry.kind], name) ? TABLES[entry.kind][name] : undefined;
    if (row === undefined || row.kind === "here")
      return fail("INVALID_ARGUMENT", name, `isn't a method or property of a ${entry.kind}`);
    return { entry, row };
  }

  /** Calls a method with a local signal and local callbacks that stand for the client's. */
  #apply({ object }: Entry, row: Method, request: Request, { signal }: AbortController): unknown {
    const { call, name, args, options, callbacks } = request;
    const received = args.map((value, i) => row.args[i]!.receive?.(value, this.#receiving) ?? value);
    const names = row.options?.names;
    if (names !== undefined)
      received.push({
        ...receiveOptions(options, this.#receiving),
        ...Object.fromEntries(
          callbacks.map((option) => [
            option,
            (...values: unknown[]) => void this.#client.callback(call, option, values),
          ]),
        ),
        ...(names["signal"] === true && { signal }),
      });
    return (object[name] as (...args: unknown[]) => unknown).apply(object, received);
  }

  #handle(kind: ObjectKind, object: object): Handle {
    const entry: Entry = { kind, object: object as Members };
    const id = ++this.#last * KINDS.length + KINDS.indexOf(kind);
    this.#objects.set(id, entry);
    const facts = Object.entries(TABLES[kind]).flatMap(([name, row]) => {
      if (row.kind !== "fact") return [];
      const value = entry.object[name];
      return [[name, row.returns === undefined ? value : this.#handle(row.returns, value as object)]];
    });
    return { id, properties: { ...(Object.fromEntries(facts) as Properties), ...stateOf(entry) } };
  }

  #entry(id: number): Entry {
    return this.#objects.get(id) ?? failDisposed(KINDS[id % KINDS.length]!);
  }

  #find(kind: ObjectKind, id: number): Members | undefined {
    const entry = this.#objects.get(id);
    return entry?.kind === kind ? entry.object : undefined;
  }
}

/** Serves the client at the other end of `endpoint` with a module of the platform. @internal */
export function serveClient(endpoint: Endpoint, platformFor: (client: RemoteClient) => Platform): void {
  registerErrorTransfer();
  const client: RemoteClient = wrap<ClientMethods>(endpoint);
  expose(new RpcServer(platformFor(client), client), endpoint);
}

function failDisposed(kind: ObjectKind): never {
  fail("DISPOSED", kind, "has been disposed");
}

/** The state of an object; undefined if it has only facts. */
function stateOf({ kind, object }: Entry): Properties | undefined {
  const names = Object.entries(TABLES[kind]).flatMap(([name, row]) => (row.kind === "state" ? [name] : []));
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, object[name]]));
}

/** An array that fills its buffer was created for the reply, so it's transferred instead of copied. */
function replyOf(value: unknown, entry: Entry): Reply {
  const state = stateOf(entry);
  const result: Reply = { value, ...(state && { state }) };
  const ownsBuffer =
    ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength;
  return ownsBuffer ? transfer(result, [value.buffer]) : result;
}
