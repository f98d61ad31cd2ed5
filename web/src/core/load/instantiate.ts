// Creates an instance of the module through Emscripten's glue.
import { fail } from "../base/errors.js";
import { messageOf } from "../base/show.js";
import type { Glue, WasmModule } from "../memory/wasm_module.js";
import { createMemory } from "./shared_memory.js";
import type { SharedModule } from "./threads.js";

/** An instance of the module, and what helpers need to create theirs if its memory is shared. @internal */
export interface Instance {
  module: WasmModule;
  shared: SharedModule | undefined;
}

/** @param isShared - whether `compiled` is for shared memory. @internal */
export async function instantiate(glue: Glue, compiled: WebAssembly.Module, isShared: boolean): Promise<Instance> {
  try {
    const memory = createMemory(isShared);
    let exports: WebAssembly.Exports = {};
    const module = await new Promise<WasmModule>((resolve, reject) => {
      const instantiateWasm: Parameters<Glue>[0]["instantiateWasm"] = (imports, receive) => {
        WebAssembly.instantiate(compiled, imports)
          .then((instance) => {
            exports = instance.exports;
            receive(instance, compiled);
          })
          .catch(reject);
        return {};
      };
      glue({ instantiateWasm, wasmMemory: memory }).then(resolve, reject);
    });
    if (!isShared) return { module, shared: undefined };
    const nameOf = (function_: keyof WasmModule): string =>
      Object.keys(exports).find((name) => exports[name] === module[function_])!; // the linker shortens names
    const [help, setStack] = [nameOf("_help"), nameOf("__emscripten_stack_restore")];
    return { module, shared: { module: compiled, memory, help, setStack } };
  } catch (cause) {
    fail("WASM_LOAD", "wasm", `is not this version of ropewalk: ${messageOf(cause)}`, { cause });
  }
}
