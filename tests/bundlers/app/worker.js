import { load } from "ropewalk";
import { rotateBy } from "./show.js";

rotateBy(load, { build: "simd" })
  .catch(String)
  .then((text) => postMessage(text));
