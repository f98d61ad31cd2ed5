// Embeds the texts with onnxruntime-web, in a Worker, as transformers.js does: padded batches, then the mean over each text's tokens.
import * as ort from "/node_modules/onnxruntime-web/dist/ort.wasm.min.mjs";
import { expose } from "/node_modules/comlink/dist/esm/comlink.mjs";
import { timed } from "./texts.mjs";

/** Texts that are run together. They are sorted by length first, so that little is padded; transformers.js doesn't sort. */
const TOGETHER = 8;
const SIZE = 384;

let session;
let vectors;

async function embed(texts) {
  const results = new Array(texts.length);
  const order = texts.map((_, index) => index).sort((a, b) => texts[a].length - texts[b].length);
  for (let first = 0; first < order.length; first += TOGETHER)
    await embedTogether(texts, order.slice(first, first + TOGETHER), results);
  return results;
}

async function embedTogether(texts, indices, results) {
  const length = Math.max(...indices.map((index) => texts[index].length));
  const shape = [indices.length, length];
  const [ids, mask] = [0, 1].map(() => new BigInt64Array(indices.length * length));
  indices.forEach((index, row) =>
    texts[index].forEach((id, at) => {
      ids[row * length + at] = BigInt(id);
      mask[row * length + at] = 1n;
    }),
  );
  const { last_hidden_state: states } = await session.run({
    input_ids: new ort.Tensor("int64", ids, shape),
    attention_mask: new ort.Tensor("int64", mask, shape),
  });
  indices.forEach((index, row) => {
    const sum = new Float32Array(SIZE);
    for (let at = 0; at < texts[index].length; at++)
      for (let i = 0; i < SIZE; i++) sum[i] += states.data[(row * length + at) * SIZE + i];
    const norm = Math.hypot(...sum);
    results[index] = sum.map((x) => x / norm);
  });
  states.dispose();
}

expose({
  async open(source, { threads, weights }) {
    ort.env.wasm.numThreads = threads;
    ort.env.wasm.wasmPaths = "/node_modules/onnxruntime-web/dist/";
    ort.env.logLevel = "error";
    const file = `${source}${weights === "int8" ? "model_int8.onnx" : "model.onnx"}`;
    session = await ort.InferenceSession.create(new Uint8Array(await (await fetch(file)).arrayBuffer()), {
      executionProviders: ["wasm"],
    });
    return {};
  },

  /** Milliseconds of a call with `batch` texts. */
  async embed(batch) {
    const timing = await timed(batch, embed);
    vectors = timing.vectors;
    return timing.ms;
  },

  /** The vectors of the last call. */
  vectors: () => vectors,
});
