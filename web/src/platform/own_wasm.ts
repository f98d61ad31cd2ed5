// The wasm files of this package in a page.
import type { WasmFile } from "../runtime/ropewalk/load.js";
import { outsideCache } from "../core/load/missing_file.js";

/** Returns the address of a wasm file next to this script. Both are written out, because bundlers look for `new URL("…", import.meta.url)`. @internal */
export function ownWasm(file: WasmFile): string {
  const { href } =
    file === "relaxed"
      ? new URL("./wasm/ropewalk.relaxed.wasm", import.meta.url)
      : new URL("./wasm/ropewalk.wasm", import.meta.url);
  return outsideCache(href);
}
