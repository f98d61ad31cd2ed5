import { RopewalkError } from "../base/errors.js";

/** What is at an address. @internal */
export async function fetchBytes(address: string | URL): Promise<Uint8Array> {
  const response = await fetch(address);
  if (!response.ok)
    throw new RopewalkError("WASM_LOAD", "wasm", `the server answered ${response.status} for ${String(address)}`);
  return new Uint8Array(await response.arrayBuffer());
}
