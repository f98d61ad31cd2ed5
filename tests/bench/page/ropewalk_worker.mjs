// The package in a Worker, with its default cache.
import { expose } from "/node_modules/comlink/dist/esm/comlink.mjs";
import { load } from "/dist/index.js";
import { ENDS, millisecondsEach, TOKENS } from "./texts.mjs";

const logitBias = Object.fromEntries(ENDS.map((id) => [id, -Infinity]));
let model, session;

expose({
  async open({ text, vectors }, { threads, contextLength }) {
    const rw = await load({ threads });
    model = await (text ? rw.model(text, { contextLength }) : rw.model(vectors, { quantize: "q8_0" }));
  },

  async read(prompt) {
    session?.dispose();
    session = model.session();
    const start = performance.now();
    await session.append(prompt);
    return performance.now() - start;
  },

  async write() {
    const fork = session.fork();
    const times = [];
    for await (const _ of fork.generate({ temperature: 0, logitBias, maxTokens: TOKENS }))
      times.push(performance.now());
    fork.dispose();
    return millisecondsEach(times);
  },

  async embed(texts) {
    const start = performance.now();
    await model.embed(texts, { pooling: "mean", normalize: true });
    return performance.now() - start;
  },
});
