// wllama, which starts Workers of its own. bench_page.mjs bundles this file.
import { Wllama } from "@wllama/wllama";
import { expose } from "comlink";
import { ENDS, millisecondsEach, TOKENS } from "./texts.mjs";

const folder = "/build/peers/page/node_modules/@wllama/wllama/esm";
const options = { temperature: 0, logit_bias: Object.fromEntries(ENDS.map((id) => [id, -100])) };
const silent = { debug() {}, log() {}, warn: console.warn, error: console.error };
let wllama, prompt;

expose({
  async open({ text }, { threads, contextLength, cache }) {
    wllama = new Wllama({ default: `${folder}/wasm/wllama.wasm` }, { logger: silent, suppressNativeLog: true });
    const blob = await (await fetch(text)).blob();
    const caches = { cache_type_k: cache.type, cache_type_v: cache.type, flash_attn: cache.flash };
    await wllama.loadModel([blob], {
      n_ctx: contextLength,
      n_threads: threads,
      n_gpu_layers: 0,
      n_parallel: 1,
      ...caches,
    });
  },

  async read(text) {
    prompt = text;
    const start = performance.now();
    await wllama.createCompletion({ ...options, prompt, max_tokens: 1 });
    return performance.now() - start;
  },

  // it still has the prompt's keys and values
  async write() {
    const times = [];
    await wllama.createCompletion({
      ...options,
      prompt,
      max_tokens: TOKENS,
      stream: true,
      onData: () => times.push(performance.now()),
    });
    return millisecondsEach(times.slice(0, TOKENS)); // the last call has no token
  },
});
