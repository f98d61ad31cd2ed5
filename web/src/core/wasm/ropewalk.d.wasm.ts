/** In workerd, the import of a wasm file is the compiled module. */
declare const compiled: WebAssembly.Module;
export default compiled;
