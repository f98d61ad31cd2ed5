// all-MiniLM-L6-v2 by transformers.js, whose Node build runs onnxruntime's native add-on. A list is one batch, padded to its longest text.
import { dirname, basename } from "node:path";
import { env, pipeline } from "@huggingface/transformers";

export async function open({ converted, weights, threads }) {
  env.allowRemoteModels = false;
  env.localModelPath = dirname(converted);
  const embed = await pipeline("feature-extraction", basename(converted), {
    device: "cpu",
    dtype: weights === "8 bits" ? "q8" : "fp32",
    session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
  });
  return async (texts) => (await embed(texts, { pooling: "mean", normalize: true })).tolist();
}
