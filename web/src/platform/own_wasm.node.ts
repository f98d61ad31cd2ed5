// The wasm files of this package in Node.
import { node } from "../core/base/builtins.node.js";
import { inlineWasm } from "./inline_wasm.js";
import type { WasmFile } from "../runtime/ropewalk/load.js";

/** Returns the address of a wasm file next to this script. A bundle of a server has no files next to it, so it contains their bytes. @internal */
export async function ownWasm(file: WasmFile): Promise<URL | Uint8Array> {
  try {
    const address = addressOf(file);
    await node.fs.access(address);
    return address;
  } catch {
    return inlineWasm(file);
  }
}

/** Throws where scripts have no address, as in a bundle of CommonJS. Both are written out for bundlers. */
const addressOf = (file: WasmFile): URL =>
  file === "relaxed"
    ? new URL("./wasm/ropewalk.relaxed.wasm", import.meta.url)
    : new URL("./wasm/ropewalk.wasm", import.meta.url);
