// Types of the platform that not every version of TypeScript, or every library of its types, has.

/** Bytes with memory of their own. TypeScript before 5.7 doesn't name the memory. */
export type OwnBytes = ReturnType<Uint8ArrayConstructor["from"]>;

/** A `WebAssembly.Module`. Programs that are compiled without the DOM library have no type of it. */
export type WasmModule = typeof globalThis extends {
  WebAssembly: { Module: abstract new (...args: never) => infer Module };
}
  ? Module
  : object;
