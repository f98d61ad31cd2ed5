// Embeds the texts with the package, in a Worker.
import { expose } from "/node_modules/comlink/dist/esm/comlink.mjs";
import { load } from "/dist/index.js";
import { texts, timed } from "./texts.mjs";

let model;
let vectors;

expose({
  async open(source, { build, threads, weights }) {
    const rw = await load({ build, threads });
    model = await rw.model(source, weights === "int8" ? { quantize: "q8_0" } : {});
    return {};
  },

  /** Milliseconds for all texts. */
  embed: () => timed(async () => (vectors = await model.embed(texts, { pooling: "mean", normalize: true }))),

  /** The vectors of the last call. */
  vectors: () => vectors,
});
