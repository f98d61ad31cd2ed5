// The benchmark's wasm module, in a Worker.

/** Loads the module of the build in build/`folder`/. */
export async function loadLimits(folder) {
  const at = (name) => `/build/${folder}/bench/${name}`;
  const { default: glue } = await import(at("ropewalk.mjs"));
  return glue({
    instantiateWasm(imports, receive) {
      const response = fetch(at("ropewalk.wasm"));
      void WebAssembly.instantiateStreaming(response, imports).then(({ instance }) => receive(instance));
      return {};
    },
  });
}
