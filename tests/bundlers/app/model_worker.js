import { load } from "ropewalk/worker";
import { show } from "./show.js";

async function generate() {
  const rw = await load({ build: "simd" });
  const model = await rw.model("model.gguf");
  let text = "";
  for await (const piece of model.generate("the cat", { maxTokens: 20, seed: 7, ignoreEnd: true })) text += piece.text;
  await rw.dispose();
  return text;
}

show({ text: generate() });
