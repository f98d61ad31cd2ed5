// The wasm module: the functions of bindings/, its memory, and Emscripten's generated loader.
import type { WasmFunctions } from "./wasm_functions.js";
import type { WasmModelFunctions } from "./wasm_model_functions.js";

/** The core's functions. @internal */
export interface WasmModule extends WasmFunctions, WasmModelFunctions {
  readonly HEAPU8: Uint8Array;
  _memalign(alignment: number, bytes: number): number;
  _free(address: number): void;
  /** Exports that helper threads use in their own instance. */
  _help(thread: number): void;
  __emscripten_stack_restore(stack: number): void;
}

/** The option of Emscripten's generated loader that replaces how wasm is instantiated. @internal */
export interface GlueOptions {
  wasmMemory: WebAssembly.Memory;
  instantiateWasm(
    imports: WebAssembly.Imports,
    receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
}

/** Emscripten's generated loader. @internal */
export type Glue = (options: GlueOptions) => Promise<WasmModule>;
