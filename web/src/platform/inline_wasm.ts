// The wasm files inside JavaScript. Each is a file of its own, which is loaded only when it is used.
import { part } from "../core/base/part.js";
import type { WasmFile } from "../runtime/ropewalk/load.js";

/** Returns the bytes of a wasm file. @internal */
export async function inlineWasm(file: WasmFile): Promise<Uint8Array> {
  const { default: base64 } =
    file === "relaxed"
      ? await part(() => import("../core/wasm/ropewalk.relaxed.inline.js"))
      : await part(() => import("../core/wasm/ropewalk.inline.js"));
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
