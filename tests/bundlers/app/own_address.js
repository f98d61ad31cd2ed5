import { load } from "ropewalk";
import simd from "ropewalk/ropewalk.wasm";
import { rotateBy, show } from "./show.js";

show({ simd: rotateBy(load, { build: "simd", wasm: new URL(simd, import.meta.url) }) });
