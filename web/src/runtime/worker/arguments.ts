// How arguments and options are sent to a Worker, and what they become there.
import * as advise from "../../core/base/advice.js";
import { optionalFunction, optionalSignal, savedBytes } from "../../core/base/checks.js";
import { isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { listOf } from "../../core/base/lists.js";
import { checkOptions, type OptionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import { parseHubNameInPage } from "../files/hub/name.js";
import { isList, textList } from "../model/embed/text_input.js";

/** The classes whose objects a Worker can hold. */
export type ObjectKind = "adapter" | "model" | "ropewalk" | "session" | "tokenizer";

/** What sending a call needs, and what comes together meanwhile. */
export interface Sending {
  /** Makes an address absolute, because the Worker has another base URL. */
  readonly resolve: (address: string) => string;
  /** The number of an object in the same Worker; undefined for anything else. */
  readonly idOf: (kind: ObjectKind, value: unknown) => number | undefined;
  /** Objects of the Worker that the call names by their numbers. */
  readonly uses: object[];
  /** What is transferred instead of copied. */
  readonly transfers: Transferable[];
  /** Whether the bytes of a source are transferred. */
  readonly isTransferred: boolean;
}

/** Finds the objects that a call named by their numbers. */
export interface Receiving {
  readonly find: (kind: ObjectKind, id: number) => object | undefined;
  /** Throws DISPOSED if it isn't there any more. */
  readonly get: (kind: ObjectKind, id: number) => object;
}

/** An argument of a method. */
export interface Argument {
  /** In the caller's thread: checks as much as is needed to send it. */
  readonly send: (value: unknown, sending: Sending) => unknown;
  /** In the Worker. */
  readonly receive?: (value: unknown, receiving: Receiving) => unknown;
}

/** Sent as it is; the Worker checks it. */
export const PLAIN: Argument = { send: (value) => value };

/** Text, or a list that can be cloned, which some iterables can't. */
const textOrList = (value: unknown, field: string, what: string): unknown =>
  typeof value === "string" ? value : listOf(value, field, what);

const text = (value: unknown): unknown => textOrList(value, "tokens", "text or token ids");
const prompt = (value: unknown, field = "prompt"): unknown => textOrList(value, field, "text, token ids or messages");

export const TOKENS: Argument = { send: (value) => listOf(value, "tokens", "token ids") };
export const TEXT: Argument = { send: text };
/** A text of several. What can be sent, and is neither text nor a list, is refused by the Worker, which knows the other arguments. */
const oneOf = (value: unknown, field: string): unknown => {
  const isSent = typeof value !== "function" && typeof value !== "symbol";
  const isIterable = typeof value === "object" && value !== null && Symbol.iterator in value;
  return isSent && !isIterable ? value : listOf(value, field, "text or token ids");
};

/** One text, or several. */
export const TEXTS: Argument = {
  send: (value) => (isList(value) ? value.map((item, i) => oneOf(item, `texts[${i}]`)) : oneOf(value, "text")),
};
export const QUERY: Argument = { send: (value) => oneOf(value, "query") };
export const DOCUMENTS: Argument = {
  send: (value) => textList(value, "documents").map((item, i) => oneOf(item, `documents[${i}]`)),
};
export const PROMPT: Argument = { send: (value) => prompt(value) };

export const PROMPTS: Argument = {
  send: (value) =>
    typeof value === "string"
      ? value // the Worker refuses it
      : listOf(value, "prompts", "a list of prompts").map((item, i) => prompt(item, `prompts[${i}]`)),
};

export const SAVED: Argument = { send: savedBytes };

/** The name of a kept session. */
export const NAME: Argument = {
  send: (name) => {
    if (name instanceof URL && name.protocol === "file:") return name.href;
    if (typeof name === "string") return name;
    const got = show(name instanceof URL ? name.href : name);
    return fail("INVALID_ARGUMENT", "name", `must be a path, a name or a file: URL (got ${got})`);
  },
};

/** The source of a model or an adapter, so that it means the same in the Worker. */
export const SOURCE: Argument = {
  send: (source, { resolve, isTransferred, transfers }) => {
    if (typeof source === "string" && parseHubNameInPage(source) !== undefined) return source;
    if (typeof source === "string" || source instanceof URL) return resolve(String(source));
    const buffer = source instanceof Uint8Array ? source.buffer : source;
    if (isTransferred && buffer instanceof ArrayBuffer) transfers.push(buffer);
    return source;
  },
};

/** An adapter in a message. */
interface SentAdapter {
  readonly adapterInWorker: number;
  readonly scale?: number;
}

export const ADAPTERS: Argument = {
  send: (given, { idOf, uses }) => {
    if (!Array.isArray(given)) return given; // the Worker says what is wrong
    return Array.from(given as unknown[], (item, i): SentAdapter => {
      const isScaled = idOf("adapter", item) === undefined && isDict(item) && "adapter" in item;
      const { adapter, ...rest } = isScaled ? (item as { adapter: unknown }) : { adapter: item };
      const adapterInWorker = idOf("adapter", adapter);
      if (adapterInWorker === undefined)
        return fail(
          "INVALID_ARGUMENT",
          `adapters[${i}]`,
          `must be what loadAdapter() of a model in the same Worker returned (got ${show(adapter)})`,
        );
      uses.push(adapter as object);
      return { adapterInWorker, ...rest };
    });
  },
  receive: (sent, { get }) => {
    if (!Array.isArray(sent)) return sent;
    return (sent as SentAdapter[]).map(({ adapterInWorker, ...rest }) => ({
      adapter: get("adapter", adapterInWorker),
      ...rest,
    }));
  },
};

/** The option `draft` of a generation. */
const DRAFT: Argument = {
  send: (draft, { idOf, uses }) => {
    const modelInWorker = idOf("model", draft);
    if (modelInWorker === undefined) {
      const what = typeof draft === "object" && draft !== null ? "a model of the same Worker" : "a loaded model";
      return fail("INVALID_ARGUMENT", "draft", `must be ${what} (got ${show(draft)})`);
    }
    uses.push(draft as object);
    return { modelInWorker };
  },
  receive: (sent, { find }) =>
    find("model", (sent as { modelInWorker: number }).modelInWorker) ??
    fail("DISPOSED", "draft", "is disposed", advise.code("load the model again with rw.model()")),
};

/** Options that name objects of the Worker. */
const OBJECTS: Readonly<Record<string, Argument>> = { draft: DRAFT, adapters: ADAPTERS };

/** Callback options. Functions can't be cloned, so the Worker asks the client to call them. */
export const CALLBACKS = ["onProgress", "onWarning"] as const;
/** One of {@link CALLBACKS}. */
export type Callback = (typeof CALLBACKS)[number];

/** Options that stay in the caller's thread. */
export interface LocalOptions {
  readonly signal?: AbortSignal | undefined;
  readonly callbacks: Partial<Record<Callback, (...values: never[]) => void>>;
  /** The option of loading a model. */
  readonly transfer: boolean;
}

/** Checks the names of options and those that stay. Throws INVALID_ARGUMENT, UNKNOWN_KEY. */
export function splitOptions(given: unknown, names: OptionNames): { local: LocalOptions; others: object } {
  const checked = checkOptions(given as Record<string, unknown> | undefined, names);
  const { signal, onProgress, onWarning, transfer = false, ...others } = checked;
  const callbacks: LocalOptions["callbacks"] = {};
  const local = { signal: optionalSignal(signal as AbortSignal | undefined), callbacks, transfer: transfer === true };
  for (const [name, callback] of Object.entries({ onProgress, onWarning }) as [Callback, () => void][])
    if (optionalFunction(callback, name) !== undefined) callbacks[name] = callback;
  return { local, others };
}

/** Options with numbers for the objects of the Worker. */
export function sendOptions(options: object, sending: Sending): object {
  return withObjects(options, (argument, value) => argument.send(value, sending));
}

/** Options with the objects themselves. */
export function receiveOptions(options: object, receiving: Receiving): object {
  return withObjects(options, (argument, value) => argument.receive!(value, receiving));
}

function withObjects(options: object, turn: (argument: Argument, value: unknown) => unknown): object {
  const result: Record<string, unknown> = { ...options };
  for (const [name, argument] of Object.entries(OBJECTS))
    if (result[name] !== undefined) result[name] = turn(argument, result[name]);
  return result;
}
