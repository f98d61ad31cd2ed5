// What a client sends to the Worker as the source of a model or an adapter, or as the name of a kept session.
import { transfer } from "comlink";
import { fail } from "../base/errors.js";
import { show } from "../base/show.js";
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

/** The name of a kept session as it can be cloned. Throws INVALID_ARGUMENT. @internal */
export function nameToSend(name: string | URL): string {
  if (name instanceof URL && name.protocol === "file:") return name.href;
  return typeof name === "string"
    ? name
    : fail(
        "INVALID_ARGUMENT",
        "name",
        `must be a path, a name or a file: URL (got ${show(name instanceof URL ? name.href : name)})`,
      );
}
