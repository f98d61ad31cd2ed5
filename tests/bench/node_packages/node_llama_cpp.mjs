// all-MiniLM-L6-v2 by node-llama-cpp: llama.cpp as a native add-on. A context embeds one text at a time, so each thread has one of its own.
import { join } from "node:path";
import { getLlama, LlamaLogLevel } from "node-llama-cpp";

export async function open({ converted, weights, threads }) {
  const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads, logLevel: LlamaLogLevel.error });
  const file = weights === "8 bits" ? "minilm-q8_0.gguf" : "minilm-f32.gguf";
  const model = await llama.loadModel({ modelPath: join(converted, file) });
  const contexts = await Promise.all(
    Array.from({ length: threads }, () =>
      model.createEmbeddingContext({ contextSize: 512, batchSize: 512, threads: 1 }),
    ),
  );
  return (texts) =>
    Promise.all(
      texts.map(async (text, i) => {
        const { vector } = await contexts[i % threads].getEmbeddingFor(text);
        const length = Math.hypot(...vector);
        return vector.map((x) => x / length);
      }),
    );
}
