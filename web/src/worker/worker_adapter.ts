// The Worker's counterpart of Adapter, and the option `adapters`, whose adapters messages name by their numbers.
import { asyncDisposeSymbol } from "../base/dispose.js";
import { fail } from "../base/errors.js";
import { isDict } from "../base/dict.js";
import { show } from "../base/show.js";
import type { Adapter, AdapterInfo } from "../model/adapters/adapter.js";
import type { AdapterOptions, ScaledAdapter } from "../model/adapters/in_use.js";
import type { AdapterHandle } from "./protocol.js";
import type { ObjectsInUse, RpcClient } from "./rpc_client.js";

/** A LoRA adapter in a Worker: like `Adapter`, but with promises. */
export class WorkerAdapter implements AsyncDisposable {
  /** Description of the adapter. */
  readonly info: AdapterInfo;
  readonly #client: RpcClient;
  readonly #id: number;
  #onDispose: (() => void) | undefined;

  /** @internal */
  constructor(client: RpcClient, { id, info }: AdapterHandle, onDispose: () => void) {
    this.#client = client;
    this.#id = id;
    this.#onDispose = onDispose;
    this.info = info;
    client.watch(this, id);
  }

  /** The adapter's number in the Worker of a client; undefined if it is in another one. @internal */
  static idIn(client: RpcClient, adapter: unknown): number | undefined {
    return adapter instanceof WorkerAdapter && adapter.#client === client ? adapter.#id : undefined;
  }

  /**
   * Frees the memory. Calling it twice is harmless. Sessions that use the adapter can read no more tokens: they reject
   * with DISPOSED.
   */
  dispose(): Promise<void> {
    this.#onDispose?.();
    this.#onDispose = undefined;
    return this.#client.release(this, this.#id);
  }

  /** Same as {@link WorkerAdapter.dispose}. */
  [asyncDisposeSymbol](): Promise<void> {
    return this.dispose();
  }
}

/** An adapter of the Worker in a message. @internal */
export interface SentAdapter {
  readonly adapterInWorker: number;
  readonly scale?: number;
}

/** On the client's side: a list that can be sent, and the adapters in it. Throws INVALID_ARGUMENT. @internal */
export function adaptersToSend(
  given: AdapterOptions,
  client: RpcClient,
): { readonly adapters: AdapterOptions; readonly uses: readonly object[] } {
  if (!Array.isArray(given)) return { adapters: given, uses: [] }; // the Worker says what is wrong
  const uses: object[] = [];
  const sent = Array.from(given as AdapterOptions, (item, i) => {
    const isScaled = isDict(item) && !(item instanceof WorkerAdapter) && "adapter" in item;
    const { adapter, ...rest } = isScaled ? (item as ScaledAdapter) : { adapter: item };
    const id = WorkerAdapter.idIn(client, adapter);
    if (id === undefined)
      return fail(
        "INVALID_ARGUMENT",
        `adapters[${i}]`,
        `must be what loadAdapter() of a model in the same Worker returned (got ${show(adapter)})`,
      );
    uses.push(adapter);
    return { adapterInWorker: id, ...rest };
  });
  return { adapters: sent as unknown as AdapterOptions, uses };
}

/** On the client's side: options that can be sent, once `uses` is taken out. @internal */
export function sendAdapters<Options extends { adapters?: AdapterOptions }>(
  options: Options & ObjectsInUse,
  client: RpcClient,
): Options & ObjectsInUse {
  const { adapters, uses = [] } = options;
  if (adapters === undefined) return options;
  const sent = adaptersToSend(adapters, client);
  return { ...options, adapters: sent.adapters, uses: [...uses, ...sent.uses] };
}

/** In the Worker: a list with the adapters themselves. @internal */
export function receivedAdapters(given: unknown, adapterOf: (id: number) => Adapter): AdapterOptions {
  if (!Array.isArray(given)) return given as AdapterOptions;
  return (given as SentAdapter[]).map(({ adapterInWorker, ...rest }) => ({
    adapter: adapterOf(adapterInWorker),
    ...rest,
  }));
}
