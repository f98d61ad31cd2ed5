// transformers.js on onnxruntime-web's wasm. bench_page.mjs bundles this file.
import {
  AutoModelForCausalLM,
  AutoTokenizer,
  BaseStreamer,
  DynamicCache,
  env,
  ones_like,
  pipeline,
} from "@huggingface/transformers";
import { expose } from "comlink";
import { millisecondsEach, TOKENS } from "./texts.mjs";

class Times extends BaseStreamer {
  times = [];
  #isPrompt = true;
  put() {
    if (!this.#isPrompt) this.times.push(performance.now());
    this.#isPrompt = false;
  }
  end() {}
}

let tokenizer, model, embedder, textsAtOnce, read;

expose({
  async open({ text, vectors }, { threads, dtype, batch }) {
    textsAtOnce = batch;
    env.allowRemoteModels = false;
    env.allowLocalModels = true;
    env.localModelPath = "/build/peers/page/";
    env.useBrowserCache = false;
    env.backends.onnx.wasm.numThreads = threads;
    env.backends.onnx.wasm.wasmPaths = "/build/peers/page/node_modules/onnxruntime-web/dist/";
    if (vectors) embedder = await pipeline("feature-extraction", vectors, { dtype, device: "wasm" });
    else {
      tokenizer = await AutoTokenizer.from_pretrained(text);
      model = await AutoModelForCausalLM.from_pretrained(text, { dtype, device: "wasm" });
    }
  },

  async read(prompt) {
    const start = performance.now();
    const inputs = tokenizer(prompt);
    const lengths = { max_new_tokens: 1, min_new_tokens: 1 };
    const options = { ...lengths, do_sample: false, return_dict_in_generate: true };
    const { sequences, past_key_values } = await model.generate({ ...inputs, ...options });
    const ms = performance.now() - start;
    read = { input_ids: sequences, attention_mask: ones_like(sequences), cache: past_key_values };
    return ms;
  },

  async write() {
    const { cache, ...inputs } = read;
    const streamer = new Times();
    const lengths = { max_new_tokens: TOKENS, min_new_tokens: TOKENS };
    const past_key_values = new DynamicCache({ ...cache });
    await model.generate({ ...inputs, ...lengths, past_key_values, do_sample: false, streamer });
    return millisecondsEach(streamer.times);
  },

  async embed(texts) {
    const start = performance.now();
    for (let first = 0; first < texts.length; first += textsAtOnce)
      await embedder(texts.slice(first, first + textsAtOnce), { pooling: "mean", normalize: true });
    return performance.now() - start;
  },
});
