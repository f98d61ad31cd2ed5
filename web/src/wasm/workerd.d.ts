/** In workerd, the import of a wasm file is the compiled module. */
declare module "*.wasm" {
  const compiled: WebAssembly.Module;
  export default compiled;
}
