// The option `draft` of a generation in a Worker: a model there, which the message names by its number.
import { fail } from "../base/errors.js";
import { show } from "../base/show.js";
import type { DraftModel } from "../model/session/draft.js";
import type { ObjectsInUse, RpcClient } from "./rpc_client.js";

/** Names a model of the Worker. */
interface DraftHandle {
  readonly modelInWorker: number;
}

const HANDLES = new WeakMap<object, { readonly client: RpcClient; readonly id: number }>();

/** Lets a client's model be a draft. @internal */
export function nameModel(model: object, client: RpcClient, id: number): void {
  HANDLES.set(model, { client, id });
}

/** On the client's side: options that can be sent, once `uses` is taken out. Throws INVALID_ARGUMENT. @internal */
export function sendDraft<Options extends { draft?: DraftModel }>(
  options: Options & ObjectsInUse,
  client: RpcClient,
): Options & ObjectsInUse {
  const draft: unknown = options.draft;
  if (draft === undefined) return options;
  const handle = typeof draft === "object" && draft !== null ? HANDLES.get(draft) : undefined;
  if (handle?.client !== client)
    return fail("INVALID_ARGUMENT", "draft", `must be a model of the same Worker (got ${show(draft)})`);
  const handleToSend = { modelInWorker: handle.id } satisfies DraftHandle;
  return { ...options, draft: handleToSend, uses: [...(options.uses ?? []), draft as object] };
}

/** In the Worker: options with the model itself. @internal */
export function receiveDraft<Options extends { draft?: DraftModel }>(
  options: Options,
  modelOf: (id: number) => DraftModel | undefined,
): Options {
  const handle = options.draft as DraftHandle | undefined;
  if (handle === undefined) return options;
  const draft = modelOf(handle.modelInWorker);
  if (draft === undefined) return fail("DISPOSED", "draft", "is disposed; load the model again with rw.model()");
  return { ...options, draft };
}
