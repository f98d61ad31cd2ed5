import type { Glue } from "../memory/wasm_module.js";

/** Emscripten's glue, linked from bindings/. */
declare const glue: Glue;
export default glue;
