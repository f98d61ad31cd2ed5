// all-MiniLM-L6-v2 by this package.
import { join } from "node:path";
import { load } from "ropewalk";

export async function open({ released, converted, weights, threads }) {
  const rw = await load({ threads });
  const model = await rw.model(weights === "8 bits" ? join(converted, "minilm-q8_0.gguf") : released);
  return (texts) => model.embed(texts);
}
