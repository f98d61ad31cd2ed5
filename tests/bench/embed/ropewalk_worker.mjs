// Embeds the texts with the package, in a Worker.
import { expose } from "/node_modules/comlink/dist/esm/comlink.mjs";
import { load } from "/dist/index.js";
import { timed } from "./texts.mjs";

let model;
let vectors;

expose({
  async open(source, { build, threads, weights }) {
    const rw = await load({ build, threads });
    model = await rw.model(source, weights === "int8" ? { quantize: "q8_0" } : {});
    return {};
  },

  /** Milliseconds of a call with `batch` texts. */
  async embed(batch) {
    const timing = await timed(batch, (texts) => model.embed(texts, { pooling: "mean", normalize: true }));
    vectors = timing.vectors;
    return timing.ms;
  },

  /** The vectors of the last call. */
  vectors: () => vectors,
});
