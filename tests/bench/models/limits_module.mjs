// The benchmark's wasm module, in a Worker.

/** Loads the module of the `build`, "simd" or "relaxed". */
export async function loadLimits(build) {
  const at = (name) => `/build/wasm/bench/${build}/${name}`;
  const { default: glue } = await import(at("ropewalk.mjs"));
  return glue({
    instantiateWasm(imports, receive) {
      const response = fetch(at("ropewalk.wasm"));
      void WebAssembly.instantiateStreaming(response, imports).then(({ instance }) => receive(instance));
      return {};
    },
  });
}
