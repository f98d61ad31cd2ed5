import { RopewalkError } from "./errors.js";
import type { Glue } from "./wasm_module.js";

/** Emscripten's glue for pages and workers. @internal */
export async function importGlue(): Promise<Glue> {
  const glue = (await import("./wasm/ropewalk.js")) as { default: Glue };
  return glue.default;
}

/** @internal */
export async function fetchBytes(address: string | URL, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const response = await fetch(address, { ...(signal && { signal }) });
  if (!response.ok) throw new RopewalkError("WASM_LOAD", "wasm", `the server answered ${response.status} for ${String(address)}`);
  return new Uint8Array(await response.arrayBuffer());
}
