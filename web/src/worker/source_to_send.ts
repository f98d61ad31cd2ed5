// What a client sends to the Worker as the source of a model or an adapter.
import { transfer } from "comlink";
import { fail } from "../base/errors.js";
import { isRevoked } from "../base/typed_arrays.js";
import { parseHubNameInPage } from "../files/hub/name.js";
import type { ModelSource } from "../files/model_files.js";
import type { RpcClient } from "./rpc_client.js";

/** A source that means the same in the Worker. @internal */
export function sourceToSend({ thread }: RpcClient, source: ModelSource, isTransferred: boolean): ModelSource {
  if (isRevoked(source)) fail("INVALID_ARGUMENT", "source", "must not be a revoked Proxy");
  if (typeof source === "string" && parseHubNameInPage(source) !== undefined) return source;
  if (typeof source === "string" || source instanceof URL) return thread.resolve(String(source));
  const buffer = source instanceof Uint8Array ? source.buffer : source;
  return isTransferred && buffer instanceof ArrayBuffer ? transfer(source, [buffer]) : source;
}
