import { load } from "ropewalk";
import { rotateBy, show } from "./show.js";

show({ simd: rotateBy(load, { build: "simd" }), relaxed: rotateBy(load, { build: "relaxed" }) });
