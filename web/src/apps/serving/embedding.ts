// Embeds the texts of a request.
import type { EmbedOptions } from "../../runtime/model/embed/options.js";
import type { ServedModel } from "./served_model.js";

/** Returns the vectors, and the number of tokens of all texts. @throws as model.embed() */
export async function embedInputs(
  model: ServedModel,
  inputs: readonly (string | readonly number[])[],
  options: EmbedOptions,
): Promise<{ vectors: Float32Array[]; tokens: number }> {
  const vectors = await model.embed(inputs, options);
  const counts = await Promise.all(
    inputs.map(async (text) => (typeof text === "string" ? await model.tokenizer.encode(text) : text).length),
  );
  return { vectors, tokens: counts.reduce((sum, count) => sum + count, 0) };
}
