// The messages between a caller's thread and its Worker. All arguments and results can be cloned.
import type { LoadOptions } from "../ropewalk/load.js";
import type { Callback } from "./arguments.js";

/** An object in the Worker. @internal */
export interface Handle {
  readonly id: number;
  /** Its facts and its state, by the names of its properties. */
  readonly properties: Properties;
}

/** Values of properties by name. An object of the Worker is a {@link Handle}. @internal */
export type Properties = Readonly<Record<string, unknown>>;

/** Calls a method of an object, or reads a property. @internal */
export interface Request {
  /** The number of the call. */
  readonly call: number;
  /** The number of the object. */
  readonly object: number;
  readonly name: string;
  readonly args: readonly unknown[];
  /** The last argument, without what stays in the caller's thread. */
  readonly options: object;
  /** The callbacks that the caller has set. */
  readonly callbacks: readonly Callback[];
}

/** The result of a call, or a step of a stream, and the new state of its object. @internal */
export interface Reply {
  readonly value?: unknown;
  readonly state?: Properties | undefined;
}

/** The methods of the server inside the Worker. @internal */
export interface ServerMethods {
  /** Loads the module: an object of the kind `ropewalk`. */
  load(options: Omit<LoadOptions, "signal">): Promise<Handle>;
  /** Holds a Web Lock until the Worker ends. Resolves when it has it. */
  hold(lock: string): Promise<void>;
  invoke(request: Request): Promise<Reply>;
  /** Begins a stream. */
  begin(request: Request): void;
  /** The next step of a stream: no value after the last. */
  next(call: number): Promise<Reply>;
  /** Ends a stream. */
  end(call: number): Promise<Reply>;
  abort(call: number): void;
  /** The state of an object, for a call that failed. */
  state(object: number): Properties | undefined;
  dispose(object: number): void;
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
  callback(call: number, name: Callback, values: readonly unknown[]): void;
}

/** What the server calls in a page, and nowhere else. @internal */
export interface HelperMethods {
  /** Starts a helper thread, which gets its task from `port`. Resolves with the reason if it can't start, or ends by itself. */
  startHelper(id: number, port: MessagePort): Promise<string>;
  endHelper(id: number): void;
}

/** The client as the server sees it. @internal */
export type RemoteClient = Remote<ClientMethods>;
